"""A page's shape from two loads of it: one without delay and one over a round trip of some 100 ms.

Chrome says of the second one who asked for each request, and where in a document it stands; what a request waited for
tells its graph (harness.analysis.causes). How each request was found: harness.synthetic.found.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from harness.analysis.asked_for import DATA, DOCUMENT, SCRIPT
from harness.analysis.causes import CLOCK_MS, cause_of_load_event
from harness.analysis.timeline import TimedRequest, Timeline
from harness.files.load_parts import Initiator
from harness.files.urls import without_fragment
from harness.synthetic.found import Found, Loads
from harness.synthetic.shape import EVENT, PRIORITIES, PageShape, Resource, path_of

LONG_MS = 50.0
"""Longer work shows as a long task (W3C Long Tasks); a longer distance without one is waiting for a timer."""


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
    loads = Loads(near, far, texts)
    numbers = {request.order: number for number, request in enumerate(seen)}
    redirected_to = followed((request.url, request.redirect_to) for request in seen)
    resources = []
    for number, request in enumerate(seen):
        after_load = _is_after_load(request, far.plt_ms, loading_ms)
        cause: dict[str, Any] = {"parent": None}
        if number:
            found = loads.find(request)
            parent = numbers.get(found.parent.order, 0)
            cause = {"parent": 0, "way": EVENT} if parent >= number else {
                "parent": parent, "way": found.way, "offset": found.offset,
                **_spent(found, loads.twin(request), near, after_load)}
        said, parts = request.initiator or Initiator("", ""), urlsplit(request.url)
        synchronous = said.synchronous if request.initiator else request.synchronous
        mime, _, rest = request.mime_type.lower().partition(";")
        priority = said.priority if said.priority in PRIORITIES else None
        resources.append(Resource(
            number, parts.hostname or "", parts.scheme, _column(mime.strip()),
            _column(rest.partition("charset=")[2].strip("\"' ")), request.body_bytes, len(path_of(request.url)),
            redirect_to=redirected_to.get(number), start_ms=round(request.start_ms), end_ms=round(request.end_ms),
            kind=DATA if synchronous else request.kind, after_load=after_load,
            blocking=synchronous or (request.kind == SCRIPT and said.blocking),
            priority=priority, seen=said.seen and priority is not None, **cause))
    secure = {resource.host for resource in resources if resource.scheme == "https"}
    last_work_ms = max(0, round(near.plt_ms - cause_of_load_event(near).at_ms))       # from what that event waited for
    return PageShape(url, month, resources, last_work_ms, frozenset(secure & {*http2_hosts}))


def followed(requests: Iterable[tuple[str, str]]) -> dict[int, int]:
    """Return by number which of a page's requests followed the redirect of which: the first of its URL that no other
    one led to. Of each request its URL is given, and where it was redirected, "" for nowhere.
    """
    waiting: dict[str, list[int]] = defaultdict(list)
    found: dict[int, int] = {}
    for number, (url, target) in enumerate(requests):
        if led := waiting.get(without_fragment(url)):
            found[led.pop(0)] = number
        if target:
            waiting[without_fragment(target)].append(number)
    return found


def _column(text: str) -> str | None:
    """Return what a page-shape file can hold in a column, None for anything else: nothing, line ends, other scripts."""
    return text if text.isascii() and text.isprintable() and text else None


def _is_after_load(request: TimedRequest, plt_ms: float, loading_ms: float | None) -> bool:
    """Tell whether a request was made in the load event or later: but for data, what ended later did not delay it."""
    if request.start_ms >= (plt_ms if loading_ms is None else loading_ms) - CLOCK_MS:
        return True
    return request.kind != DATA and request.end_ms > plt_ms + CLOCK_MS


def _spent(found: Found, effect: TimedRequest | None, near: Timeline, after_load: bool) -> dict[str, int]:
    """Return for how long the page worked, and waited, between a cause and its effect without delay; whole ms.

    What came `after_load` waited for the load event, too.
    """
    distance_ms, worked_ms = found.near_ms, found.near_ms
    if not found.at_once:
        if effect is None:
            return {}
        if after_load:
            distance_ms = worked_ms = min(distance_ms, max(0.0, effect.start_ms - near.plt_ms))
        if distance_ms > LONG_MS:
            since_ms = effect.start_ms - distance_ms
            worked_ms = sum(max(0.0, min(end, effect.start_ms) - max(start, since_ms))
                            for start, end in near.long_tasks)
    return {"work_ms": round(worked_ms), "idle_ms": round(distance_ms - worked_ms)}
