"""The load event as it would be with TCP Fast Open, from a load without: the dependency graph played again.

Each request is moved earlier by as much as everything it waited for has moved, and by its own handshake:

- it starts earlier by what its cause moved;
- it leaves its queue (or gets its shared connection) earlier by what the request moved that made room for it (or that
  made the connection), but not before it started;
- its connection needs no round trip of its own when its request (over TLS: the ClientHello) fits into the SYN;
- then it waits and receives for as long as before, and its answer keeps Chrome busy for as long as before.

The load event moves by as much as the last of the requests it waits for lets it. So a saving that another chain of
requests hides is not counted. Held fixed, though TFO changes them a little: how transfers share the server's link, and
how scripts share the processor.
"""

from harness.analysis.causes import Cause, Dependencies, cause_of_load_event
from harness.analysis.timeline import DATA, TimedRequest, Timeline

SYN_BYTES = 1420
"""What a SYN can carry: an MTU of 1500, less 40 for the IP and TCP headers and 40 for TCP options (tcp_send_syn_data in
Linux's net/ipv4/tcp_output.c). Measured: requests of 1417 bytes went in one piece, of 1439 took a round trip more."""


def fits_syn(request: TimedRequest, *, small_client_hello: bool) -> bool:
    """Tell whether TFO saves the round trip of the connection that `request` makes: its first flight fits a SYN."""
    return small_client_hello if request.syn_bytes is None else request.syn_bytes <= SYN_BYTES


def saved_ms(timeline: Timeline, graph: list[Dependencies], rtt_ms: float, *, small_client_hello: bool = True) -> float:
    """Return by how many ms TFO would bring the load event forward.

    `graph` is what harness.analysis.causes.dependencies returns; `small_client_hello` is False when Chrome's
    ClientHello is too long for a SYN (tfo.py --post-quantum).
    """
    moved: list[float] = []         # by the requests' order: by how much each is sent, answered and over earlier
    for request, why in zip(timeline.requests, graph, strict=True):
        earlier = _moved(why.cause, moved)
        if why.freed is not None:
            earlier = min(earlier + why.freed_at - request.start, moved[why.freed.order])
        if request.first and request.connect and fits_syn(request, small_client_hello=small_client_hello):
            earlier += min(rtt_ms, _shorter_by(request, request.connect))
        moved.append(earlier)
    last = cause_of_load_event(timeline)
    awaited = (request for request in timeline.requests if request.end <= timeline.plt_ms and request.kind != DATA)
    return min([_moved(last, moved), *(moved[request.order] + timeline.plt_ms - request.end for request in awaited)])


def _shorter_by(request: TimedRequest, connect: tuple[float, float]) -> float:
    """Return by how much the wait for a connection is shorter when its TCP handshake takes no time.

    Where Chrome began it before it was needed, only a part of it was waited for; but TLS, which follows it, is over
    sooner by all of it.
    """
    return max(connect[1] - connect[0], min(request.tcp_ms, request.connected - connect[0]))


def _moved(cause: Cause, moved: list[float]) -> float:
    return 0.0 if cause.request is None else moved[cause.request.order]
