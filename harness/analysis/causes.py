"""What each request of a load waited for before it could start: the load's dependency graph.

Chrome says who asked for a request (DevTools' initiator: a tag in a document, a style sheet, a script). It says so of
run 0, which never counts, and a request of another load is known by its URL. Where Chrome says nothing ("other", or a
load without a warm-up) the Referer names the document, style sheet or script.

1. A redirect is caused by the answer that redirects to it.
2. What a script or a style sheet asked for right after it had come was caused by it.
3. All else had waited for an event: for the document's next bytes, for what its parser stops for, for a timer, for
   data. Of the document (from when it was asked for: what hints, a 103, name comes before its first byte) and the
   scripts, style sheets and data asked for on its behalf, the cause is what ended last before the request. An
   image or a font rarely is one: it counts as PASSIVE_MS older. Nothing on the page hears of a beacon's answer.
4. When the main thread was busy with a long task (Long Tasks API), a cause came before that task began. It was not
   busy, but stood still, while it waited for a synchronous request.

The net-log says the rest: which connection a request was sent on, and when others had left it.

The load event waits for every request of the page but data that no thread waited for, so its cause is the one that
ended last.

Each rule is here since predictions are worse without it (tests/corpus/clients: 15 rows, off by 3.0% on average). Rules
for what a parser stops for, for work that ended before a cause did, for documents that end by chance, for streams that
wait for others and for what the cache was still fetching changed none of them.

What cannot be known: a timer from work of a script, and a cause from a request that only ended then by chance.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from harness.analysis.asked_for import DATA, DOCUMENT, FONT, IMAGE, SCRIPT, STYLE
from harness.analysis.timeline import TimedRequest, Timeline
from harness.files.urls import without_fragment

CLOCK_MS = 2.0
"""Two times of a HAR are each rounded to 1 ms, so what differs by less may be in either order."""
QUEUE_MS = 4.0
"""A request that Chrome handles at once is dispatched within this time; one that takes longer waited for something."""
IDLE_MS = 20.0
"""What happens within this time after a long task, or after its script has come, is taken for its effect."""
FREED_MS = 20.0
"""How long after the end of one request another takes the place it left, at most."""
PASSIVE = (IMAGE, FONT)
PASSIVE_MS = 100.0
"""How much older they count than they are, as causes. Found on the paper's pages: a script's work lasts that long, and
meanwhile some image ends."""


class Cause(NamedTuple):
    """`request` at the time `at_ms` (its end, or earlier while it came in) set something off. None: the navigation."""

    request: TimedRequest | None
    at_ms: float


NAVIGATION = Cause(None, 0.0)


class Dependencies(NamedTuple):
    """What one request waited for, all of it earlier in Timeline.requests.

    `cause` made it start. `freed` is the request whose end let it leave the queue, or, where the connection was made by
    another request, that one; None when it waited for neither. `freed_at_ms` is when that let it go on.
    """

    cause: Cause
    freed: TimedRequest | None
    freed_at_ms: float


class Ends:
    """Requests in the order of their ends. Asked for the last of them it looks at few, however many there are."""

    def __init__(self, requests: Iterable[TimedRequest]) -> None:
        self._requests = sorted(requests, key=lambda request: (request.end_ms, request.order))
        self._ends = [request.end_ms for request in self._requests]

    def latest(self, until_ms: float, before: int) -> Iterator[TimedRequest]:
        """Give what ended at `until_ms` or earlier, of those whose order is below `before`, the last one first."""
        places = range(bisect_right(self._ends, until_ms) - 1, -1, -1)
        return (self._requests[place] for place in places if self._requests[place].order < before)

    def last(self, until_ms: float, before: int) -> TimedRequest | None:
        """Return the first of these, None for none."""
        return next(self.latest(until_ms, before), None)

    def between(self, since_ms: float, until_ms: float) -> list[TimedRequest]:
        """Return what ended after `since_ms`, and at `until_ms` or earlier."""
        return self._requests[bisect_right(self._ends, since_ms):bisect_right(self._ends, until_ms)]


NOTHING = Ends(())


class Asker(NamedTuple):
    """Who asked for a request: `by` is a document, style sheet or script, `document` the one on whose behalf."""

    by: TimedRequest | None
    document: TimedRequest | None


def dependencies(timeline: Timeline) -> list[Dependencies]:
    """Return what each request waited for, in the order of `timeline.requests`."""
    cause_of, waits = _Causes(timeline).of, _Waits(timeline.requests)
    return [Dependencies(cause_of(request), *waits.of(request)) for request in timeline.requests]


def cause_of_load_event(timeline: Timeline) -> Cause:
    """Return what the load event waited for last.

    When it came right after DOMContentLoaded, with no request ending between them, it waited for the parser: for
    documents, scripts and style sheets, however late the images had come.
    """
    awaited = Ends(request for request in timeline.requests if holds_up_the_load_event(request)
                   or (request.redirect_to and not request.unread and not request.of_worker))
    at_ms, parsed_ms = timeline.plt_ms, timeline.parsed_ms
    if parsed_ms is not None and at_ms - IDLE_MS <= parsed_ms <= at_ms and not awaited.between(
            parsed_ms + CLOCK_MS, at_ms):
        at_ms, awaited = parsed_ms, Ends(each for each in timeline.requests if holds_up_the_load_event(each) and (
            each.kind in (DOCUMENT, SCRIPT, STYLE) or each.synchronous))
    since_ms = busy_since(at_ms, timeline.long_tasks)
    last = awaited.last(since_ms + CLOCK_MS, 1 + len(timeline.requests))
    return Cause(last, min(last.end_ms, since_ms)) if last else NAVIGATION


def holds_up_the_load_event(request: TimedRequest) -> bool:
    """Tell whether it does: data that scripts fetch does not (HTML, "the end"), unless a page's thread waits for it.

    What a worker is made of, or waits for, does not either.
    """
    return not request.of_worker and ((request.kind != DATA and not request.unread) or request.synchronous)


def busy_since(at_ms: float, long_tasks: Sequence[tuple[float, float]]) -> float:
    """Return when the main thread began the work it was doing, or had just done, at `at_ms`; that if it was idle."""
    for start, end in reversed(long_tasks[:bisect_left(long_tasks, (at_ms, 0.0))]):
        if end + IDLE_MS < at_ms:
            break
        at_ms = min(at_ms, start)
    return at_ms


def askers(requests: Sequence[TimedRequest]) -> list[Asker]:
    """Return who asked for each request, as Chrome says, or else the Referer; without either it was the page."""
    known: dict[str, TimedRequest] = {}         # documents, style sheets and scripts
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
                page = page or request
    return found


class _Causes:
    """Finds what made each request of a load start."""

    def __init__(self, timeline: Timeline) -> None:
        self._tasks, self._askers = timeline.long_tasks, askers(timeline.requests)
        pools: dict[object, list[TimedRequest]] = defaultdict(list)
        for request, (_, document) in zip(timeline.requests, self._askers, strict=True):
            if document is not None and not request.unread:     # documents are frames: they say that they loaded
                pools[document.order, request.kind in (*PASSIVE, DOCUMENT)].append(request)
            pools[request.redirect_to].append(request)
        self._pools = {key: Ends(those) for key, those in pools.items() if key}

    def of(self, request: TimedRequest) -> Cause:
        """Return what made `request` start: a redirect, who asked for it, or the latest of what may have let it."""
        redirect = self._pools.get(request.url, NOTHING).last(request.start_ms + CLOCK_MS, request.order)
        if redirect is not None:
            return Cause(redirect, min(redirect.end_ms, request.start_ms))
        by, document = self._askers[request.order]
        if by is None or document is None:
            return NAVIGATION
        causes, passive = (self._pools.get((document.order, is_passive), NOTHING) for is_passive in (False, True))
        since = busy_since(request.start_ms, self._tasks)
        until = since + CLOCK_MS
        if by.kind != DOCUMENT and 0 <= until - by.end_ms <= CLOCK_MS + IDLE_MS:
            return Cause(by, min(by.end_ms, since))
        found = [(last.end_ms - older_ms, last.order, last, last.end_ms) for ends, older_ms in (
            (causes, 0.0), (passive, PASSIVE_MS)) if (last := ends.last(until, request.order))]
        arrived = document.end_ms if document.redirect_to else min(document.end_ms, since)
        if arrived <= until and document.sent_ms <= until:     # what comes before its first byte, hints (a 103) named
            found.append((arrived, document.order, document, arrived))
        if not found:
            return NAVIGATION
        _, _, cause, at = max(found)
        return Cause(cause, min(at, request.start_ms))


class _Waits:
    """Finds the requests that had to end, or on a shared connection to connect, before another was sent."""

    def __init__(self, requests: Sequence[TimedRequest]) -> None:
        self._sent = Ends(request for request in requests if request.connection)
        self._makers = {request.connection: request for request in reversed(requests) if request.first}

    def of(self, request: TimedRequest) -> tuple[TimedRequest | None, float]:
        """Return which request `request` waited for, None for none, and when that let it go on."""
        if request.shared:
            maker = self._makers.get(request.connection)
            return maker if maker and maker.order < request.order else None, request.connected_ms
        found: list[TimedRequest] = []
        if request.connection and request.dispatched_ms - request.start_ms >= QUEUE_MS:
            found = [other for other in self._sent.between(
                max(request.start_ms, request.dispatched_ms - FREED_MS - 1e-9), request.dispatched_ms + CLOCK_MS)
                if other.order < request.order]
            found = [other for other in found if other.host == request.host] or found
        return max(found, key=lambda other: other.end_ms, default=None), request.dispatched_ms
