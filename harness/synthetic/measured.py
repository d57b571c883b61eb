"""A page's shape from two loads of it: one without delay and one over a round trip of some 100 ms.

The loads' HARs say what was asked for when (harness.analysis.timeline), and Chrome says of the second one what each
request stands in; from both harness.synthetic.found tells how it was found. The load without delay then says how long
the page worked between a cause and its effect: there hardly anything else takes time.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from harness.analysis.causes import CLOCK_MS, cause_of_load_event
from harness.analysis.timeline import DATA, DOCUMENT, TimedRequest, Timeline
from harness.files.encoding import decode
from harness.files.headers import header_in
from harness.files.load_parts import Initiator
from harness.files.urls import without_fragment
from harness.mirror.recording import Recording
from harness.synthetic.found import Finder, Found, Seen, pair
from harness.synthetic.shape import EVENT, PRIORITIES, PageShape, Resource
from harness.system.untrusted import read_untrusted

LONG_MS = 50.0
"""Longer work shows as a long task (W3C Long Tasks); a longer distance without one is waiting for a timer."""


@dataclass(frozen=True)
class LoadDetails:
    """What else is known of the load over a round trip: what caused its requests, as Chrome says, its documents'
    texts by URL, and when, in ms, its load event began; and which hosts spoke HTTP/2 when they were recorded.
    """

    initiators: Sequence[Initiator] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    loading_ms: float | None = None
    http2_hosts: Collection[str] = ()


NO_DETAILS = LoadDetails()


def document_texts(load: Timeline, recording: Recording, mirror: Path) -> dict[str, str]:
    """Return the text of each document of a load, a character a byte: where it came compressed, as Chrome decoded it.

    Chrome names a place in a document by line and column of that.
    """
    found = {}
    for request in load.requests:
        for answer in recording.exact_url(without_fragment(request.url))[:1]:
            file = answer.file
            if request.kind == DOCUMENT and file is not None:
                encoding = header_in(answer.headers or (), "content-encoding")
                body, is_decoded = decode(read_untrusted(mirror / file), encoding)
                if is_decoded:
                    found[request.url] = body.decode("latin-1")
    return found


def make_shape(url: str, month: str, near: Timeline, far: Timeline, details: LoadDetails = NO_DETAILS) -> PageShape:
    """Return the shape of the page `url` from its load without delay, `near`, and the one over a round trip, `far`.

    The resources are the requests of `far` that were answered. Raises ValueError when the page itself was not.
    """
    seen = pair(near, far, details.initiators)
    if not seen or seen[0].far.kind != DOCUMENT or all(request.far.redirect_to for request in seen):
        raise ValueError("the page's document was not answered first")
    finder = Finder(seen, near, far, details.texts)
    numbers = {request: number for number, request in enumerate(seen)}
    redirected_to = _redirects(seen)
    resources = []
    for number, request in enumerate(seen):
        resource = replace(_resource(request.far), index=number, redirect_to=redirected_to.get(number),
                           after_load=_is_after_load(request.far, far.plt_ms, details.loading_ms),
                           blocking=request.blocking or request.synchronous)
        if request.synchronous:
            resource = replace(resource, kind=DATA)
        if request.initiator is not None and request.initiator.priority in PRIORITIES:
            resource = replace(resource, priority=request.initiator.priority, seen=request.initiator.seen)
        if number:
            resource = _caused(resource, finder.find(request), request, numbers, near)
        resources.append(resource)
    http2_hosts = {resource.host for resource in resources if resource.scheme == "https"} & {*details.http2_hosts}
    return PageShape(url, month, tuple(resources), _last_work_ms(near), frozenset(http2_hosts))


def _is_after_load(request: TimedRequest, plt_ms: float, loading_ms: float | None) -> bool:
    """Tell whether a request was made in the load event or later: but for data, what ended later did not delay it."""
    if request.start >= (plt_ms if loading_ms is None else loading_ms) - CLOCK_MS:
        return True
    return request.kind != DATA and request.end > plt_ms + CLOCK_MS


def _caused(resource: Resource, found: Found, request: Seen, numbers: dict[Seen, int], near: Timeline) -> Resource:
    """Add what caused a resource, and how long the page worked and waited in between."""
    parent = numbers[found.parent]
    if parent >= resource.index:
        return replace(resource, parent=0, way=EVENT)
    work_ms, idle_ms = round(found.near_ms), 0
    if not found.at_once:
        work_ms, idle_ms = _between(found.near_ms, request.near, near, resource.after_load)
    return replace(resource, parent=parent, way=found.way, offset=found.offset, work_ms=work_ms, idle_ms=idle_ms)


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


def _resource(request: TimedRequest) -> Resource:
    """Return what a resource's own request says of it."""
    url = urlsplit(request.url)
    mime, _, charset = request.mime_type.partition(";")
    path = (url.path or "/") + (f"?{url.query}" if url.query else "")
    return Resource(
        index=0, host=url.hostname or "", scheme=url.scheme, mime=mime.strip().lower() or None,
        charset=charset.partition("charset=")[2].strip("\"' ").lower() or None, size_bytes=request.body_bytes,
        path_chars=len(path), parent=None, redirect_to=None, start_ms=round(request.start),
        end_ms=round(request.end), kind=request.kind)


def _between(distance: float, effect: TimedRequest | None, near: Timeline, after_load: bool) -> tuple[int, int]:
    """Return for how long the page worked, and waited, in the time before its effect without delay; whole ms.

    What came `after_load` waited for the load event, too.
    """
    if effect is None:
        return 0, 0
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
