"""A page's shape from two loads of it: one without delay and one over a round trip of some 100 ms.

Chrome says of the second one who asked for each request, and where in a document it stands; what a request waited for
tells its graph (harness.analysis.causes). What stands in a document's text is a tag. What a script asked for as it ran
is its own. What it asked for later was caused by an event, and by which, the two loads tell: the distance from it is
the most alike in both. The load without delay says how long the page worked between a cause and its effect: there
hardly anything else takes time.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import accumulate, islice
from pathlib import Path
from types import MappingProxyType
from urllib.parse import urlsplit

from harness.analysis.asked_for import DATA, DOCUMENT, SCRIPT, STYLE
from harness.analysis.causes import CLOCK_MS, PASSIVE, Ends, askers, cause_of_load_event, dependencies
from harness.analysis.timeline import TimedRequest, Timeline
from harness.files.encoding import decode
from harness.files.headers import header_in
from harness.files.load_parts import Initiator
from harness.files.urls import without_fragment
from harness.mirror.recording import Recording
from harness.synthetic.shape import (
    EVENT,
    INLINE,
    PARSED,
    PRIORITIES,
    TAG,
    PageShape,
    Resource,
    followed,
    path_of,
    resource_of,
)
from harness.system.untrusted import read_untrusted

LONG_MS = 50.0
"""Longer work shows as a long task (W3C Long Tasks); a longer distance without one is waiting for a timer."""
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
NEARBY = 4000
"""How many characters before and after the place that Chrome names a tag's address may stand."""
MOST_EVENTS = 64
"""Of so many requests that ended before another it is asked whether they caused it."""
NEVER = float("inf")


@dataclass(frozen=True)
class _Found:
    """How a request was found (see Resource): by which `way`, after what, where in it, and how long after it without
    delay; `at_once`, that a script worked for so long, and set no timer.
    """

    way: str
    parent: TimedRequest
    offset: int = 0
    near_ms: float = 0.0
    at_once: bool = False


def document_texts(load: Timeline, recording: Recording, mirror: Path) -> dict[str, str]:
    """Return the text of each document of a load, a character a byte: where it came compressed, as Chrome decoded it.

    Chrome names a place in a document by line and column of that.
    """
    found: dict[str, str] = {}
    for url in (without_fragment(request.url) for request in load.requests if request.kind == DOCUMENT):
        for answer in recording.exact_url(url)[:1]:
            if answer.file is not None:
                encoding = header_in(answer.headers or (), "content-encoding")
                body, is_decoded = decode(read_untrusted(mirror / answer.file), encoding)
                found |= {url: body.decode("latin-1")} if is_decoded else {}
    return found


def make_shape(url: str, month: str, near: Timeline, far: Timeline, *, texts: Mapping[str, str] = MappingProxyType({}),
               loading_ms: float | None = None, http2_hosts: Collection[str] = ()) -> PageShape:
    """Return the shape of the page `url` from its load without delay, `near`, and the one over a round trip, `far`.

    The resources are the requests of `far` that were answered. What else is known of `far`: its documents' `texts` by
    URL, when, in ms, its load event began; and which hosts spoke HTTP/2 when they were recorded. Raises ValueError when
    the page itself was not answered.
    """
    seen = sorted((request for request in far.requests if request.status),
                  key=lambda request: (request.start_ms, request.order))
    if not seen or seen[0].kind != DOCUMENT or all(request.redirect_to for request in seen):
        raise ValueError("the page's document was not answered first")
    loads = _Loads(near, far, texts)
    numbers = {request.order: number for number, request in enumerate(seen)}
    redirected_to = followed((request.url, request.redirect_to) for request in seen)
    resources = []
    for number, request in enumerate(seen):
        said, synchronous = request.initiator or Initiator("", ""), _is_synchronous(request)
        resource = resource_of(
            request.url, request.mime_type, index=number, redirect_to=redirected_to.get(number),
            size_bytes=request.body_bytes, start_ms=round(request.start_ms), end_ms=round(request.end_ms),
            kind=DATA if synchronous else request.kind,
            after_load=_is_after_load(request, far.plt_ms, loading_ms),
            blocking=synchronous or (request.kind == SCRIPT and said.blocking))
        if said.priority in PRIORITIES:
            resource = replace(resource, priority=said.priority, seen=said.seen)
        if number:
            found = loads.find(request)
            resource = _caused(resource, found, numbers.get(found.parent.order, 0), loads.twin(request), near)
        resources.append(resource)
    secure = {resource.host for resource in resources if resource.scheme == "https"}
    last_work_ms = max(0, round(near.plt_ms - cause_of_load_event(near).at_ms))       # from what that event waited for
    return PageShape(url, month, resources, last_work_ms, frozenset(secure & {*http2_hosts}))


class _Loads:
    """Both loads of a page, in which it is looked up how each request was found. `texts` are the documents' by URL."""

    def __init__(self, near: Timeline, far: Timeline, texts: Mapping[str, str]) -> None:
        self._parsed_ms = far.parsed_ms, near.parsed_ms
        self._texts = texts
        self._lines = {url: [0, *accumulate(len(line) + 1 for line in text.split("\n"))] for url, text in texts.items()}
        self._askers, self._graph = askers(far.requests), dependencies(far)
        twins = dict(zip(_counted(near.requests), near.requests, strict=True))
        self._twins = [twins.get(key) for key in _counted(far.requests)]
        answered = [request for request in far.requests if request.status]
        self._documents = [request for request in answered if request.kind == DOCUMENT and not request.redirect_to]
        self._ends = Ends(request for request in answered if not (request.redirect_to or request.unread))
        led_to = {without_fragment(request.redirect_to) for request in answered if request.redirect_to}
        self._places = Counter(_place(request) for request in answered if without_fragment(request.url) not in led_to)
        self._asked: dict[int, list[tuple[float, _Place]]] = defaultdict(list)     # by scripts, of each document
        for request in answered:
            document, twin, place = self._askers[request.order].document, self.twin(request), self._script(request)
            if document is not None and twin is not None and place is not None:
                self._asked[document.order].append((twin.start_ms, place))
        for asked in self._asked.values():
            asked.sort()
        self._batches: dict[_Place, tuple[TimedRequest, _Found]] = {}

    def twin(self, request: TimedRequest) -> TimedRequest | None:
        """Return the same request in the load without delay; None where it was not made there."""
        return self._twins[request.order]

    def find(self, request: TimedRequest) -> _Found:
        """Return how a request other than the page's own was found; ask for them in their order."""
        place = _place(request)
        if place is None:
            return self._find(request)
        before, found = self._batches.get(place, (None, None))
        if before is None or found is None or found.way == TAG or request.start_ms - before.start_ms > BATCH_MS:
            found = self._find(request)
        elif not found.at_once and (near := self.twin(request)) and (near_before := self.twin(before)):
            found = replace(found, near_ms=max(0.0, found.near_ms + near.start_ms - near_before.start_ms))
        self._batches[place] = request, found
        return found

    def _find(self, request: TimedRequest) -> _Found:
        """Return how a request was found: as Chrome says, unless it waited for something else than who asked for it."""
        said, asker, cause = request.initiator, self._askers[request.order], self._graph[request.order].cause.request
        by = asker.by
        if said is None or not said.by or said.type not in ("parser", "script") or by is None:
            return self._event(request)
        if said.type == "parser" and by.kind == DOCUMENT and self._is_tag(request, by):
            return _Found(TAG, by, self._offset(by, said))
        of_the_parser = cause is not None and (cause is asker.document or (
            stops_the_parser(cause) and self._askers[cause.order].document is asker.document))
        is_parsed = by is self._documents[0] and request.start_ms > (self._parsed_ms[0] or NEVER) + CLOCK_MS
        if is_parsed or (cause is not by and not (of_the_parser and (by.kind != SCRIPT or stops_the_parser(by)))):
            return self._event(request, by)
        if by.kind == STYLE:
            return _Found(EVENT, by)
        worked_ms = self._worked_ms(request, [by, *([cause] if cause else [])])
        if by.kind == DOCUMENT:
            return _Found(INLINE, by, self._offset(by, said), worked_ms, at_once=True)
        return _Found(EVENT, by, 0, worked_ms, at_once=True)

    def _offset(self, document: TimedRequest, said: Initiator) -> int:
        """Return how many bytes of a document had come with a place in its text: fewer where it was compressed."""
        lines = self._lines.get(without_fragment(document.url), [0])
        offset = lines[min(said.line, len(lines) - 1)] + (said.column if said.line < len(lines) - 1 else 0)
        text_bytes = lines[-1] - 1
        return round(offset * document.body_bytes / text_bytes) if 0 < document.body_bytes < text_bytes else offset

    def _is_tag(self, request: TimedRequest, document: TimedRequest) -> bool:
        """Tell whether a request's address stands in a document's text, in whatever form, where Chrome says.

        An image that a script makes is asked for a little later, and Chrome only knows where the parser stands by then:
        several requests have one place.
        """
        place = _place(request)
        text = self._texts.get(without_fragment(document.url))
        if place is None or self._places[place] > 1:
            return False
        if text is None:
            return True
        lines, path = self._lines[without_fragment(document.url)], path_of(request.url)
        at = lines[min(place[1], len(lines) - 1)] + place[2]
        name = path if len(path) > 1 else f"//{urlsplit(request.url).netloc}"
        around = text[max(0, at - NEARBY):at + NEARBY]
        return name in around or escape(name) in around

    def _script(self, request: TimedRequest) -> "_Place | None":
        """Return what names the script that asked for a request: its file, or the place in its document."""
        place, by = _place(request), self._askers[request.order].by
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

    def _event(self, request: TimedRequest, by: TimedRequest | None = None) -> _Found:
        """Return the event from which the distance is the most alike in both loads."""
        near, root = self.twin(request), self._documents[0]
        best, least = _Found(EVENT, root), NEVER
        for other in (*self._documents, *islice(self._ends.latest(request.start_ms + CLOCK_MS, request.order),
                                                MOST_EVENTS)):
            distances = [request.start_ms - _arrived(other, request.start_ms)]
            if near and (twin := self.twin(other)):
                distances.append(near.start_ms - _arrived(twin, near.start_ms))
            if other.order >= request.order or min(distances) < -CLOCK_MS:
                continue
            differ_ms = max(distances) - min(distances) if len(distances) > 1 else 2 * UNLIKELY_MS
            score = differ_ms + FAR_OFF * max(0.0, distances[-1])
            score += UNLIKELY_MS if other.kind in PASSIVE and other is not by else 0.0
            if score < least:
                best, least = _Found(EVENT, other, 0, max(0.0, distances[-1])), score
        far_parsed, near_parsed = self._parsed_ms
        if far_parsed is not None and near_parsed is not None and near is not None:
            distances = [request.start_ms - far_parsed, near.start_ms - near_parsed]
            score = abs(distances[0] - distances[1]) + FAR_OFF * max(0.0, distances[1]) - LIKELY_MS
            if min(distances) >= -EARLY_MS and score < least:
                best = _Found(PARSED, root, 0, max(0.0, distances[1]))
        return best


_Place = tuple[str, int, int]
"""Where a request stands, as Chrome says: the URL of a document, style sheet or script, line and column."""


def _place(request: TimedRequest) -> _Place | None:
    said = request.initiator
    return (said.by, said.line, said.column) if said is not None and said.by else None


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


def _is_synchronous(request: TimedRequest) -> bool:
    return request.initiator.synchronous if request.initiator else request.synchronous


def _is_after_load(request: TimedRequest, plt_ms: float, loading_ms: float | None) -> bool:
    """Tell whether a request was made in the load event or later: but for data, what ended later did not delay it."""
    if request.start_ms >= (plt_ms if loading_ms is None else loading_ms) - CLOCK_MS:
        return True
    return request.kind != DATA and request.end_ms > plt_ms + CLOCK_MS


def _caused(resource: Resource, found: _Found, parent: int, effect: TimedRequest | None, near: Timeline) -> Resource:
    """Add what caused a resource, and how long the page worked and waited in between."""
    if parent >= resource.index:
        return replace(resource, parent=0, way=EVENT)
    work_ms, idle_ms = round(found.near_ms), 0
    if not found.at_once:
        work_ms, idle_ms = _between(found.near_ms, effect, near, resource.after_load)
    return replace(resource, parent=parent, way=found.way, offset=found.offset, work_ms=work_ms, idle_ms=idle_ms)


def _between(distance_ms: float, effect: TimedRequest | None, near: Timeline, after_load: bool) -> tuple[int, int]:
    """Return for how long the page worked, and waited, in the time before its effect without delay; whole ms.

    What came `after_load` waited for the load event, too.
    """
    if effect is None:
        return 0, 0
    if after_load:
        distance_ms = min(distance_ms, max(0.0, effect.start_ms - near.plt_ms))
    if distance_ms <= LONG_MS:
        return round(distance_ms), 0
    since_ms = effect.start_ms - distance_ms
    worked = sum(max(0.0, min(end, effect.start_ms) - max(start, since_ms)) for start, end in near.long_tasks)
    return round(worked), round(distance_ms - worked)
