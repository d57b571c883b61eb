"""What each request of a load waited for before it could start: the load's dependency graph.

Chrome says who asked for a request (DevTools' initiator: a tag in a document, a style sheet, a script). It says so of
run 0, which never counts, and a request of another load is known by its URL. Where Chrome says nothing ("other", or a
load without a warm-up) the Referer names the document, style sheet or script.

1. A redirect is caused by the answer that redirects to it.
2. What a tag of a document asked for, the document caused, as soon as its first bytes were there (where hints came
   before them, a 103: as soon as it was asked for), or what its parser stops for.
3. What a script or a style sheet asked for right after it had come was caused by it. What it asked for later had waited
   for an event: for something to draw with it (a style sheet), or for a timer, for data, for the parser. Which one,
   only time tells: of all that was asked for on behalf of the same document it is what ended last before the request.
   While a document comes in, coincidences are common, and an image is rarely a cause: they count as COINCIDENCE_MS and
   PASSIVE_MS older than they are. A beacon never is one: nothing on the page hears of its answer.
4. When the main thread was busy with a long task (Long Tasks API), a cause came before that task began, unless what may
   be a cause ended with it. It was not busy, but stood still, while it waited for a synchronous request.

The net-log says the rest: which connection a request was sent on, and when others had left it.

The load event waits for every request of the page but data that no thread waited for, so its cause is the one that
ended last; but see 4, and cause_of_load_event.

What cannot be known: a timer from work of a script, and a cause that is an image from one that only ended then by
chance.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
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
"""What happens within this time after a long task, or after its script has come, is taken for its effect."""
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


class Ends:
    """Requests in the order of their ends. Asked for the last of them it looks at few, however many there are."""

    def __init__(self, requests: Iterable[TimedRequest]) -> None:
        self._requests = sorted(requests, key=lambda request: (request.end, request.order))
        self._ends = [request.end for request in self._requests]

    def last(self, until: float, before: int) -> TimedRequest | None:
        """Return what ended last, at `until` or earlier, of those whose order is below `before`; None for nothing."""
        return next(self.latest(until, before), None)

    def latest(self, until: float, before: int) -> Iterator[TimedRequest]:
        """Give what ended at `until` or earlier, of those whose order is below `before`, the last one first."""
        for place in range(bisect_right(self._ends, until) - 1, -1, -1):
            if self._requests[place].order < before:
                yield self._requests[place]

    def between(self, since: float, until: float) -> list[TimedRequest]:
        """Return what ended after `since`, and at `until` or earlier."""
        return self._requests[bisect_right(self._ends, since):bisect_right(self._ends, until)]


NOTHING = Ends(())


@dataclass(frozen=True)
class _Pool:
    """What may have caused something: documents, which do so as they come in, and others, by how `passive` they are."""

    documents: Sequence[TimedRequest]
    active: Ends
    passive: Ends


@dataclass(frozen=True)
class Asker:
    """Who asked for a request: `by` is a document, style sheet or script, `document` the one on whose behalf."""

    by: TimedRequest | None
    document: TimedRequest | None


def dependencies(timeline: Timeline) -> list[Dependencies]:
    """Return what each request waited for, in the order of `timeline.requests`."""
    causes, waits = _Causes(timeline), _Waits(timeline.requests)
    return [Dependencies(causes.of(request), *waits.of(request)) for request in timeline.requests]


def cause_of_load_event(timeline: Timeline) -> Cause:
    """Return what the load event waited for last.

    When it came right after DOMContentLoaded, with no request ending between them, it waited for the parser: for the
    document and its scripts and style sheets, however late the images had come.
    """
    awaited = [request for request in timeline.requests if holds_up_the_load_event(request)
               or (request.redirect_to and not request.unread and not request.of_worker)]
    parsed, everything = timeline.parsed_ms, 1 + len(timeline.requests)
    if parsed is None or parsed < timeline.plt_ms - IDLE_MS or any(
            parsed + CLOCK_MS < request.end <= timeline.plt_ms for request in awaited):
        pool = _pool(awaited, [request for request in awaited if request.kind == DOCUMENT])
        since = busy_since(timeline.plt_ms, timeline.long_tasks, (pool.active, pool.passive))
        return _latest(timeline.plt_ms, since, pool, everything,
                       passive_ms=0.0 if since == timeline.plt_ms else PASSIVE_MS)  # all hold the event up alike
    documents = own_documents(timeline.requests)
    orders = {document.order for document in documents}
    parts = [request for request, asker in zip(timeline.requests, askers(timeline.requests), strict=True)
             if (request.kind in (SCRIPT, STYLE) or request.synchronous)
             and (asker.document is None or asker.document.order in orders)
             and (holds_up_the_load_event(request) or request.redirect_to)]
    pool = _pool(parts, documents)
    return _latest(parsed, busy_since(parsed, timeline.long_tasks, (pool.active,)), pool, everything)


def holds_up_the_load_event(request: TimedRequest) -> bool:
    """Tell whether it does: data that scripts fetch does not (HTML, "the end"), unless a page's thread waits for it.

    What a worker is made of, or waits for, does not either.
    """
    return not request.of_worker and ((request.kind != DATA and not request.unread) or request.synchronous)


def busy_since(at: float, long_tasks: Sequence[tuple[float, float]], ends: Iterable[Ends]) -> float:
    """Return when the main thread began the work it was doing, or had just done, at `at`; `at` if it was idle.

    `ends` are of what may be waited for: work that was over before one of them is not.
    """
    for start, end in reversed(long_tasks[:bisect_left(long_tasks, (at, 0.0))]):
        if end + IDLE_MS < at:
            break
        if start < at and not any(each.between(end + CLOCK_MS, at + CLOCK_MS) for each in ends):
            at = start
    return at


def askers(requests: Sequence[TimedRequest]) -> list[Asker]:
    """Return who asked for each request, as Chrome says, or else the Referer; without either it was the page."""
    known: dict[str, TimedRequest] = {}         # documents, style sheets and scripts, and documents by their origin
    redirects: dict[str, list[str]] = defaultdict(list)
    found: list[Asker] = []
    page: TimedRequest | None = None
    for request in requests:
        said = request.initiator.by if request.initiator else ""
        by = known.get(without_fragment(said)) or known.get(request.referer) or page
        found.append(Asker(by, by if by is None or by.kind == DOCUMENT else found[by.order].document))
        url = without_fragment(request.url)
        if request.redirect_to:
            redirects[without_fragment(request.redirect_to)] += [url, *redirects[url]]
        elif request.kind in (DOCUMENT, STYLE, SCRIPT):
            for name in (url, *redirects.pop(url, ())):         # Chrome names a script by what redirected to it
                known[name] = request
            if request.kind == DOCUMENT:
                known.setdefault("/".join(url.split("/", 3)[:3]) + "/", request)   # Referrer Policy's default
                page = page or request
    return found


class _Causes:
    """Finds what made each request of a load start."""

    def __init__(self, timeline: Timeline) -> None:
        self._tasks = timeline.long_tasks
        self._askers = askers(timeline.requests)
        heard = [request for request in timeline.requests if not request.unread]
        of_documents: dict[int, list[TimedRequest]] = defaultdict(list)
        redirects: dict[str, list[TimedRequest]] = defaultdict(list)
        for request in heard:
            document = self._askers[request.order].document
            if document is not None:
                of_documents[document.order].append(request)
        for request in timeline.requests:
            redirects[request.redirect_to].append(request)
        self._redirects = {url: Ends(those) for url, those in redirects.items() if url}
        self._pools = {order: _pool(those, ()) for order, those in of_documents.items()}
        self._stops = {order: Ends(filter(stops_the_parser, those)) for order, those in of_documents.items()}

    def of(self, request: TimedRequest) -> Cause:
        """Return what made `request` start: a redirect, who asked for it, or the latest of what may have let it."""
        redirect = self._redirects.get(request.url, NOTHING).last(request.start + CLOCK_MS, request.order)
        if redirect is not None:
            return Cause(redirect, min(redirect.end, request.start))
        asker = self._askers[request.order]
        if asker.by is None or asker.document is None:
            return NAVIGATION
        group = self._pools.get(asker.document.order, _pool((), ()))
        since = busy_since(request.start, self._tasks, (group.active,))
        if asker.by.kind != DOCUMENT and 0 <= since + CLOCK_MS - asker.by.end <= CLOCK_MS + IDLE_MS:
            return Cause(asker.by, min(asker.by.end, since))
        if request.initiator and request.initiator.type == "parser" and asker.by.kind == DOCUMENT:
            stops = self._stops.get(asker.document.order, NOTHING)
            cause = _latest(request.start, since, _Pool([asker.document], stops, NOTHING), request.order)
            if since - cause.at <= IDLE_MS:
                return cause
        return _latest(request.start, since, _Pool([asker.document], group.active, group.passive), request.order)


def _pool(requests: Iterable[TimedRequest], documents: Sequence[TimedRequest]) -> _Pool:
    """Return `documents` and what else of `requests` may cause something. Other documents are frames, which say that
    they have loaded, as images do.
    """
    others = [request for request in requests if request not in documents]
    return _Pool(documents, Ends(request for request in others if request.kind not in (*PASSIVE, DOCUMENT)),
                 Ends(request for request in others if request.kind in (*PASSIVE, DOCUMENT)))


def stops_the_parser(request: TimedRequest) -> bool:
    """Tell whether a document's parser stops for `request`; where Chrome did not say it, scripts and sheets may."""
    if request.initiator is None:
        return request.kind in (SCRIPT, STYLE) or request.synchronous
    return request.initiator.blocking or request.synchronous


def _latest(at: float, since: float, pool: _Pool, before: int, *, passive_ms: float = PASSIVE_MS) -> Cause:
    """Return the likely cause in `pool` of what happened at `at`, after work that had begun `since`."""
    until = since + CLOCK_MS
    found: list[tuple[float, int, TimedRequest, float]] = []       # by age
    for document in pool.documents:
        arrived = document.end if document.redirect_to else min(document.end, since)
        if document.order < before and arrived <= until and (
                document.sent if document.hinted else document.head) <= until:
            streams_ms = COINCIDENCE_MS if document.end > until else 0.0
            found.append((since - arrived + streams_ms, -document.order, document, arrived))
    for ends, unlikely_ms in ((pool.active, 0.0), (pool.passive, passive_ms)):
        if last := ends.last(until, before):
            found.append((since - last.end + unlikely_ms, -last.order, last, last.end))
    if not found:
        return NAVIGATION
    _, _, request, arrived = min(found)
    return Cause(request, min(arrived, at))


def _end(request: TimedRequest) -> float:
    return request.end


class _Waits:
    """Finds the requests that had to end, or on a shared connection to connect, before another was sent."""

    def __init__(self, requests: Sequence[TimedRequest]) -> None:
        self._sent = Ends(request for request in requests if request.connection)
        self._makers: dict[str, TimedRequest] = {}
        by_url: dict[str, list[TimedRequest]] = defaultdict(list)
        for request in requests:
            if request.connection:
                by_url[without_fragment(request.url)].append(request)
                if request.first:
                    self._makers.setdefault(request.connection, request)
        self._by_url = {url: Ends(those) for url, those in by_url.items()}

    def of(self, request: TimedRequest) -> tuple[TimedRequest | None, float]:
        """Return which request `request` waited for, None for none, and when that let it go on."""
        if not request.connection:
            return self._fetching(request), request.dispatched
        if request.shared:
            is_late = request.dispatched - request.connected >= FREED_MS    # as many streams as the server allows, say
            ended = [other for other in self._ended_before(request, request.connected)
                     if other.connection == request.connection] if is_late else []
            if ended:
                return max(ended, key=_end), request.dispatched
            maker = self._makers.get(request.connection)
            return maker if maker and maker.order < request.order else None, request.connected
        if request.dispatched - request.start < QUEUE_MS:
            return None, request.dispatched
        ended = self._ended_before(request, request.start)
        same_connection = [other for other in ended if other.connection == request.connection]
        same_host = [other for other in ended if other.host == request.host]
        return max(same_connection or same_host or ended, key=_end, default=None), request.dispatched

    def _fetching(self, request: TimedRequest) -> TimedRequest | None:
        """Return the request that was fetching what `request` got from Chrome's cache, if it had to be waited for.

        Two frames that name one script ask for it at once; the second gets what the first one's answer puts into the
        cache.
        """
        fetching = self._by_url.get(without_fragment(request.url), NOTHING)
        last = fetching.last(request.dispatched + CLOCK_MS, request.order)
        return last if last and last.end > request.start else None

    def _ended_before(self, request: TimedRequest, since: float) -> list[TimedRequest]:
        """Return the requests that ended after `since`, shortly before `request` was dispatched, in that order."""
        return [other for other in self._sent.between(max(since, request.dispatched - FREED_MS - 1e-9),
                                                      request.dispatched + CLOCK_MS) if other.order < request.order]
