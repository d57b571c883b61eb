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

from harness.causes import Cause, Dependencies, cause_of_load_event
from harness.timeline import DATA, Request, Timeline

SYN_BYTES = 1420
"""What a SYN can carry: an MTU of 1500, less 40 for the IP and TCP headers and 40 for TCP options (tcp_send_syn_data in
Linux's net/ipv4/tcp_output.c). Measured: requests of 1417 bytes went in one piece, of 1439 took a round trip more."""


def fits_syn(one: Request, *, small_client_hello: bool) -> bool:
    """Tell whether TFO saves the round trip of the connection that `one` makes: whether its first flight fits a SYN."""
    return small_client_hello if one.syn_bytes is None else one.syn_bytes <= SYN_BYTES


def saved_ms(timeline: Timeline, graph: list[Dependencies], rtt_ms: float, *, small_client_hello: bool = True) -> float:
    """Return by how many ms TFO would bring the load event forward.

    `graph` is what harness.causes.dependencies returns; `small_client_hello` is False when Chrome's ClientHello is
    too long for a SYN (tfo.py --post-quantum).
    """
    moved: list[float] = []         # by the requests' order: by how much each is sent, answered and over earlier
    for one, why in zip(timeline.requests, graph, strict=True):
        earlier = _moved(why.cause, moved)
        if why.freed is not None:
            waited = (one.connected if one.shared else one.dispatched) - one.start
            earlier = min(earlier + waited, moved[why.freed.order])
        if one.first and one.connect and fits_syn(one, small_client_hello=small_client_hello):
            earlier += min(rtt_ms, one.connect[1] - one.connect[0])
        moved.append(earlier)
    last = cause_of_load_event(timeline)
    awaited = (one for one in timeline.requests if one.end <= timeline.plt_ms and one.kind != DATA)
    return min([_moved(last, moved), *(moved[one.order] + timeline.plt_ms - one.end for one in awaited)])


def _moved(cause: Cause, moved: list[float]) -> float:
    return 0.0 if cause.request is None else moved[cause.request.order]
