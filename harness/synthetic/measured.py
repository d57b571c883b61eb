"""A page's shape from two loads of it: one without delay and one over a round trip of some 100 ms.

The loads' HARs say what was asked for when (harness.analysis.timeline), and harness.analysis.causes infers from times
what caused it. Times that coincide by chance in one load do not in the other, so of the causes that were found in
either that one is taken whose distance from the request is the most alike in both. The load without delay then says how
long the page worked between a cause and its effect: there hardly anything else takes time.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from harness.analysis.causes import CLOCK_MS, cause_of_load_event, dependencies
from harness.analysis.timeline import DOCUMENT, Request, Timeline
from harness.synthetic.shape import PageShape, Resource

LONG_MS = 50.0
"""Longer work shows as a long task (W3C Long Tasks); a longer distance without one is waiting for a timer."""


@dataclass(frozen=True)
class Seen:
    """A request as both loads saw it, and what it was inferred in each to be caused by; `near` is None if it was not
    made there, a cause if there was none.
    """

    far: Request
    near: Request | None
    far_cause: Request | None
    near_cause: Request | None


def make_shape(url: str, month: str, near: Timeline, far: Timeline) -> PageShape:
    """Return the shape of the page `url` from its load without delay, `near`, and the one over a round trip, `far`.

    The resources are the requests of `far` that were answered. Raises ValueError when the page itself was not.
    """
    seen = _match(near, far)
    if not seen or seen[0].far.kind != DOCUMENT:
        raise ValueError("the page's document was not answered first")
    by_order = {request.far.order: number for number, request in enumerate(seen)}
    redirected_to = _redirects(seen)
    resources = []
    for number, request in enumerate(seen):
        parent = _parent(number, seen, by_order)
        after_load = request.far.start > far.plt_ms
        work_ms, idle_ms = (0, 0) if parent is None else _between(seen[parent].near, request.near, near, after_load)
        resources.append(replace(_resource(request.far), index=number, parent=parent, work_ms=work_ms, idle_ms=idle_ms,
                                 redirect_to=redirected_to.get(number), after_load=after_load))
    return PageShape(url, month, tuple(resources), _last_work_ms(near))


def _match(near: Timeline, far: Timeline) -> list[Seen]:
    """Pair the requests of both loads by URL, and by order where one was asked for several times."""
    near_of = dict(zip(_keys(near.requests), near.requests, strict=True))
    keys = _keys(far.requests)
    far_of = dict(zip(keys, far.requests, strict=True))
    near_causes = {request.order: found.cause.request
                   for request, found in zip(near.requests, dependencies(near), strict=True)}
    near_keys = _keys(near.requests)
    seen = []
    for key, request, found in zip(keys, far.requests, dependencies(far), strict=True):
        twin = near_of.get(key)
        cause = near_causes[twin.order] if twin is not None else None
        if request.status:
            seen.append(Seen(request, twin, found.cause.request, far_of.get(near_keys[cause.order]) if cause else None))
    return sorted(seen, key=lambda request: (request.far.start, request.far.order))


def _keys(requests: Sequence[Request]) -> list[tuple[str, int]]:
    """Return what names a request in both loads: its URL without fragment, and how many times it came before."""
    counted: Counter[str] = Counter()
    keys = []
    for request in requests:
        url = request.url.partition("#")[0]
        keys.append((url, counted[url]))
        counted[url] += 1
    return keys


def _redirects(seen: list[Seen]) -> dict[int, int]:
    """Return by number which request followed the redirect of which."""
    followed: dict[int, int] = {}
    for number, request in enumerate(seen):
        later = (other for other in range(number + 1, len(seen)) if other not in followed.values()
                 and request.far.redirect_to and seen[other].far.url == request.far.redirect_to)
        following = next(later, None)
        if following is not None:
            followed[number] = following
    return followed


def _parent(number: int, seen: list[Seen], by_order: dict[int, int]) -> int | None:
    """Return the number of the cause that both loads bear out best; the page's where none is known."""
    if number == 0:
        return None
    request = seen[number]
    known = [by_order[cause.order] for cause in (request.far_cause, request.near_cause)
             if cause is not None and cause.order in by_order]
    earlier = [cause for cause in known if cause < number]
    return min(earlier, key=lambda cause: _disagreement_ms(seen[cause], request), default=0)


def _disagreement_ms(cause: Seen, effect: Seen) -> float:
    """Return by how much the loads differ in the distance of an effect from its cause; infinite if it came before."""
    distances = [_distance_ms(cause.far, effect.far)]
    if cause.near is not None and effect.near is not None:
        distances.append(_distance_ms(cause.near, effect.near))
    return float("inf") if min(distances) < -CLOCK_MS else max(distances) - min(distances)


def _distance_ms(cause: Request, effect: Request) -> float:
    """Return how long after the arrival of its cause a request was made: a document's is from its first bytes on."""
    arrived = min(cause.end, max(cause.head, effect.start)) if cause.kind == DOCUMENT else cause.end
    return effect.start - arrived


def _resource(request: Request) -> Resource:
    """Return what a resource's own request says of it."""
    url = urlsplit(request.url)
    mime, _, charset = request.mime_type.partition(";")
    path = (url.path or "/") + (f"?{url.query}" if url.query else "")
    return Resource(
        index=0, host=url.hostname or "", scheme=url.scheme, mime=mime.strip().lower() or None,
        charset=charset.partition("charset=")[2].strip("\"' ").lower() or None, size_bytes=request.body_bytes,
        path_chars=len(path), parent=None, redirect_to=None, start_ms=round(request.start),
        end_ms=round(request.end), kind=request.kind)


def _between(cause: Request | None, effect: Request | None, near: Timeline, after_load: bool) -> tuple[int, int]:
    """Return for how long the page worked, and waited, between a cause and its effect without delay; whole ms.

    What came `after_load` waited for the load event, too.
    """
    if cause is None or effect is None:
        return 0, 0
    distance = max(0.0, _distance_ms(cause, effect))
    if after_load:
        distance = min(distance, max(0.0, effect.start - near.plt_ms))
    if distance <= LONG_MS:
        return round(distance), 0
    since = effect.start - distance
    worked = sum(max(0.0, min(end, effect.start) - max(start, since)) for start, end in near.long_tasks)
    return round(worked), round(distance - worked)


def _last_work_ms(near: Timeline) -> int:
    """Return for how long the page worked, without delay, from what the load event waited for until that event."""
    cause = cause_of_load_event(near)
    return max(0, round(near.plt_ms - cause.at))
