"""What one recorded host answers over one scheme, and what it has answered already in the present page load."""

import dataclasses
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from harness.files.load_mark import LoadMark
from harness.files.pages import sanitise
from harness.files.server_log import FoundAs
from harness.mirror.answers import RecordedAnswer
from harness.mirror.asked import Asked
from harness.mirror.live import LiveConnection
from harness.mirror.masks import mask_target
from harness.mirror.paths import split_url
from harness.mirror.recording import Recording
from harness.mirror.targets import alike_path, path_and_query
from harness.mirror.transactions import answer_key
from harness.replay.choice import answered_a_navigation, choose, fitting, is_known
from harness.replay.matching import EXACT, LOOP, RECORDED, Matcher, Request

MISSING = RecordedAnswer(404, found=FoundAs.MISSING)
KEEPING_LITTLE_UNSENT = ("cloudflare", "h2o")
"""How the header Server begins; blog.cloudflare.com/http-2-prioritization-with-nginx, github.com/h2o/h2o/pull/873."""
SILENCE_S = 10.0
"""Without an experiment's mark (see harness.files.load_mark) a load begins with a navigation to another page of the
recording, or with the first request at a host after so much silence."""


class Sites:
    """The sites that one server answers for over one scheme: by the name that a request gives, as virtual hosts."""

    def __init__(self, sites: Sequence["Site"]) -> None:
        self.first = sites[0]
        """Which answers what names none of them."""
        self._by_name = {site.host.lower(): site for site in sites}

    def __iter__(self) -> Iterator["Site"]:
        return iter(self._by_name.values())

    def named(self, authority: str) -> "Site":
        """Return the site that a request's Host header, or `:authority`, is for."""
        return self._by_name.get(authority.partition(":")[0].lower(), self.first)


class Site:
    """One host of a recording over one scheme. Everything is indexed at the start: a request reads no directory."""

    def __init__(self, recording: Recording, host: str, scheme: str = "http", mark: LoadMark | None = None,
                 clock: Callable[[], float] = time.monotonic, *, rtt_ms: float | None = None) -> None:
        """With `rtt_ms`, how far away the host was when it was recorded, it thinks for as long as it did then."""
        self.host, self.scheme, self._rtt_ms = host, scheme, rtt_ms
        self.files = recording.files.get(host, frozenset())
        self.http2 = scheme == "https" and host in recording.http2_hosts
        answers = recording.answers.get((scheme, host), {})
        self.borrowed = frozenset(answer.file_host for sequence in answers.values() for answer in sequence
                                  if answer.file_host is not None)
        """Other hosts whose directories hold bodies of this one."""
        self.keeps_little_unsent = any(
            name == "server" and value.lower().startswith(KEEPING_LITTLE_UNSENT) for sequence in answers.values()
            for answer in sequence for name, value in answer.headers or ())
        """Whether its server hands the kernel so little at a time that urgent answers overtake others."""
        self._live = tuple(recording.live.get((scheme, host), ()))
        self._matcher = Matcher(recording, scheme, host)
        self._preflights = frozenset(answer.identity for key, sequence in answers.items() for answer in sequence
                                     if key.startswith("OPTIONS "))
        self._pages = frozenset(answer.page for sequence in answers.values() for answer in sequence)
        self._polls = {alike_path(key): answer for key, sequence in answers.items()
                       for answer in sequence if answer.slow_ms}
        """A long poll of each path that has one, by method and path without volatile values."""
        self._mark, self._clock = mark or LoadMark(), clock
        self._lock = threading.Lock()
        self._load, self._asked_s = b"", 0.0
        self._given: set[str] = set()
        """Identities of what was answered in the present load."""
        self._confirmed: Counter[str] = Counter()
        """How many times it was said in the present load of each of these that it still holds."""

    def answer(self, target: str, method: str = "GET", asked: Asked | None = None) -> RecordedAnswer:
        """Return the answer to a request's target: path and query, as received or as an absolute URL."""
        request = Request(method, target, asked or Asked())
        with self._lock:
            page = self._present_load(request)
            polled: RecordedAnswer | None = None
            for tier, candidates in self._matcher.tiers(request):
                usable = fitting(self._usable(candidates, request, tier), request, page)
                if not usable:
                    continue
                chosen, again = self._still_holds(usable, request) or choose(usable, self._given)
                if again and self._is_polled(request):
                    polled = polled or chosen
                    continue
                self._given.add(chosen.identity)
                if again and (chosen.live or self._matcher.end_of(chosen) == LOOP):
                    return ended(chosen, request.asked)
                held = chosen.live and not chosen.arrivals
                found = FoundAs.LIVE if held else tier
                if found == EXACT and answered_a_navigation(chosen, request):
                    found = FoundAs.BEST_MATCH      # a server that tells them apart would have sent something else
                return chosen if found == EXACT or chosen.hangs else dataclasses.replace(chosen, found=found)
            led_here = self._matcher.is_unrecorded_end(request)
        if polled is not None:
            return dataclasses.replace(polled, hangs=True, found=FoundAs.UNANSWERED)
        return ended(MISSING, request.asked) if led_here else MISSING

    def think_ms(self, answer: RecordedAnswer) -> float:
        """Return how long to wait before an answer: what it was waited for when it was recorded, less a round trip.

        Without a round trip that is known only long polls are waited for (harness.mirror.polls).
        """
        if self._rtt_ms is None or answer.wait_ms is None:
            return answer.slow_ms
        return max(0.0, answer.wait_ms - self._rtt_ms)

    def live_connection(self, target: str) -> LiveConnection | None:
        """Return the WebSocket that was opened with this URL, or with the most alike one that has its path."""
        wanted = path_and_query(target)
        with self._lock:
            page = self._present_load(Request("GET", target, Asked()))
            for alike in (str, mask_target, _path):
                found = [number for number, live in enumerate(self._live)
                         if alike(_target_of(live.url)) == alike(wanted)]
                found = [number for number in found if self._live[number].page == page] or found
                if found:
                    chosen = next((number for number in found if f"live {number}" not in self._given), found[-1])
                    self._given.add(f"live {chosen}")
                    return self._live[chosen]
        return None

    def recorded_preflight(self, target: str, asked: Asked) -> RecordedAnswer | None:
        """Return the recorded answer to what a browser asked before it asked (CORS preflight, method OPTIONS).

        It is this URL's, or that of the same one but for volatile values. Of several each is one that the load is
        expected to get: Chrome asks once for each of the requests that are under way together.
        """
        request = Request("OPTIONS", target, asked)
        with self._lock:
            page = self._present_load(request)
            for tier, candidates in self._matcher.tiers(request) if self._preflights else ():
                if tier == FoundAs.BEST_MATCH:
                    break
                preflights = [answer for answer in candidates if answer.identity in self._preflights]
                usable = fitting(preflights, request, page)
                if usable:
                    chosen, _ = choose(usable, self._given)
                    self._given.add(chosen.identity)
                    return chosen if tier == EXACT or chosen.hangs else dataclasses.replace(chosen, found=tier)
        return None

    def _still_holds(self, candidates: list[RecordedAnswer], request: Request) -> tuple[RecordedAnswer, bool] | None:
        """Return what the client has and asks about, if the site said more often that it still holds; see `choose`."""
        for answer in candidates:
            if (self._confirmed[answer.identity] < answer.confirmed and answer.identity in self._given
                    and is_known(answer, request)):
                self._confirmed[answer.identity] += 1
                return answer, False
        return None

    def _is_polled(self, request: Request) -> bool:
        """Say whether such requests got a long poll's answer: one more than was recorded is left open."""
        if not self._polls:
            return False
        slow = self._polls.get(alike_path(answer_key(request.method, path_and_query(request.target))))
        return slow is not None and _asked_alike(slow, request)

    def _usable(self, candidates: list[RecordedAnswer], request: Request, found: str) -> list[RecordedAnswer]:
        """Return which of the candidates can be sent: none whose body is gone, since an empty one is another answer."""
        candidates = [answer for answer in candidates if not answer.lacks_body]
        if found == EXACT:
            return candidates
        if self._matcher.is_unrecorded_end(request):
            return [answer for answer in candidates if not answer.hangs and self._matcher.end_of(answer) == RECORDED]
        return [answer for answer in candidates if not answer.hangs or _asked_alike(answer, request)]

    def _present_load(self, request: Request) -> str:
        """Forget what was given in an earlier load; return the present load's page, "" where that is not known."""
        now, page = self._clock(), self._mark.read()[1]
        silent = now - self._asked_s > SILENCE_S
        self._asked_s = now
        if self._mark.own and request.asked.navigation:
            wanted = sanitise(f"{self.scheme}://{self.host}{path_and_query(request.target)}")
            if wanted in self._pages and (silent or wanted != page):
                self._mark.begin(wanted)
        load, page = self._mark.read()
        if load != self._load or (self._mark.own and silent):
            self._given.clear()
            self._confirmed.clear()
        self._load = load
        return page


def _asked_alike(answer: RecordedAnswer, request: Request) -> bool:
    """Say whether a request is for the same use as the one that was recorded.

    Where that one hung, only such a request may: a script or an image would hold up the load event for ever. Over http
    a script cannot be told from what scripts fetch, and may hang, too.
    """
    recorded, asked = answer.asked.headers, request.asked.headers
    return all(recorded.get(name, "") == asked.get(name, "") for name in ("sec-fetch-dest", "accept"))


def _target_of(url: str) -> str:
    return path_and_query(split_url(url)[1])


def _path(target: str) -> str:
    return target.partition("?")[0]


def ended(answer: RecordedAnswer, asked: Asked) -> RecordedAnswer:
    """Return what ends a chain of redirects where no more of it was recorded: an empty body of the recorded type.

    Without a type that is 204 (No Content), but for a navigation, which 204 would not end.
    """
    mime_type = answer.mime_type or ("text/html" if asked.navigation else "")    # of an event stream none: 204 ends it
    headers = answer.headers
    if headers is not None:
        headers = (*(pair for pair in headers if pair[0].startswith("access-control-")),
                   *((("content-type", mime_type),) if mime_type else ()))
    return RecordedAnswer(200 if mime_type else 204, mime_type, headers=headers, found=FoundAs.ENDED, content_bytes=0,
                          identity=answer.identity)
