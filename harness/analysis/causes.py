"""What each request of a load waited for before it could start: the load's dependency graph, inferred.

Chrome's net-log says when a request started, not why. The cause is inferred from what the HAR does know (redirects, the
Referer, connections) and from time: a cause comes before its effect, and what came last before it is likely the one
it waited for. In this order:

1. A redirect is caused by the answer that redirects to it.
2. Otherwise the Referer names the document or the style sheet on whose behalf the request was made (across origins only
   its origin; a page may forbid to name any, and so may an element: then it may be any document). Causes are that
   document, and whatever was asked for on its behalf: scripts, style sheets, data. A
   document is a cause as soon as its first bytes are there: the parser requests what it finds while the rest comes in.
   Where hints came before the page's own (a 103), it is one as soon as it was asked for: when they came is in no HAR.
   A script owns what it imports, a worker what it asks for: their requests name it as the Referer, so its end, or that
   of what it imported, is the cause; and what they own belongs to the document that they belong to. (A module runs
   when all that it imports is there, however deep; what it then fetches names the document again.) What is asked for
   later than at once waited for what the page did, too: a style sheet's images and fonts for something to draw with
   them, a script's import() until the parser let it run, all of them while the page's thread stood still.
3. Of these the one that ended last before the request started. Coincidences are common while a document comes in, and
   an image is rarely a cause: they count as COINCIDENCE_MS and PASSIVE_MS older than they are. A beacon never is one:
   nothing on the page hears of its answer.
4. When the main thread was busy with a long task (Long Tasks API), a cause came before that task began, unless what may
   be a cause ended with it. It was not busy, but stood still, while it waited for a synchronous request.

The load event waits for every request of the page but data that no thread waited for, so its cause is the one that
ended last; but see 4, and cause_of_load_event.

What it cannot know: a timer from work of a script, a cause that is an image from one that only ended then by chance,
which of two scripts that ended together inserted the request.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.analysis.timeline import (
    DATA,
    DOCUMENT,
    FONT,
    IMAGE,
    MEDIA,
    SCRIPT,
    STYLE,
    TimedRequest,
    Timeline,
    own_documents,
)
from harness.files.urls import without_fragment

CLOCK_MS = 2.0
"""Two times of a HAR are each rounded to 1 ms, so what differs by less may be in either order."""
COINCIDENCE_MS = 20.0
"""How much older a document counts than it is, as a cause, while it still comes in: its end causes nothing."""
PASSIVE_MS = 100.0
"""The same of images and the like. Found on the paper's pages: a script's work lasts that long, and meanwhile some
image ends."""
QUEUE_MS = 4.0
"""A request that Chrome handles at once is dispatched within this time; one that takes longer waited for something."""
IDLE_MS = 20.0
"""What happens within this time after a long task is taken for its effect."""
FREED_MS = 20.0
"""How long after the end of one request another takes the place it left, at most."""
PASSIVE = (IMAGE, FONT, MEDIA)


@dataclass(frozen=True)
class Cause:
    """`request` at the time `at` (ms; its end, or earlier while it came in) set something off. None: the navigation."""

    request: TimedRequest | None
    at: float


NAVIGATION = Cause(None, 0.0)


@dataclass(frozen=True)
class Dependencies:
    """What one request waited for, all of it earlier in Timeline.requests.

    `cause` made it start. `freed` is the request whose end let it leave the queue, or, where the connection was made by
    another request, that one, or, where the answer came from Chrome's cache, the one that was still fetching it; None
    when it waited for none of these. `freed_at` is when that let it go on, in ms.
    """

    cause: Cause
    freed: TimedRequest | None
    freed_at: float


def dependencies(timeline: Timeline) -> list[Dependencies]:
    """Return what each request waited for, in the order of `timeline.requests`."""
    found = []
    lineages = _lineages(timeline.requests)
    for request in timeline.requests:
        earlier = timeline.requests[:request.order]
        found.append(Dependencies(_cause(request, earlier, timeline, lineages), *_freed(request, earlier)))
    return found


def cause_of_load_event(timeline: Timeline) -> Cause:
    """Return what the load event waited for last.

    When it came right after DOMContentLoaded, with no request ending between them, it waited for the parser: for the
    document and its scripts and style sheets, however late the images had come.
    """
    awaited = [request for request in timeline.requests if holds_up_the_load_event(request)
               or (request.redirect_to and not request.unread and not request.of_worker)]
    parsed = timeline.parsed_ms
    if parsed is None or parsed < timeline.plt_ms - IDLE_MS or any(
            parsed + CLOCK_MS < request.end <= timeline.plt_ms for request in awaited):
        return _latest(timeline.plt_ms, awaited, timeline.long_tasks, is_load_event=True)
    documents = own_documents(timeline.requests)
    lineages = _lineages(timeline.requests)
    parts = [request for request in awaited if (request.kind in (SCRIPT, STYLE) or request.synchronous)
             and any(_may_mean(_page_referer(request, lineages), document.url) for document in documents)]
    return _latest(parsed, [*documents, *parts], timeline.long_tasks, is_load_event=False)


def holds_up_the_load_event(request: TimedRequest) -> bool:
    """Tell whether it does: data that scripts fetch does not (HTML, "the end"), unless a page's thread waits for it.

    What a worker is made of, or waits for, does not either.
    """
    return not request.of_worker and ((request.kind != DATA and not request.unread) or request.synchronous)


def busy_since(at: float, long_tasks: Sequence[tuple[float, float]], ends: Sequence[float]) -> float:
    """Return when the main thread began the work it was doing, or had just done, at `at`; `at` if it was idle.

    `ends` are when requests ended: work that was over before one of them is not what was waited for.
    """
    for start, end in reversed(long_tasks):
        if start < at <= end + IDLE_MS and not any(end + CLOCK_MS < ended <= at + CLOCK_MS for ended in ends):
            at = start
    return at


Lineage = tuple[TimedRequest, ...]
"""Who owns a request: the script or style sheet whose Referer it has, that one's owner, and so on."""


def _lineages(requests: Sequence[TimedRequest]) -> list[Lineage]:
    """Return the lineage of each request, by its order; empty for what a document asked for."""
    owners: dict[str, TimedRequest] = {}
    lineages: list[Lineage] = []
    for request in requests:
        owner = owners.get(request.referer)
        lineages.append(() if owner is None else (owner, *lineages[owner.order]))
        if request.kind in (SCRIPT, STYLE) and not request.redirect_to:
            owners[request.url] = request
    return lineages


def _page_referer(request: TimedRequest, lineages: list[Lineage]) -> str:
    """Return the Referer that names the document on whose behalf, in the end, a request was made."""
    return (request, *lineages[request.order])[-1].referer


def _cause(request: TimedRequest, earlier: Sequence[TimedRequest], timeline: Timeline,
           lineages: list[Lineage]) -> Cause:
    """Return what made `request` start: a redirect, what imported it, or the latest of what may have asked for it."""
    redirects = [other for other in earlier
                 if other.redirect_to == request.url and other.end <= request.start + CLOCK_MS]
    if redirects:
        last = max(redirects, key=lambda other: other.end)
        return Cause(last, min(last.end, request.start))
    earlier = [other for other in earlier if not other.unread]
    lineage = lineages[request.order]
    owned = [*lineage, *(other for other in earlier if lineage[0] in lineages[other.order])] if lineage \
        else _of_document(request.referer, earlier, lineages)
    cause = _latest(request.start, owned, timeline.long_tasks, is_load_event=False)
    if cause.request is not None and request.start - cause.at <= IDLE_MS:
        return cause
    styles = [other for other in owned if other.kind == STYLE and _refers(request.referer, other.url)]
    for referer in dict.fromkeys(_page_referer(each, lineages) for each in (request, *styles)):
        owned += _of_document(referer, earlier, lineages)
    return _latest(request.start, owned, timeline.long_tasks, is_load_event=False)


def _of_document(referer: str, earlier: Sequence[TimedRequest], lineages: list[Lineage]) -> list[TimedRequest]:
    """Return the document (or style sheet) that a Referer names, and what was asked for on its behalf."""
    owners = [other for other in earlier if other.kind in (DOCUMENT, STYLE) and _refers(referer, other.url)]
    if not owners:
        owners = [other for other in earlier if other.kind == DOCUMENT]
    siblings = [other for other in earlier
                if other.kind != DOCUMENT and _same_page(referer, _page_referer(other, lineages))]
    return [*owners, *siblings]


def _same_page(referer: str, other: str) -> bool:
    """Tell whether two Referers may mean one document: its own site gets it in full, other sites its origin."""
    return referer == other or _may_mean(referer, other) or _may_mean(other, referer)


def _may_mean(referer: str, url: str) -> bool:
    """Tell whether a request with this Referer may be one of the document at `url`; without one, who knows."""
    return not referer or _refers(referer, url)


def _refers(referer: str, url: str) -> bool:
    """Tell whether `url` may be what `referer` means: itself, or its origin (Referrer Policy's default)."""
    if not referer:
        return False
    return referer == url or (referer.count("/") == 3 and referer.endswith("/") and url.startswith(referer))


def _latest(at: float, candidates: Sequence[TimedRequest], long_tasks: Sequence[tuple[float, float]], *,
            is_load_event: bool) -> Cause:
    """Return the cause among `candidates` of something that happened at `at`."""
    since = busy_since(at, long_tasks, [request.end for request in candidates
                                        if is_load_event or request.kind not in PASSIVE])
    is_event = is_load_event and since == at        # which all requests hold up alike
    best, best_age = NAVIGATION, float("inf")
    for request in candidates:
        arrived = min(request.end, since) if request.kind == DOCUMENT and not request.redirect_to else request.end
        begun = request.sent if request.hinted else request.head
        if arrived > since + CLOCK_MS or (request.kind == DOCUMENT and begun > since + CLOCK_MS):
            continue
        is_streaming = request.kind == DOCUMENT and request.end > since + CLOCK_MS
        unlikely_ms = 0.0 if is_event else PASSIVE_MS if request.kind in PASSIVE else COINCIDENCE_MS * is_streaming
        age = since - arrived + unlikely_ms
        if age <= best_age:
            best, best_age = Cause(request, min(arrived, at)), age
    return best


def _freed(request: TimedRequest, earlier: Sequence[TimedRequest]) -> tuple[TimedRequest | None, float]:
    """Return the request that had to end, or on a shared connection to connect, before `request` was sent, and when."""
    if not request.connection:
        return _fetching(request, earlier), request.dispatched
    if request.shared:
        maker = next((other for other in earlier if other.connection == request.connection and other.first), None)
        is_late = request.dispatched - request.connected >= FREED_MS    # as many streams as the server allows, say
        ended = _ended_before(request, earlier, request.connected) if is_late else []
        ended = [other for other in ended if other.connection == request.connection]
        if ended:
            return max(ended, key=lambda other: other.end), request.dispatched
        return maker, request.connected
    if request.dispatched - request.start < QUEUE_MS:
        return None, request.dispatched
    ended = _ended_before(request, earlier, request.start)
    same_connection = [other for other in ended if other.connection == request.connection]
    same_host = [other for other in ended if other.host == request.host]
    freed = max(same_connection or same_host or ended, key=lambda other: other.end, default=None)
    return freed, request.dispatched


def _fetching(request: TimedRequest, earlier: Sequence[TimedRequest]) -> TimedRequest | None:
    """Return the request that was fetching what `request` got from Chrome's cache, if it had to be waited for.

    Two frames that name one script ask for it at once; the second gets what the first one's answer puts into the cache.
    """
    url = without_fragment(request.url)
    fetching = [other for other in earlier if other.connection and without_fragment(other.url) == url
                and request.start < other.end <= request.dispatched + CLOCK_MS]
    return max(fetching, key=lambda other: other.end, default=None)


def _ended_before(request: TimedRequest, earlier: Sequence[TimedRequest], since: float) -> list[TimedRequest]:
    """Return the requests that ended after `since`, shortly before `request` was dispatched."""
    return [other for other in earlier if other.connection and since < other.end <= request.dispatched + CLOCK_MS
            and other.end >= request.dispatched - FREED_MS]
