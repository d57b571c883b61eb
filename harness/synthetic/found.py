"""How the requests of a measured page were found: by which means, where in a document, and after which event.

Chrome names the document, style sheet or script that a request stands in (harness.browser.initiators). What stands in
a document's text is a tag: Chrome's scanner finds it before the parser is there. A script that runs as the parser meets
it asks as soon as the parser has come so far, past all scripts before it that it waits for. What is asked for much
later than that was caused by an event; by which, the two loads tell: the distance from it is the most alike in both.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from urllib.parse import urlsplit

from harness.analysis.causes import CLOCK_MS, PASSIVE
from harness.analysis.timeline import DOCUMENT, SCRIPT, STYLE, TimedRequest, Timeline
from harness.files.load_parts import Initiator
from harness.files.urls import without_fragment
from harness.synthetic.shape import EVENT, INLINE, PARSED, TAG

AT_ONCE_MS = 600.0
"""A script that asks for something as it runs does so within this time, since the page may have other work to do."""
BEFORE_RUN_MS = 5 * CLOCK_MS
"""By how much sooner than the script ran it may seem to ask: the net-log's and the page's clocks differ by steps."""
ALIKE_MS = 100.0
"""By how much longer it may then take over a delay: what waits for an answer takes two round trips longer."""
PAINT_MS = 600.0
"""An image of a style sheet is asked for within this time after it and the start of the body, or belongs to an element
that came later."""
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
NEVER = float("inf")


@dataclass(eq=False)
class Seen:
    """A request as both loads saw it; `near` is None if it was not made there. `initiator` is what Chrome says of it.

    `offset` is where in the text of its document (`document`, another request) it was found, None outside of one.
    """

    far: TimedRequest
    near: TimedRequest | None
    initiator: Initiator | None = None
    document: "Seen | None" = None
    offset: int | None = None
    blocking: bool = False
    synchronous: bool = False


@dataclass(frozen=True)
class Found:
    """`way` is TAG or INLINE, at `offset` (bytes) in the document `parent`; EVENT, after the arrival of `parent`; or
    PARSED, once that document was. `near_ms` is how much later it was asked for in the load without delay; `at_once`,
    that a script worked for so long, and set no timer.
    """

    way: str
    parent: Seen
    offset: int
    near_ms: float
    at_once: bool = False


class Finder:
    """Finds how each request was found. `texts` are the documents' texts by URL, as they read once decoded."""

    def __init__(self, seen: Sequence[Seen], near: Timeline, far: Timeline, texts: Mapping[str, str]) -> None:
        self.seen, self.loads = seen, (far, near)
        self.texts = {without_fragment(url): text for url, text in texts.items()}
        self.by_url: dict[str, Seen] = {}
        self.blockers: dict[Seen, list[Seen]] = {}
        self.batches: dict[tuple[str, int, int] | None, tuple[Seen, Found]] = {}
        led_to = {without_fragment(request.far.redirect_to) for request in seen if request.far.redirect_to}
        self.places = Counter((request.initiator.by, request.initiator.line, request.initiator.column)
                              for request in seen
                              if request.initiator and without_fragment(request.far.url) not in led_to)
        for request in seen:
            self._place(request)
            self.by_url.setdefault(without_fragment(request.far.url), request)

    def find(self, request: Seen) -> Found:
        """Return how a request other than the page's own was found; ask for them in their order."""
        found = request.initiator
        stands_at = (found.by, found.line, found.column) if found is not None else None
        before, same = self.batches.get(stands_at, (None, None))
        if before is not None and same is not None and same.way != TAG and before.near and request.near and (
                request.far.start - before.far.start <= BATCH_MS):
            near_ms = max(0.0, same.near_ms + request.near.start - before.near.start)
            how = replace(same, near_ms=same.near_ms if same.at_once else near_ms)
        else:
            how = self._find(request)
        if found is not None and found.by:
            self.batches[stands_at] = request, how
        return how

    def _find(self, request: Seen) -> Found:
        """Return how a request was found, by what Chrome says of its initiator, and by the two loads' times."""
        found = request.initiator
        if found is None or found.type not in ("parser", "script"):
            return self._event(request)
        by = self._named(found)
        if by is None or by is request:
            return self._event(request)
        if found.type == "parser" and by.far.kind == DOCUMENT and self._is_tag(request, by, found):
            return Found(TAG, by, self._as_it_came(by, request.offset or 0), 0.0)
        if by.far.kind == STYLE:
            if request.far.start - max(by.far.end, self._body_at(by.document or self._root(), request)) < PAINT_MS:
                return Found(EVENT, by, 0, 0.0)
            return self._event(request)
        distances = [self._since_run(request, by, load) for load in (0, 1)]
        if all(-BEFORE_RUN_MS <= distance <= AT_ONCE_MS for distance in distances) and (
                request.near is None or distances[0] - distances[1] <= ALIKE_MS):
            near_ms = self._work(request, by, min(distances))
            if by.far.kind == DOCUMENT:
                return Found(INLINE, by, self._as_it_came(by, request.offset or 0), near_ms, at_once=True)
            return Found(EVENT, by, 0, near_ms, at_once=True)
        return self._event(request, by)

    def _root(self) -> Seen:
        return next(request for request in self.seen if request.far.kind == DOCUMENT and not request.far.redirect_to)

    def _named(self, found: Initiator) -> Seen | None:
        """Return what Chrome says to have asked; it calls a script by the URL that redirected to it."""
        passed: list[Seen] = []
        by = self.by_url.get(without_fragment(found.by))
        while by is not None and by.far.redirect_to and by not in passed:
            passed.append(by)
            by = self.by_url.get(without_fragment(by.far.redirect_to), by)
        return by

    def _place(self, request: Seen) -> None:
        """Find out where in a document a request stands, and whether the parser waits for it."""
        found = request.initiator
        by = self._named(found) if found is not None else None
        if found is None or by is None:
            return
        if by.far.kind == DOCUMENT:
            request.document, request.offset = by, self._offset(by, found)
        elif by.far.kind == SCRIPT and by.blocking:
            request.document, request.offset = by.document, by.offset
        request.synchronous = found.synchronous
        if request.document is not None and found.blocking and not found.synchronous:
            request.blocking = request.far.kind == SCRIPT
            if request.blocking or found.type == "parser":
                self.blockers.setdefault(request.document, []).append(request)

    def _offset(self, document: Seen, found: Initiator) -> int:
        """Return how many bytes of a document's text stand before a place in it."""
        lines = self.texts.get(without_fragment(document.far.url), "").split("\n")
        return sum(len(line) + 1 for line in lines[:found.line]) + (found.column if found.line < len(lines) else 0)

    def _as_it_came(self, document: Seen, offset: int) -> int:
        """Return how many bytes of a document had come when so many of its text had: fewer where it was compressed."""
        text_bytes = len(self.texts.get(without_fragment(document.far.url), ""))
        came_bytes = document.far.body_bytes
        return round(offset * came_bytes / text_bytes) if 0 < came_bytes < text_bytes else offset

    def _is_tag(self, request: Seen, document: Seen, found: Initiator) -> bool:
        """Tell whether a request's address stands in a document's text, in whatever form, where Chrome says.

        An image that a script makes is asked for a little later, and Chrome only knows where the parser stands by then:
        several requests have one place.
        """
        if self.places[found.by, found.line, found.column] > 1:
            return False
        text = self.texts.get(without_fragment(document.far.url))
        if text is None:
            return True
        parts = urlsplit(request.far.url)
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        name = path if len(path) > 1 else f"//{parts.netloc}"
        around = text[max(0, (request.offset or 0) - NEARBY):(request.offset or 0) + NEARBY]
        return name in around or escape(name) in around

    def _since_run(self, request: Seen, by: Seen, load: int) -> float:
        """Return how long after the script (of a document: after the parser came to it) `request` was asked for."""
        asked = _of(request, load)
        runner = _of(by, load)
        if asked is None or runner is None:
            return NEVER if load == 0 else 0.0
        if by.far.kind == DOCUMENT:
            return asked.start - self._parser_at(by, request.offset or 0, request, load)
        began = runner.end
        if by.blocking and by.document is not None:
            began = max(began, self._parser_at(by.document, by.offset or 0, request, load, by))
        return asked.start - began

    def _work(self, request: Seen, by: Seen, since_ms: float) -> float:
        """Return how long the page worked, without delay, before a script asked for `request`.

        That is since it could run, or since another of the document's scripts had asked for something.
        """
        near = request.near
        if near is None:
            return 0.0
        own_url = without_fragment(by.far.url)
        scripts = [other for other in self.seen if other is not request and other.near is not None
                   and other.document is request.document and other.document is not None
                   and _asking_script(other) not in (None, own_url)]
        if by.far.kind == DOCUMENT:
            scripts += [other for other in self.seen if other.document is by and other.near is not None
                        and _asking_script(other) == own_url and other.offset != request.offset]
        earlier = [near.start - other.near.start for other in scripts
                   if other.near is not None and other.near.start <= near.start]
        return max(0.0, min([since_ms, *earlier]))

    def _parser_at(self, document: Seen, offset: int, before: Seen, load: int, runner: Seen | None = None) -> float:
        """Return when the parser came to `offset`: all that it waits for before there had arrived.

        That is what was asked for before `before`; of what stands at `offset` itself, before the script `runner`.
        """
        itself = _of(document, load)
        if itself is None:
            return 0.0
        share = min(1.0, self._as_it_came(document, offset) / max(1, document.far.body_bytes))
        ends = [itself.head + (itself.end - itself.head) * share]
        for other in self.blockers.get(document, []):
            arrived = _of(other, load)
            at = other.offset or 0
            last = self._order(runner if runner is not None and at == offset else before, load)
            if other is not before and arrived is not None and arrived.order < last and at <= offset:
                ends.append(arrived.end)
        return max(ends)

    def _body_at(self, document: Seen, before: Seen) -> float:
        """Return when, over a delay, the parser came to the first tag of a document's body; 0 where none is known."""
        offsets = [other.offset for other in self.seen if other.document is document and other.offset is not None
                   and other.far.kind not in (SCRIPT, STYLE) and other.initiator and other.initiator.type == "parser"]
        return self._parser_at(document, min(offsets), before, 0) if offsets else 0.0

    def _order(self, request: Seen, load: int) -> int:
        found = _of(request, load)
        return found.order if found is not None else 1 << 30

    def _event(self, request: Seen, by: Seen | None = None) -> Found:
        """Return the event from which the distance is the most alike in both loads."""
        best, least = Found(EVENT, self._root(), 0, 0.0), NEVER
        far, near = request.far, request.near
        for other in self.seen:
            if other is request or other.far.redirect_to or other.far.unread or other.far.order >= far.order:
                continue
            score, near_ms = self._score(request, other)
            score += UNLIKELY_MS if other.far.kind in PASSIVE and other is not by else 0.0
            if score < least:
                best, least = Found(EVENT, other, 0, near_ms), score
        parsed = [load.parsed_ms for load in self.loads]
        if parsed[0] is not None and parsed[1] is not None and near is not None:
            distances = far.start - parsed[0], near.start - parsed[1]
            score = abs(distances[0] - distances[1]) + FAR_OFF * max(0.0, distances[1]) - LIKELY_MS
            if min(distances) >= -EARLY_MS and score < least:
                best = Found(PARSED, self._root(), 0, max(0.0, distances[1]))
        return best

    def _score(self, request: Seen, cause: Seen) -> tuple[float, float]:
        """Return how much speaks against a cause, and how long before `request` it arrived without delay."""
        distances = [_distance(cause.far, request.far)]
        if cause.near is not None and request.near is not None:
            distances.append(_distance(cause.near, request.near))
        if min(distances) < -CLOCK_MS:
            return NEVER, 0.0
        differ = max(distances) - min(distances) if len(distances) == 2 else 2 * UNLIKELY_MS
        return differ + FAR_OFF * max(0.0, distances[-1]), max(0.0, distances[-1])


def pair(near: Timeline, far: Timeline, initiators: Sequence[Initiator]) -> list[Seen]:
    """Pair the answered requests of both loads by URL, and by order where one was asked for several times."""
    near_of = dict(zip(_keys(near.requests), near.requests, strict=True))
    initiator_of = dict(zip(_keys(initiators), initiators, strict=True))
    seen = [Seen(request, near_of.get(key), initiator_of.get(key))
            for key, request in zip(_keys(far.requests), far.requests, strict=True) if request.status]
    return sorted(seen, key=lambda request: (request.far.start, request.far.order))


def _keys(requests: Sequence[TimedRequest] | Sequence[Initiator]) -> list[tuple[str, int]]:
    """Return what names a request in both loads: its URL without fragment, and how many times it came before."""
    counted: Counter[str] = Counter()
    keys = []
    for request in requests:
        url = without_fragment(request.url)
        keys.append((url, counted[url]))
        counted[url] += 1
    return keys


def _asking_script(request: Seen) -> str | None:
    """Return the URL of the script (or of the document that holds it) that asked for `request`, None if none did."""
    found = request.initiator
    return without_fragment(found.by) if found is not None and found.type == "script" else None


def _of(request: Seen, load: int) -> TimedRequest | None:
    return request.near if load else request.far


def _distance(cause: TimedRequest, effect: TimedRequest) -> float:
    """Return how long after the arrival of its cause a request was made: a document's is from its first bytes on."""
    arrived = min(cause.end, max(cause.head, effect.start)) if cause.kind == DOCUMENT else cause.end
    return effect.start - arrived
