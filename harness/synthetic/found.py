"""How each request of a page was found: Chrome's word for it where it holds, else the event that fits both loads best.

What stands in a document's text is a tag. What a script asked for as it ran is its own. What it asked for later was
caused by an event, and by which, the two loads tell: the distance from it is the most alike in both. The load without
delay says how long the page worked between a cause and its effect: there hardly anything else takes time.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import inf

from harness.analysis.asked_for import DOCUMENT, SCRIPT, STYLE
from harness.analysis.causes import CLOCK_MS, PASSIVE, Ends, askers, dependencies
from harness.analysis.timeline import TimedRequest, Timeline
from harness.files.urls import without_fragment
from harness.synthetic.places import Place, Texts, place_of
from harness.synthetic.shape import EVENT, INLINE, PARSED, TAG

UNLIKELY_MS = 20.0
"""Hardly ever does an image cause anything."""
FAR_OFF = 0.25
"""What part of its distance from the effect counts against a cause, beside the difference between the loads."""
EARLY_MS = 100.0
"""What the page's own listeners ask for once it is parsed comes before these have ended, but hardly by more."""
LIKELY_MS = 30.0
"""Scripts wait for the document to be parsed more often than for anything else."""
BATCH_MS = 50.0
"""What one place asks for within this time, it asks for in one go."""
MOST_EVENTS = 64
"""Of so many requests that ended before another it is asked whether they caused it."""


@dataclass(frozen=True)
class Found:
    """How a request was found (see Resource): by which `way`, after what, where in it, and how long after it without
    delay; `at_once`, that a script worked for so long, and set no timer.
    """

    way: str
    parent: TimedRequest
    offset: int = 0
    near_ms: float = 0.0
    at_once: bool = False


class Loads:
    """Both loads of a page, in which it is looked up how each request was found. `texts` are the documents' by URL."""

    def __init__(self, near: Timeline, far: Timeline, texts: Mapping[str, str]) -> None:
        self._parsed_ms = far.parsed_ms, near.parsed_ms
        self._askers, self._graph = askers(far.requests), dependencies(far)
        twins = dict(zip(_counted(near.requests), near.requests, strict=True))
        self._twins = [twins.get(key) for key in _counted(far.requests)]
        answered = [request for request in far.requests if request.status]
        self._texts = Texts(texts, answered)
        self._documents = [request for request in answered if request.kind == DOCUMENT and not request.redirect_to]
        self._ends = Ends(request for request in answered if not (request.redirect_to or request.unread))
        self._asked: dict[int, list[tuple[float, Place]]] = defaultdict(list)     # by scripts, of each document
        for request in answered:
            document, twin, place = self._askers[request.order].document, self.twin(request), self._script(request)
            if document is not None and twin is not None and place is not None:
                self._asked[document.order].append((twin.start_ms, place))
        for asked in self._asked.values():
            asked.sort()
        self._batches: dict[Place, tuple[TimedRequest, Found]] = {}

    def twin(self, request: TimedRequest) -> TimedRequest | None:
        """Return the same request in the load without delay; None where it was not made there."""
        return self._twins[request.order]

    def find(self, request: TimedRequest) -> Found:
        """Return how a request other than the page's own was found; ask for them in their order."""
        place = place_of(request)
        if place is None:
            return self._event(request)
        before, found = self._batches.get(place, (None, None))
        if before is None or found is None or found.way == TAG or request.start_ms - before.start_ms > BATCH_MS:
            found = self._find(request)
        elif not found.at_once and (near := self.twin(request)) and (near_before := self.twin(before)):
            found = replace(found, near_ms=max(0.0, found.near_ms + near.start_ms - near_before.start_ms))
        self._batches[place] = request, found
        return found

    def _find(self, request: TimedRequest) -> Found:
        """Return how a request was found: as Chrome says, unless it waited for something else than who asked for it."""
        said, (by, document) = request.initiator, self._askers[request.order]
        cause = self._graph[request.order].cause.request
        if said is None or said.type not in ("parser", "script") or by is None:
            return self._event(request)
        if said.type == "parser" and by.kind == DOCUMENT and self._texts.has_tag(request, by):
            return Found(TAG, by, self._texts.offset(request, by))
        of_the_parser = cause is not None and (cause is document or (
            stops_the_parser(cause) and self._askers[cause.order].document is document))
        is_parsed = by is self._documents[0] and request.start_ms > (self._parsed_ms[0] or inf) + CLOCK_MS
        if is_parsed or (cause is not by and not (of_the_parser and (by.kind != SCRIPT or stops_the_parser(by)))):
            return self._event(request, by)
        if by.kind == STYLE:
            return Found(EVENT, by)
        worked_ms = self._worked_ms(request, [by, *([cause] if cause else [])])
        if by.kind == DOCUMENT:
            return Found(INLINE, by, self._texts.offset(request, by), worked_ms, at_once=True)
        return Found(EVENT, by, 0, worked_ms, at_once=True)

    def _script(self, request: TimedRequest) -> Place | None:
        """Return what names the script that asked for a request: its file, or the place in its document."""
        place, by = place_of(request), self._askers[request.order].by
        if place is None or request.initiator is None or request.initiator.type != "script" or by is None:
            return None
        return place if by.kind == DOCUMENT else (place[0], 0, 0)

    def _worked_ms(self, request: TimedRequest, awaited: Sequence[TimedRequest]) -> float:
        """Return how long the page worked, without delay, before a script asked for `request`.

        That is since it could run, or since another of the document's scripts had asked for something.
        """
        near, document = self.twin(request), self._askers[request.order].document
        if near is None or document is None:
            return 0.0
        since = max([_arrived(twin, near.start_ms) for other in awaited if (twin := self.twin(other))],
                    default=near.start_ms)
        asked, own = self._asked[document.order], self._script(request)
        before = bisect_left(asked, (near.start_ms, ("", 0, 0)))
        others = (start for start, place in reversed(asked[:before]) if place != own)
        return max(0.0, near.start_ms - max(since, next(others, 0.0)))

    def _event(self, request: TimedRequest, by: TimedRequest | None = None) -> Found:
        """Return the event from which the distance is the most alike in both loads."""
        near, root = self.twin(request), self._documents[0]
        found = [(inf, Found(EVENT, root))]
        for other in (*self._documents, *islice(self._ends.latest(request.start_ms + CLOCK_MS, request.order),
                                                MOST_EVENTS)):
            distances = [request.start_ms - _arrived(other, request.start_ms)]
            if near and (twin := self.twin(other)):
                distances.append(near.start_ms - _arrived(twin, near.start_ms))
            if other.order < request.order and min(distances) >= -CLOCK_MS:
                differ_ms = max(distances) - min(distances) if len(distances) > 1 else 2 * UNLIKELY_MS
                unlikely_ms = UNLIKELY_MS if other.kind in PASSIVE and other is not by else 0.0
                near_ms = max(0.0, distances[-1])
                found.append((differ_ms + FAR_OFF * near_ms + unlikely_ms, Found(EVENT, other, 0, near_ms)))
        far_parsed, near_parsed = self._parsed_ms
        if far_parsed is not None and near_parsed is not None and near is not None:
            far_ms, near_ms = request.start_ms - far_parsed, near.start_ms - near_parsed
            if min(far_ms, near_ms) >= -EARLY_MS:
                score = abs(far_ms - near_ms) + FAR_OFF * max(0.0, near_ms) - LIKELY_MS
                found.append((score, Found(PARSED, root, 0, max(0.0, near_ms))))
        return min(found, key=lambda each: each[0])[1]


def _counted(requests: Sequence[TimedRequest]) -> list[tuple[str, int]]:
    """Return what names a request in both loads: its URL without fragment, and how many times it came before."""
    counted: Counter[str] = Counter()
    keys = []
    for request in requests:
        url = without_fragment(request.url)
        keys.append((url, counted[url]))
        counted[url] += 1
    return keys


def _arrived(cause: TimedRequest, at_ms: float) -> float:
    """Return when what had caused something at `at_ms` had arrived: a document causes it from its first bytes on."""
    return min(cause.end_ms, max(cause.head_ms, at_ms)) if cause.kind == DOCUMENT else cause.end_ms


def stops_the_parser(request: TimedRequest) -> bool:
    """Tell whether a document's parser stops for `request`; where Chrome did not say it, scripts and sheets may."""
    if request.initiator is None:
        return request.kind in (SCRIPT, STYLE) or request.synchronous
    return request.initiator.blocking or request.synchronous
