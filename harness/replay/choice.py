"""Which of several recorded answers to one URL a request gets: by what it asked, by its cookies, then by order."""

from collections.abc import Callable

from harness.mirror.answers import RecordedAnswer
from harness.replay.matching import Request

NOT_COMPARED = frozenset(("accept-encoding", "cookie", "host", "origin", "range", "referer", "user-agent", "*"))
"""Headers that `Vary` may name and that a replay has otherwise, or that hold for all requests of a browser."""
OF_PREFLIGHTS = ("access-control-request-method", "access-control-request-headers")
"""What a preflight (CORS) asks for, which only a browser's own question has (Fetch, section 3.3.2).

Many sites allow just that, and do not say so in `Vary`.
"""


def fitting(candidates: list[RecordedAnswer], request: Request, page: str) -> list[RecordedAnswer]:
    """Return those of the candidates that fit best to the request, in recorded order; none may be left.

    A navigation gets what answered a navigation, or nothing. Everything else is a preference, in this order: what the
    log of the present page has, what answered a request of the same kind (navigation or not, Sec-Fetch-Dest and -Mode),
    of the same origin (another one may not read it, CORS), what allows the same method and headers, with the same
    values of the headers that `Vary` names, with the same Accept; then the cookies decide.
    """
    asked = request.asked
    if asked.navigation:
        candidates = [answer for answer in candidates if answer.asked.navigation is not False]
    if len(candidates) < 2:
        return candidates
    tests: list[Callable[[RecordedAnswer], bool]] = [
        lambda answer: answer.page == page,
        lambda answer: asked.navigation is None or answer.asked.navigation in (None, asked.navigation)]
    tests += [_same_header(name, request) for name in ("sec-fetch-dest", "sec-fetch-mode", "origin", *OF_PREFLIGHTS,
                                                       *_varying(candidates), "accept")]
    for test in tests:
        candidates = [answer for answer in candidates if test(answer)] or candidates
    return _with_cookies(candidates, asked.cookies)


def answered_a_navigation(answer: RecordedAnswer, request: Request) -> bool:
    """Tell whether an answer that became a document is given to a request that is known to be for something else."""
    return request.asked.navigation is False and answer.asked.navigation is True


def choose(candidates: list[RecordedAnswer], given: set[str]) -> tuple[RecordedAnswer, bool]:
    """Return the first that was not `given` (identities), the last once all were; and whether all were."""
    fresh = next((answer for answer in candidates if answer.identity not in given), None)
    return (candidates[-1], True) if fresh is None else (fresh, False)


def is_known(answer: RecordedAnswer, request: Request) -> bool:
    """Say whether the client has this body, as it asks whether it still may use it (RFC 9110, section 13)."""
    tags, since = (request.asked.headers.get(name) for name in ("if-none-match", "if-modified-since"))
    if (tags is None and since is None) or answer.status != 200 or request.method not in ("GET", "HEAD"):
        return False
    recorded = dict(answer.headers or ())
    if tags is not None:
        return "etag" in recorded and _opaque(recorded["etag"]) in map(_opaque, tags.split(","))
    return since == recorded.get("last-modified")


def _opaque(tag: str) -> str:
    """Return an entity tag without the mark that it is weak, which does not count here."""
    return tag.strip().removeprefix("W/")


def _varying(candidates: list[RecordedAnswer]) -> list[str]:
    """Return the headers that decide between answers, as the answers themselves say (RFC 9110, section 12.5.5)."""
    named = {name.strip().lower() for answer in candidates for header, value in answer.headers or ()
             if header == "vary" for name in value.split(",")}
    return sorted(named - NOT_COMPARED)


def _same_header(name: str, request: Request) -> Callable[[RecordedAnswer], bool]:
    wanted = request.asked.headers.get(name, "")
    return lambda answer: not answer.asked.headers or answer.asked.headers.get(name, "") == wanted


def _with_cookies(candidates: list[RecordedAnswer], cookies: frozenset[str]) -> list[RecordedAnswer]:
    """Leave out redirects whose cookies were set meanwhile, and what comes after a redirect whose cookies were not."""
    kept = []
    for place, answer in enumerate(candidates):
        before, after = candidates[:place], candidates[place + 1:]
        if answer.redirect_url is not None and any(
                later.asked.cookies - answer.asked.cookies and later.asked.cookies - answer.asked.cookies <= cookies
                for later in after):
            continue
        if any(earlier.redirect_url is not None and not answer.asked.cookies - earlier.asked.cookies <= cookies
               for earlier in before):
            continue
        kept.append(answer)
    return kept or candidates
