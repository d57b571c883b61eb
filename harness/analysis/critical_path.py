"""The critical path of a load event: the chain of waits that leads from the navigation to it, without a gap.

It is found by walking back from loadEventEnd. What did the event wait for last? A request: then what did that one wait
for, and so on (harness.analysis.causes tells) until the navigation. Every moment between belongs to one step of one
request:

    queue     the request waited for a free connection, or on one behind others, and nothing is known to have let it
              go. Where it is known which request's end did, the path goes on with that request instead
    dns       look-up of the name
    connect   the TCP handshake: the round trip that TCP Fast Open saves
    tls       the TLS handshake
    wait      from sending the request to the first byte of the answer: a round trip and the server's own time
    receive   the answer comes in
    cpu       everything else: Chrome parses, runs scripts and lays out; or nothing happens, before a timer
"""

from dataclasses import dataclass, field

from harness.analysis.causes import FREED_MS, Dependencies, cause_of_load_event
from harness.analysis.timeline import TimedRequest, Timeline

KINDS = ("dns", "connect", "tls", "wait", "receive", "queue", "cpu")

_Stretch = tuple[str, float, TimedRequest | None]
"""A kind of step, back to when, and of which request."""


@dataclass(frozen=True)
class Step:
    """One piece of the path, in ms from navigationStart; `url` is the request's, or whose answer is used.

    `entry` is that request's place in the HAR, -1 without one: a page may ask for one URL several times.
    """

    kind: str
    start_ms: float
    end_ms: float
    url: str
    entry: int = field(default=-1, compare=False)

    @property
    def length_ms(self) -> float:
        """How long it took."""
        return self.end_ms - self.start_ms


def critical_path(timeline: Timeline, graph: list[Dependencies]) -> list[Step]:
    """Return the steps from 0 to `timeline.plt_ms` in order: each begins where the one before ends, none is empty.

    `graph` is what harness.analysis.causes.dependencies returns for `timeline`.
    """
    request, at = cause_of_load_event(timeline)
    steps: list[Step] = []
    reached, way = timeline.plt_ms, [("cpu", at, request)]
    while True:
        for kind, back_to, step_of in way:
            # Times may be 1 ms apart that should be the same: so never forward, and never below 0.
            start = max(0.0, min(back_to, reached))
            if start < reached:
                steps.append(Step(kind, start, reached, *((step_of.url, step_of.entry) if step_of else ("", -1))))
            reached = start
        if request is None:
            return steps[::-1]
        way, request = _through(request, graph[request.order])


def _through(request: TimedRequest, why: Dependencies) -> tuple[list[_Stretch], TimedRequest | None]:
    """Return the way back from wherever the path meets `request` to what it waited for, and whose part comes next."""
    back: list[_Stretch] = [("receive", request.head_ms, request), ("wait", request.sent_ms, request)]
    if request.shared and why.freed is not None:    # it waited for what the request did that made the connection
        going_on = min(why.freed_at_ms, why.freed.end_ms)
        return [*back, ("queue" if request.sent_ms - going_on >= FREED_MS else "cpu", going_on, request)], why.freed
    for kind, handshake in (("tls", request.tls), ("connect", request.connect)):
        if handshake:
            back += [("cpu", handshake[1], request), (kind, handshake[0], request)]
    if request.connect:
        back.append(("dns", request.connect[0] - request.dns_ms, request))
    if why.freed is not None:
        return [*back, ("cpu", why.freed.end_ms, request)], why.freed
    is_queued = request.connection and request.dispatched_ms - request.start_ms >= FREED_MS
    return [*back, ("queue" if is_queued else "cpu", request.start_ms, request),
            ("cpu", why.cause.at_ms, why.cause.request)], why.cause.request
