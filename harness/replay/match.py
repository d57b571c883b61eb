"""Which recorded answers a request may get, and which of them is the most alike: one score.

docs/replay.md has the rules and their sources, tests/corpus/replay the cases. How an answer is found decides first:

1. exact: this URL (however its characters are encoded) and method, and for a request with a body the same body;
2. masked: the same when volatile values (harness.mirror.alike) are left out of URL and body;
3. best-match: the same path, without volatile values, an image's size, and a font's or image's format.

Of the answers that are found so and may be sent, the one with the highest score is: see `Matcher.best`. An answer that
is found by 2 or 3 is a stand-in.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from harness.files.server_log import FoundAs
from harness.files.urls import decoded
from harness.mirror.alike import (
    alike_path,
    in_common,
    mask_target,
    may_be_in_another_format,
    parameters,
    path_and_query,
    without_format,
)
from harness.mirror.answers import Recorded
from harness.mirror.asked import Asked, BodyHash
from harness.mirror.importing import MOST_REDIRECTS
from harness.mirror.paths import is_md5_name
from harness.mirror.recording import Recording
from harness.mirror.transactions import Key

EXACT = "exact"
SAME_BODY, ALIKE_BODY, NO_BODY = 2, 1, 0
RECORDED, UNRECORDED, LOOP = "recorded", "unrecorded", "loop"
OF_PREFLIGHTS = ("access-control-request-method", "access-control-request-headers")
"""What a preflight (CORS) asks for, which only a browser's own question has (Fetch, section 3.3.2).

Many sites allow just that, and do not say so in `Vary`.
"""
OF_PURPOSE = ("sec-fetch-dest", "sec-fetch-mode", "origin", *OF_PREFLIGHTS)
"""Headers that say what an answer is for; one to another origin may not be read (CORS)."""


@dataclass(frozen=True)
class Request:
    """A request as it decides its answer: method, path and query (as received, or a URL), headers and body."""

    method: str
    target: str
    asked: Asked = field(default_factory=Asked)

    @property
    def path_and_query(self) -> str:
        """The target without a host and a fragment."""
        return path_and_query(self.target)

    @property
    def is_preflight(self) -> bool:
        """Whether a browser asks if it may ask (CORS); another OPTIONS is a script's own."""
        return self.method == "OPTIONS" and any(name in self.asked.headers for name in OF_PREFLIGHTS)


class Matcher:
    """The recorded answers of one host over one scheme, indexed for all the ways in which they are found."""

    def __init__(self, recording: Recording, scheme: str, host: str) -> None:
        self._recording, self._scheme, self._host = recording, scheme, host
        self._ends = recording.unrecorded_ends      # worked out now: each server's first stand-in would wait for it
        self._urls: dict[str, list[Recorded]] = defaultdict(list)
        """By path and query without percent-encoding."""
        self._masked: dict[Key, list[Recorded]] = defaultdict(list)
        """By method, and path and query without volatile values."""
        self._paths: dict[Key, list[Recorded]] = defaultdict(list)
        """By method and path, without volatile values, size and format."""
        self._leading: set[tuple[str, str]] = set()
        """The pages and URLs of which redirects were recorded."""
        for (method, target), answers in recording.answers.get((scheme, host), {}).items():
            self._urls[decoded(target)] += answers
            self._leading |= {(answer.page, target) for answer in answers if answer.redirect_url}
            if answers[0].page or not is_md5_name(target[1:]):      # a file whose URL nobody knows is for that alone
                self._masked[method, mask_target(target)] += answers
                self._paths[method, self._any_format(alike_path(target))] += answers

    def found(self, request: Request) -> Iterator[tuple[str, Sequence[Recorded]]]:
        """Yield the candidates for `request` by how they are found, the most alike first.

        Those of a GET stand in for other methods. A text log tells no methods: there every answer is to all.
        """
        target, method, body = request.path_and_query, request.method.upper(), request.asked.body
        same = self._urls.get(decoded(target)) or self._recording.exact(self._scheme, self._host, target)
        methods = (method, "GET") if method == "HEAD" else (method,)
        yield EXACT, [each for each in same if (each.method in methods or each.headers is None)
                      and _common_body(each.asked.body, body) is not None]
        names, masked, path = dict.fromkeys((method, "GET")), mask_target(target), alike_path(target)
        yield FoundAs.MASKED, [each for name in names for each in self._masked.get((name, masked), ())
                               if _common_body(each.asked.body, body) is not None]
        formats = may_be_in_another_format(parameters(target)[0])
        yield FoundAs.BEST_MATCH, [
            each for name in names for each in self._paths.get((name, self._any_format(path)), ())
            if each.alike == path or (formats and each.method == "GET" and each.status == HTTPStatus.OK)]

    def best(self, found: str, candidates: Sequence[Recorded], request: Request, page: str,
             turn: Callable[[Recorded], tuple[int, ...]]) -> Recorded:
        """Return the candidate with the highest score: what its URL and body have in common with the request's first.

        Then come what the log of the present page has, and what answered a request of the same kind (navigation or
        not), for the same purpose, with the same values of the headers that `Vary` names, with the same Accept, and,
        where redirects set cookies and lead back, with the same cookies; at last whose turn it is.
        """
        if len(candidates) == 1:
            return candidates[0]
        asked, target, method = request.asked, request.path_and_query, request.method.upper()
        path, cookies = alike_path(target), asked.cookies
        vary = sorted(frozenset[str]().union(*(each.vary for each in candidates)))
        wanted = [(name, asked.headers.get(name, "")) for name in (*OF_PURPOSE, *vary, "accept")]

        def score(each: Recorded) -> tuple[Any, ...]:
            headers, leads = each.asked.headers, (each.page, each.place.target) in self._leading
            return (each.method == method,
                    found != FoundAs.BEST_MATCH or each.alike == path,        # not in another format
                    _common_body(each.asked.body, asked.body) or 0,
                    found != FoundAs.BEST_MATCH or each.found != FoundAs.UNANSWERED,
                    each.place.target == target if found == EXACT else in_common(target, each.place.target),
                    each.page == page,
                    asked.navigation is None or each.asked.navigation in (None, asked.navigation),
                    [not headers or headers.get(name, "") == value for name, value in wanted],
                    -len(each.asked.cookies ^ cookies) if leads else 0,
                    turn(each))

        return max(candidates, key=score)

    def may_be_sent(self, found: str, answer: Recorded, request: Request) -> bool:
        """Say whether the request may get this: a navigation gets nothing else's answer, nobody one whose body is gone.

        A preflight gets another preflight's. Where a recorded redirect leads to what was not recorded, no redirect
        stands in that is not known to end: none leads back to itself (nytimes.com, 2013). What hung hangs for nobody
        who asks for another use.
        """
        if request.is_preflight:
            return answer.method == "OPTIONS" and found != FoundAs.BEST_MATCH
        if answer.lacks_body or (request.asked.navigation and answer.asked.navigation is False):
            return False
        if found == EXACT:
            return True
        if self.is_unrecorded_end(request):
            return not answer.hangs and self.end_of(answer) == RECORDED
        return not answer.hangs or asked_alike(answer, request)

    def is_unrecorded_end(self, request: Request) -> bool:
        """Say whether a recorded redirect leads to this URL, and the URL itself was not recorded."""
        return f"{self._scheme}://{self._host}{request.path_and_query}" in self._ends

    def end_of(self, answer: Recorded) -> str:
        """Return where following a redirect through recorded URLs comes to: RECORDED, UNRECORDED or LOOP."""
        for _ in range(MOST_REDIRECTS):
            if not answer.redirect_url:
                return RECORDED
            recorded = self._recording.exact_url(answer.redirect_url)
            if not recorded:
                return UNRECORDED
            answer = recorded[-1]
        return LOOP

    def _any_format(self, alike: str) -> str:
        return without_format(self._host, alike) or alike


def as_found(found: str, answer: Recorded, request: Request) -> str:
    """Return how an answer was found: `found`, but for a body that is not the same, and for a document.

    A server that tells a document from what a script gets (htmx) would have sent the script something else.
    """
    if found != EXACT:
        return found
    if _common_body(answer.asked.body, request.asked.body) == ALIKE_BODY:
        return FoundAs.MASKED
    return FoundAs.BEST_MATCH if request.asked.navigation is False and answer.asked.navigation else EXACT


def asked_alike(answer: Recorded, request: Request) -> bool:
    """Say whether a request is for the same use as the one that was recorded.

    Where that one hung, only such a request may: a script or an image would hold up the load event for ever. Over http
    a script cannot be told from what scripts fetch, and may hang, too.
    """
    recorded, asked = answer.asked.headers, request.asked.headers
    return all(recorded.get(name, "") == asked.get(name, "") for name in ("sec-fetch-dest", "accept"))


def is_known(answer: Recorded, request: Request) -> bool:
    """Say whether the client has this body, as it asks whether it still may use it (RFC 9110, section 13)."""
    tags, since = (request.asked.headers.get(name) for name in ("if-none-match", "if-modified-since"))
    if (tags is None and since is None) or answer.status != HTTPStatus.OK or request.method not in ("GET", "HEAD"):
        return False
    if tags is not None:
        tag = answer.answer.header("etag")
        return bool(tag) and _opaque(tag) in map(_opaque, tags.split(","))
    return since == answer.answer.header("last-modified")


def _opaque(tag: str) -> str:
    """Return an entity tag without the mark that it is weak, which does not count here."""
    return tag.strip().removeprefix("W/")


def _common_body(recorded: BodyHash | None, asked: BodyHash | None) -> int | None:
    """Return how alike the bodies of two requests are; None if they differ by more than volatile values.

    A request that was recorded without a body, or with one that nobody knows, is a little like every other.
    """
    if recorded is None:
        return NO_BODY if asked else SAME_BODY
    if asked is None:
        return None
    if recorded.sha256 == asked.sha256:
        return SAME_BODY
    return ALIKE_BODY if recorded.masked_sha256 == asked.masked_sha256 != "" else None
