"""When a server had more of an answer's body: the pauses that it made itself, and not the network on the way.

A server that makes a document while it sends it (React's Suspense, Remix, SvelteKit) sends a piece, works, and sends
the next. Chrome's log has for each piece how long Chrome waited for it. Four things make such a wait beside the server:

    Chrome       reads late, since the page is busy or has had enough: then it does not wait, which the log tells;
    other bytes  lie before this answer's in a queue, on a slow link or over the same HTTP/2 connection. Then bytes come
                 all the time: only that part of a wait counts in which nothing came to Chrome for IDLE_MS and more;
    TCP          lets a server send a first flight, and then more with each acknowledgement: a round trip's silence.
                 After more than FIRST_FLIGHT bytes within ROUND_TRIPS so many round trips are taken off, which is also
                 how long a lost packet mostly takes. (TCP's timeout, 200 ms and more, looks like a pause);
    the clock    counts whole ms, and processes wait for a processor: less than SHORTEST_MS is no pause.

Sources: RFC 6928 and RFC 3390 (first flight), RFC 5681 (after a pause a server may send at least as much again).
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from itertools import accumulate, pairwise

from harness.netlog.connections import Connection
from harness.netlog.load import NetLog

SHORTEST_MS = 50.0
"""The shortest pause that is kept."""
IDLE_MS = 20
"""A link of 0.6 Mbit/s or more that has something to bring brings a packet of 1500 bytes at least so often."""
FIRST_FLIGHT = 4380
"""Bytes that every server may send without an acknowledgement (RFC 3390); today's may send 14,600 (RFC 6928)."""
ROUND_TRIPS = 2
Pieces = tuple[tuple[float, int], ...]
"""When, in ms since an answer's head, the server had how many bytes of its body."""


def server_pieces(netlog: NetLog) -> dict[tuple[int, int], Pieces]:
    """Return the pieces of each answer that its server sent with pauses, by its transaction's `source` and `hop`.

    A pause before the end of a body is one before its last byte.
    """
    connections = {connection.id: connection for connection in netlog.connections}
    came = sorted(tick for connection in netlog.connections for tick in connection.received)
    flights, found = _flights(netlog), {}
    for transaction in netlog.transactions:
        connection = connections.get(transaction.connection or 0)
        if connection is None or connection.connect_ms is None or transaction.from_cache:
            continue
        body, head_tick = transaction.body, transaction.start + transaction.phases.until_head
        size, flight = len(body.wire), flights[connection.id]
        pauses = [(max(0.0, end - head_tick), min(before, size - 1)) for begin, end, before in body.waits
                  if size and end - begin >= SHORTEST_MS
                  and _idle_ms(begin, end, came) >= SHORTEST_MS + _round_trips_ms(connection, begin, *flight)]
        if pauses:
            ends = [before for _, before in pauses[1:]] + [size]
            found[transaction.source, transaction.hop] = (
                (0.0, pauses[0][1]), *((at_ms, end) for (at_ms, _), end in zip(pauses, ends, strict=True)))
    return found


def _idle_ms(begin: int, end: int, came: list[int]) -> int:
    """Return for how long of a wait nothing came to Chrome; `came` is when something did, over all connections."""
    points = [begin, *came[bisect_right(came, begin):bisect_left(came, end)], end]
    return sum(later - earlier for earlier, later in pairwise(points) if later - earlier >= IDLE_MS)


def _flights(netlog: NetLog) -> dict[int, tuple[list[int], list[int]]]:
    """Return when bytes of bodies came over each connection, and how many had come before each time, and at last."""
    pieces: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for transaction in netlog.transactions:
        if transaction.connection is not None:
            arrivals = transaction.body.arrivals
            pieces[transaction.connection] += [
                (tick, size - before) for (tick, size), (_, before) in zip(arrivals, [(0, 0), *arrivals], strict=False)]
    return {connection: ([at for at, _ in sorted(each)], [0, *accumulate(size for _, size in sorted(each))])
            for connection, each in pieces.items()}


def _round_trips_ms(connection: Connection, tick: int, ticks: list[int], sums: list[int]) -> float:
    """Return how long the network may keep a connection silent from `tick` on, by what came over it before."""
    round_trips_ms = ROUND_TRIPS * (connection.connect_ms or 0.0)
    flight = sums[bisect_right(ticks, tick)] - sums[bisect_left(ticks, tick - round_trips_ms)]
    return round_trips_ms if flight > FIRST_FLIGHT else 0.0
