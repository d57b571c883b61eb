"""Which recorded answers a request may get, and which of them is the most alike: one score.

docs/replay.md has the rules and their sources, tests/corpus/replay the cases. How an answer is found decides first:

1. exact: this URL (however its characters are encoded) and method, and for a request with a body the same body;
2. masked: the same when volatile values (harness.mirror.alike) are left out of URL and body;
3. best-match: the same path, without volatile values, an image's size, and a font's or image's format.

Of the answers that are found so and may be sent, the one with the highest score is: see `Matcher.best`. An answer that
is found by 2 or 3 is a stand-in.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote

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
from harness.mirror.answers import RecordedAnswer
from harness.mirror.asked import Asked, BodyHash
from harness.mirror.importing import MOST_REDIRECTS
from harness.mirror.paths import INDEX, is_md5_name
from harness.mirror.recording import Recording
from harness.mirror.transactions import Key

EXACT = "exact"
SAME_BODY, ALIKE_BODY, NO_BODY = 2, 1, 0
RECORDED, UNRECORDED, LOOP = "recorded", "unrecorded", "loop"
NOT_COMPARED = frozenset(("accept-encoding", "cookie", "host", "origin", "range", "referer", "user-agent", "*"))
"""Headers that `Vary` may name and that a replay has otherwise, or that hold for all requests of a browser."""
OF_PREFLIGHTS = ("access-control-request-method", "access-control-request-headers")
"""What a preflight (CORS) asks for, which only a browser's own question has (Fetch, section 3.3.2).

Many sites allow just that, and do not say so in `Vary`.
"""
OF_PURPOSE = ("sec-fetch-dest", "sec-fetch-mode", "origin", *OF_PREFLIGHTS)
"""Headers that say what an answer is for; one to another origin may not be read (CORS)."""


Cookies = frozenset[frozenset[str]]
"""Sets of cookies' names."""


@dataclass(frozen=True)
class Request:
    """A request as it decides its answer: method, path and query as received, headers and body."""

    method: str
    target: str
    asked: Asked

    @property
    def path_and_query(self) -> str:
        """The target without a host and a fragment."""
        return path_and_query(self.target)


@dataclass(frozen=True)
class Candidate:
    """A recorded answer, with what decides whether a request gets it."""

    answer: RecordedAnswer
    number: int
    """Its place among the host's answers: by URL, then in recorded order."""
    method: str
    target: str
    alike: str
    """The path without volatile values and an image's size."""
    body: BodyHash | None
    """What the request sent."""
    navigation: bool | None
    vary: frozenset[str]
    """The headers that decide between answers, as this one says (RFC 9110, section 12.5.5)."""
    cookies_before: Cookies
    """For each redirect of its URL before it, the cookies that are new since: a request without them was not led on."""
    cookies_after: Cookies
    """Of a redirect, the cookies that are new in later requests of its URL: a request with them was led on already."""

    def fits_cookies(self, sent: frozenset[str]) -> bool:
        """Say whether a request with these cookies comes at this place among the redirects of its URL."""
        return all(new <= sent for new in self.cookies_before) and not any(
            new and new <= sent for new in self.cookies_after)


class Matcher:
    """The recorded answers of one host over one scheme, indexed for all the ways in which they are found."""

    def __init__(self, recording: Recording, scheme: str, host: str) -> None:
        self._recording, self._scheme, self._host = recording, scheme, host
        self._ends = recording.unrecorded_ends      # worked out now: each server's first stand-in would wait for it
        self._urls: dict[str, list[Candidate]] = {}
        """By path and query without percent-encoding."""
        self._masked: dict[Key, list[Candidate]] = {}
        """By method, and path and query without volatile values."""
        self._paths: dict[Key, list[Candidate]] = {}
        """By method and path, without volatile values, size and format."""
        sequences = dict(recording.answers.get((scheme, host), {}))
        for target in _plain_urls(recording.unasked_files(host)):
            if ("GET", target) not in sequences and (file := recording.exact(scheme, host, target)):
                sequences["GET", target] = file
        number = 0
        for key, sequence in sequences.items():
            method, target = key
            candidates = list(_candidates(key, sequence, number))
            self._urls.setdefault(decoded(target), []).extend(candidates)
            self._masked.setdefault((method, mask_target(target)), []).extend(candidates)
            self._paths.setdefault((method, self._any_format(alike_path(target))), []).extend(candidates)
            number += len(sequence)

    def found(self, request: Request) -> Iterator[tuple[str, list[Candidate]]]:
        """Yield the candidates for `request` by how they are found, the most alike first.

        Those of a GET stand in for other methods. A text log tells no methods: there every answer is to all.
        """
        target, method, body = request.path_and_query, request.method.upper(), request.asked.body
        same = self._urls.get(decoded(target)) or self._files(target)
        methods = (method, "GET") if method == "HEAD" else (method,)
        yield EXACT, [each for each in same if (each.method in methods or each.answer.headers is None)
                      and _common_body(each.body, body) is not None]
        names, masked, path = dict.fromkeys((method, "GET")), mask_target(target), alike_path(target)
        yield FoundAs.MASKED, [each for name in names for each in self._masked.get((name, masked), ())
                               if _common_body(each.body, body) is not None]
        formats = may_be_in_another_format(parameters(target)[0])
        yield FoundAs.BEST_MATCH, [
            each for name in names for each in self._paths.get((name, self._any_format(path)), ())
            if each.alike == path or (formats and each.method == "GET" and each.answer.status == HTTPStatus.OK)]

    def best(self, found: str, candidates: list[Candidate], request: Request, page: str,
             turn: Callable[[Candidate], tuple[int, ...]]) -> Candidate:
        """Return the candidate with the highest score: what its URL and body have in common with the request's first.

        Then come what the log of the present page has, and what answered a request of the same kind (navigation or
        not), for the same purpose, with the same values of the headers that `Vary` names, with the same Accept, and
        with cookies that fit; at last whose turn it is.
        """
        if len(candidates) == 1:
            return candidates[0]
        asked, target, method = request.asked, request.path_and_query, request.method.upper()
        body = asked.body
        path, cookies = alike_path(target), asked.cookies
        vary = sorted(frozenset[str]().union(*(each.vary for each in candidates)))
        wanted = [(name, asked.headers.get(name, "")) for name in (*OF_PURPOSE, *vary, "accept")]

        def score(each: Candidate) -> tuple[Any, ...]:
            recorded = each.answer.asked.headers
            return (each.method == method,
                    found != FoundAs.BEST_MATCH or each.alike == path,        # not in another format
                    _common_body(each.body, body) or 0,
                    found != FoundAs.BEST_MATCH or each.answer.found != FoundAs.UNANSWERED,
                    each.target == target if found == EXACT else in_common(target, each.target),
                    each.answer.page == page,
                    asked.navigation is None or each.navigation in (None, asked.navigation),
                    [not recorded or recorded.get(name, "") == value for name, value in wanted],
                    each.fits_cookies(cookies),
                    turn(each))

        return max(candidates, key=score)

    def may_be_sent(self, found: str, candidate: Candidate, request: Request) -> bool:
        """Say whether the request may get this: a navigation gets nothing else's answer, nobody one whose body is gone.

        Where a recorded redirect leads to what was not recorded, no redirect stands in that is not known to end: none
        leads back to itself (nytimes.com, 2013). What hung hangs for nobody who asks for another use.
        """
        answer = candidate.answer
        if answer.lacks_body or (request.asked.navigation and candidate.navigation is False):
            return False
        if found == EXACT:
            return True
        if self.is_unrecorded_end(request):
            return not answer.hangs and self.end_of(answer) == RECORDED
        return not answer.hangs or asked_alike(answer, request)

    def is_unrecorded_end(self, request: Request) -> bool:
        """Say whether a recorded redirect leads to this URL, and the URL itself was not recorded."""
        return f"{self._scheme}://{self._host}{request.path_and_query}" in self._ends

    def end_of(self, answer: RecordedAnswer) -> str:
        """Return where following a redirect through recorded URLs comes to: RECORDED, UNRECORDED or LOOP."""
        for _ in range(MOST_REDIRECTS):
            if answer.redirect_url is None:
                return RECORDED
            recorded = self._recording.exact_url(answer.redirect_url)
            if not recorded:
                return UNRECORDED
            answer = recorded[-1]
        return LOOP

    def _any_format(self, alike: str) -> str:
        return without_format(self._host, alike) or alike

    def _files(self, target: str) -> list[Candidate]:
        """Return the file that is a URL's body, as its name is made, where no log has the URL."""
        forms = dict.fromkeys((target, unquote(target, errors="surrogateescape")))      # decoded, as files are named
        found = (self._recording.exact(self._scheme, self._host, form) for form in forms)
        return [*_candidates(("GET", target), next(filter(None, found), ()), 0)]


def as_found(found: str, candidate: Candidate, request: Request) -> str:
    """Return how an answer was found: `found`, but for a body that is not the same, and for a document.

    A server that tells a document from what a script gets (htmx) would have sent the script something else.
    """
    if found != EXACT:
        return found
    if _common_body(candidate.body, request.asked.body) == ALIKE_BODY:
        return FoundAs.MASKED
    return FoundAs.BEST_MATCH if request.asked.navigation is False and candidate.navigation else EXACT


def asked_alike(answer: RecordedAnswer, request: Request) -> bool:
    """Say whether a request is for the same use as the one that was recorded.

    Where that one hung, only such a request may: a script or an image would hold up the load event for ever. Over http
    a script cannot be told from what scripts fetch, and may hang, too.
    """
    recorded, asked = answer.asked.headers, request.asked.headers
    return all(recorded.get(name, "") == asked.get(name, "") for name in ("sec-fetch-dest", "accept"))


def is_known(answer: RecordedAnswer, request: Request) -> bool:
    """Say whether the client has this body, as it asks whether it still may use it (RFC 9110, section 13)."""
    tags, since = (request.asked.headers.get(name) for name in ("if-none-match", "if-modified-since"))
    if (tags is None and since is None) or answer.status != HTTPStatus.OK or request.method not in ("GET", "HEAD"):
        return False
    recorded = dict(answer.headers or ())
    if tags is not None:
        return "etag" in recorded and _opaque(recorded["etag"]) in map(_opaque, tags.split(","))
    return since == recorded.get("last-modified")


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


def _candidates(key: Key, sequence: tuple[RecordedAnswer, ...], number: int) -> Iterator[Candidate]:
    """Yield the candidates of one method and target, the first of which is the host's `number`th."""
    method, target = key
    alike = alike_path(target)
    for place, (answer, (before, after)) in enumerate(zip(sequence, _cookies_around(sequence), strict=True)):
        vary = (value for name, value in answer.headers or () if name == "vary")
        named = frozenset(name.strip().lower() for value in vary for name in value.split(","))
        yield Candidate(answer, number + place, method, target, alike, answer.asked.body,
                        answer.asked.navigation, named - NOT_COMPARED, before, after)


def _cookies_around(sequence: tuple[RecordedAnswer, ...]) -> list[tuple[Cookies, Cookies]]:
    """Return `cookies_before` and `cookies_after` of each of the answers to one URL, among those of its page."""
    if not any(answer.redirect_url for answer in sequence):
        return [(frozenset(), frozenset())] * len(sequence)
    seen: dict[tuple[bool, str], set[frozenset[str]]] = {}
    found: list[list[Cookies]] = []
    for forward in (True, False):
        around = []
        for answer in sequence if forward else sequence[::-1]:
            cookies = answer.asked.cookies
            others = seen.setdefault((forward, answer.page), set())
            if forward:
                around.append(frozenset(cookies - other for other in others))
            else:
                around.append(frozenset(other - cookies for other in others if answer.redirect_url))
            if answer.redirect_url or not forward:
                others.add(cookies)
        found.append(around)
    return [*zip(found[0], found[1][::-1], strict=True)]


def _plain_urls(files: Iterable[str]) -> Iterator[str]:
    """Yield the paths and queries of the files, as far as their names show them: a long URL's is its MD5.

    In the order of their names: which of two stands in is the same in every server, and in every run.
    """
    for name in sorted(files):
        if not is_md5_name(name):
            yield "/" if name == INDEX else "/" + name.partition("#")[0]
