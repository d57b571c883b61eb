"""The critical path of a load event: the chain of waits that leads from the navigation to it, without a gap.

It is found by walking back from loadEventEnd. What did the event wait for last? A request: then what did that one wait
for, and so on (harness.causes tells) until the navigation. Every moment between belongs to one step of one request:

    queue     the request waited for a free connection, and nothing is known to have freed it. Where it is known which
              request's end let it go, the path goes on with that request instead
    dns       look-up of the name
    connect   the TCP handshake: the round trip that TCP Fast Open saves
    tls       the TLS handshake
    wait      from sending the request to the first byte of the answer: a round trip and the server's own time
    receive   the answer comes in
    cpu       everything else: Chrome parses, runs scripts and lays out; or nothing happens, before a timer
"""

from dataclasses import dataclass

from harness.causes import FREED_MS, Cause, Dependencies, cause_of_load_event
from harness.timeline import Request, Timeline

KINDS = ("dns", "connect", "tls", "wait", "receive", "queue", "cpu")


@dataclass(frozen=True)
class Step:
    """One piece of the path, in ms from navigationStart; `url` is the request's, or whose answer is used."""

    kind: str
    start_ms: float
    end_ms: float
    url: str

    @property
    def length_ms(self) -> float:
        """How long it took."""
        return self.end_ms - self.start_ms


def critical_path(timeline: Timeline, graph: list[Dependencies]) -> list[Step]:
    """Return the steps from 0 to `timeline.plt_ms` in order: each begins where the one before ends, none is empty.

    `graph` is what harness.causes.dependencies returns for `timeline`.
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
        self.request: Request | None = None
        self.steps: list[Step] = []

    def back_to(self, start: float, kind: str, url: str) -> None:
        """Walk back to `start`; times may be 1 ms apart that should be the same, so never forward, never below 0."""
        start = max(0.0, min(start, self.at))
        if start < self.at:
            self.steps.append(Step(kind, start, self.at, url))
        self.at = start

    def back_to_cause(self, cause: Cause) -> None:
        """Walk back over what Chrome did after the cause."""
        self.back_to(cause.at, "cpu", cause.request.url if cause.request else "")
        self.request = cause.request


def _through(walk: _Walk, one: Request, why: Dependencies) -> None:
    """Walk back from wherever the path meets `one` to what it waited for."""
    walk.back_to(one.head, "receive", one.url)
    walk.back_to(one.sent, "wait", one.url)
    if one.shared and why.freed is not None:    # it waited for a connection: so for whatever the one that made it did
        walk.back_to(one.connected, "cpu", one.url)
        walk.request = why.freed
        return
    if one.tls:
        walk.back_to(one.tls[1], "cpu", one.url)
        walk.back_to(one.tls[0], "tls", one.url)
    if one.connect:
        walk.back_to(one.connect[1], "cpu", one.url)
        walk.back_to(one.connect[0], "connect", one.url)
        walk.back_to(one.connect[0] - one.dns_ms, "dns", one.url)
    if why.freed is not None:
        walk.back_to(why.freed.end, "cpu", one.url)
        walk.request = why.freed
        return
    is_queued = one.connection and one.dispatched - one.start >= FREED_MS
    walk.back_to(one.start, "queue" if is_queued else "cpu", one.url)
    walk.back_to_cause(why.cause)
