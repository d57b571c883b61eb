"""What one recorded host answers over one scheme, and what it has answered already in the present page load."""

import threading
from collections import Counter
from dataclasses import replace
from functools import partial
from typing import Any

from harness.files import exchange
from harness.files.exchange import Answer, Exchange, Place
from harness.files.load_mark import Load, LoadMark
from harness.files.server_log import FoundAs
from harness.mirror.alike import alike_path, mask_target
from harness.mirror.answers import Recorded
from harness.mirror.asked import Asked
from harness.mirror.live import LiveConnection
from harness.mirror.recording import Recording
from harness.replay.match import EXACT, LOOP, Matcher, Request, as_found, asked_alike, is_known

HOLDS, FRESH, AGAIN = 2, 1, 0
"""What the client has and still holds, what was not given yet in a load, and what was."""


class Site:
    """One host of a recording over one scheme. Everything is indexed at the start: a request reads no directory."""

    def __init__(self, recording: Recording, host: str, scheme: str = "http", mark: LoadMark | None = None,
                 *, rtt_ms: float | None = None) -> None:
        """With `rtt_ms`, how far away the host was when it was recorded, it thinks for as long as it did then."""
        self.host, self.scheme, self._rtt_ms = host, scheme, rtt_ms
        self.http2 = scheme == "https" and host in recording.http2_hosts
        answers = [answer for found in recording.answers.get((scheme, host), {}).values() for answer in found]
        self.lenders = frozenset(answer.file.partition("/")[0] for answer in answers if answer.file)
        """The hosts whose directories hold bodies of it."""
        self._live = tuple(recording.live.get((scheme, host), ()))
        self._matcher = Matcher(recording, scheme, host)
        self._polls = {(answer.method, answer.alike): answer for answer in answers if answer.slow_ms}
        """A long poll of each path that has one, by method and path without volatile values."""
        self._mark = mark or LoadMark()
        self._lock = threading.Lock()
        self._load = Load()
        self._given: set[str] = set()
        """Identities of what was answered in the present load."""
        self._confirmed: Counter[str] = Counter()
        """How many times it was said in the present load of each of these that it still holds."""

    def answer(self, request: Request) -> Recorded:
        """Return the answer to a request. A poll gets each long poll's answer once, and then hangs."""
        with self._lock:
            page, turn = self._present_load(), partial(self._turn, request)
            slow = self._long_poll(request)
            for found, candidates in self._matcher.found(request):
                usable = [each for each in candidates if self._matcher.may_be_sent(found, each, request)
                          and not (slow and turn(each)[0] == AGAIN)]
                if usable:
                    chosen = self._matcher.best(found, usable, request, page, turn)
                    return self._given_as(chosen, as_found(found, chosen, request), turn(chosen)[0], request)
            led_here = self._matcher.is_unrecorded_end(request) and not request.is_preflight
        if slow:
            return replace(slow, hangs=True, found=FoundAs.UNANSWERED)
        return ended(MISSING, request.asked) if led_here else MISSING

    def _given_as(self, chosen: Recorded, found: str, turn: int, request: Request) -> Recorded:
        """Note what is given, and return it with how it was `found`: an end, where it would go on without one."""
        self._confirmed[chosen.identity] += turn == HOLDS
        self._given.add(chosen.identity)
        if turn == AGAIN and (chosen.live or self._matcher.end_of(chosen) == LOOP):
            return ended(chosen, request.asked)
        if chosen.live and not chosen.answer.arrivals:
            found = FoundAs.LIVE
        return chosen if found == EXACT or chosen.hangs else replace(chosen, found=found)

    def think_ms(self, answer: Recorded) -> float:
        """Return how long to wait before an answer: what it was waited for when it was recorded, less a round trip.

        Without a round trip that is known only long polls are waited for (harness.mirror.transactions).
        """
        if self._rtt_ms is None or answer.wait_ms is None:
            return answer.slow_ms
        return max(0.0, answer.wait_ms - self._rtt_ms)

    def live_connection(self, request: Request) -> LiveConnection | None:
        """Return the WebSocket that was opened with this URL, or with the most alike one that has its path."""
        wanted = request.path_and_query
        alike = [number for number, live in enumerate(self._live)
                 if alike_path(live.place.target) == alike_path(wanted)]
        if not alike:
            return None
        with self._lock:
            page = self._present_load()

            def score(number: int) -> tuple[Any, ...]:
                live, fresh = self._live[number], f"live {number}" not in self._given
                return (live.place.target == wanted, mask_target(live.place.target) == mask_target(wanted),
                        live.exchange.page == page, fresh, -number if fresh else number)

            chosen = max(alike, key=score)
            self._given.add(f"live {chosen}")
            return self._live[chosen]

    def _turn(self, request: Request, each: Recorded) -> tuple[int, ...]:
        """Return whose turn it is among equals: the highest's.

        What the client has and asks about comes first, as often as the site said that it still holds; then the first
        that was not given, and once all were the last.
        """
        if each.identity not in self._given:
            return FRESH, -each.number
        holds = self._confirmed[each.identity] < each.confirmed and is_known(each, request)
        return (HOLDS, -each.number) if holds else (AGAIN, each.number)

    def _long_poll(self, request: Request) -> Recorded | None:
        """Return the long poll that a request is like, if it is like one."""
        if not self._polls:
            return None
        slow = self._polls.get((request.method.upper(), alike_path(request.path_and_query)))
        return slow if slow and not slow.lacks_body and asked_alike(slow, request) else None

    def _present_load(self) -> str:
        """Forget what was given in an earlier load; return the present load's page, "" where that is not known.

        Without an experiment's mark (harness.files.load_mark) all requests are of one load.
        """
        load = self._mark.load()
        if load != self._load:
            self._given.clear()
            self._confirmed.clear()
        self._load = load
        return load.page


def ended(recorded: Recorded, asked: Asked) -> Recorded:
    """Return what ends a chain of redirects where no more of it was recorded: an empty body of the recorded type.

    Without a type that is 204 (No Content), but for a navigation, which 204 would not end.
    """
    # Of an event stream none: 204 ends it.
    mime_type = recorded.answer.mime_type.partition(";")[0] or ("text/html" if asked.navigation else "")
    headers = recorded.headers
    if headers is not None:
        headers = (*(pair for pair in headers if pair[0].startswith("access-control-")),
                   *((("content-type", mime_type),) if mime_type else ()))
    answer = Answer(200 if mime_type else 204, mime_type=mime_type, headers=headers, content_bytes=0)
    return _made(answer, FoundAs.ENDED, recorded.identity)


def _made(answer: Answer, found: str, identity: str = "-") -> Recorded:
    """Return an answer that was not recorded so."""
    return Recorded(Exchange(request=exchange.Request("GET", "")), Place("", "", ""), answer, found=found,
                    identity=identity)


MISSING = _made(Answer(404, headers=None), FoundAs.MISSING)
