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

from harness.analysis.causes import FREED_MS, Cause, Dependencies, cause_of_load_event
from harness.analysis.timeline import TimedRequest, Timeline

KINDS = ("dns", "connect", "tls", "wait", "receive", "queue", "cpu")


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
    walk = _Walk(timeline.plt_ms)
    walk.back_to_cause(cause_of_load_event(timeline))
    while walk.request is not None:
        _through(walk, walk.request, graph[walk.request.order])
    return walk.steps[::-1]


class _Walk:
    """The way back: `at` is how far it has come, `request` whose part of the path comes next."""

    def __init__(self, plt_ms: float) -> None:
        self.at = plt_ms
        self.request: TimedRequest | None = None
        self.steps: list[Step] = []

    def back_to(self, start: float, kind: str, request: TimedRequest | None) -> None:
        """Walk back to `start`; times may be 1 ms apart that should be the same, so never forward, never below 0."""
        start = max(0.0, min(start, self.at))
        if start < self.at:
            url, entry = (request.url, request.entry) if request else ("", -1)
            self.steps.append(Step(kind, start, self.at, url, entry))
        self.at = start

    def back_to_cause(self, cause: Cause) -> None:
        """Walk back over what Chrome did after the cause."""
        self.back_to(cause.at, "cpu", cause.request)
        self.request = cause.request


def _through(walk: _Walk, request: TimedRequest, why: Dependencies) -> None:
    """Walk back from wherever the path meets `request` to what it waited for."""
    walk.back_to(request.head, "receive", request)
    walk.back_to(request.sent, "wait", request)
    if request.shared and why.freed is not None:    # it waited for what the request did that made the connection
        going_on = min(why.freed_at, why.freed.end)
        walk.back_to(going_on, "queue" if request.sent - going_on >= FREED_MS else "cpu", request)
        walk.request = why.freed
        return
    if request.tls:
        walk.back_to(request.tls[1], "cpu", request)
        walk.back_to(request.tls[0], "tls", request)
    if request.connect:
        walk.back_to(request.connect[1], "cpu", request)
        walk.back_to(request.connect[0], "connect", request)
        walk.back_to(request.connect[0] - request.dns_ms, "dns", request)
    if why.freed is not None:
        walk.back_to(why.freed.end, "cpu", request)
        walk.request = why.freed
        return
    is_queued = request.connection and request.dispatched - request.start >= FREED_MS
    walk.back_to(request.start, "queue" if is_queued else "cpu", request)
    walk.back_to_cause(why.cause)
