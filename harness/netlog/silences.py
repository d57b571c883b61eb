"""When Chrome waited for a server and nothing came: silences, the clock check that a load carries in itself; and pauses
within a body that the server made.

A server is asked for something by a connect, by the first bytes of a TLS handshake, or by a request. Until all of that
is there, something of it should arrive at least once in a round trip: the SYN-ACK, the answer to the handshake, the
answer's head, and while a body comes the packets that each of our acknowledgements lets go. Answers that queue behind
each other on one server's link do not leave it silent. So a silence that is longer than a round trip and the server's
own time means that somebody, somewhere between, did not keep time.

A SYN-ACK comes from the server's kernel, also while its program stands still. So it ends the wait of a connect, but not
that of a request or a TLS handshake. A long request does not fit into the SYN: the rest of it is sent when the SYN-ACK
is there, and only then the server is asked.

A pause is the server's own work, and not the network on the way: a server that makes a document while it sends it
(React's Suspense, Remix, SvelteKit) sends a piece, works, and sends the next. Chrome's log has for each piece how long
Chrome waited for it. Four things make such a wait beside the server:

    Chrome       reads late, since the page is busy or has had enough: then it does not wait, which the log tells;
    other bytes  lie before this answer's in a queue, on a slow link or over the same HTTP/2 connection. Then bytes come
                 all the time: only that part of a wait counts in which nothing came to Chrome for IDLE_MS and more;
    TCP          lets a server send a first flight, and then more with each acknowledgement: a round trip's silence. So
                 ROUND_TRIPS are no pause, which is also how long a lost packet mostly takes. (TCP's timeout, 200 ms and
                 more, looks like a pause);
    the clock    counts whole ms, and processes wait for a processor: less than SHORTEST_PAUSE_MS is no pause.

Source: RFC 5681 (after a pause a server may send a flight again).
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise

from harness.netlog.connections import Connection
from harness.netlog.load import NetLog
from harness.netlog.transactions import HttpTransaction
from harness.system.tcp import without_port

SHORTEST_MS = 5.0
"""Silences below this are left out: no link that is worth measuring is that short, and the net-log counts whole ms."""


@dataclass(frozen=True)
class Silence:
    """Nothing came from a `server`, named by its address, though it was asked; ms from the load's start.

    When `connecting` it was asked for a connection; otherwise for an answer, and a SYN-ACK is none.
    """

    server: str
    start_ms: float
    end_ms: float
    connecting: bool = False


def silences(netlog: NetLog, start_tick: float, end_tick: float) -> list[Silence]:
    """Return the silences of SHORTEST_MS and more between two ticks, in order of their start.

    One that lasts beyond `end_tick` is cut there. Requests that had no head of an answer by then are left out: they may
    have had none when the page was recorded either (a long poll). Whether they did, harness.measure.rules looks at.
    """
    # When each server was asked, and when something came of it, by its address and whether that is about connects.
    waits: dict[tuple[str, bool], list[tuple[float, float]]] = defaultdict(list)
    came: dict[tuple[str, bool], list[float]] = defaultdict(list)
    for connection in netlog.connections:
        server, stood, secured = without_port(connection.address), connection.connected, connection.ssl
        came[server, True] += connection.received
        came[server, False] += connection.received
        # A connect that failed waited for nobody: Chrome gives up one that it does not need any more, since another
        # connection to the host speaks HTTP/2.
        if connection.error:
            continue
        waits[server, True].append((connection.start, stood or connection.closed or end_tick))
        came[server, True] += [stood] if stood else []
        if secured:
            waits[server, False].append((_hello_sent(connection, *secured), secured[1]))
            came[server, True].append(secured[1])
            came[server, False].append(secured[1])
    for transaction in netlog.transactions:
        if transaction.sends and (used := transaction.connection):
            waits[without_port(used.address), False].append(_waiting(transaction, used, end_tick))
    found = [Silence(server, begin - start_tick, end - start_tick, connecting)
             for (server, connecting), spans in waits.items()
             for begin, end in _silent(spans, sorted(came[server, connecting]), start_tick, end_tick)
             if end - begin >= SHORTEST_MS]
    return sorted(found, key=lambda silence: (silence.start_ms, silence.server, silence.connecting))


def _hello_sent(connection: Connection, begin: int, end: int) -> int:
    """Return when the ClientHello had been sent whole: one with a post-quantum key does not fit into the SYN."""
    answered = min((at for at in connection.received if at >= begin), default=end)
    return max((at for at in connection.sent if begin <= at <= answered), default=begin)


def _waiting(transaction: HttpTransaction, connection: Connection, end_tick: float) -> tuple[float, float]:
    """Return from when to when a request waited for bytes: what Chrome does after the last of them is its own time.

    From when all of it was sent: with TCP Fast Open that is a round trip later if it did not fit into the SYN.
    """
    sent = transaction.start + transaction.phases.until_asked + max(0.0, transaction.phases.send)
    head, end = transaction.head_tick, transaction.end
    over = end is not None and end <= end_tick
    if transaction.is_stream(over=over):
        return sent, head           # what is new comes when it is new
    if not over and (not transaction.status or head > end_tick):
        return sent, sent
    return sent, end_tick if end is None else max((at for at in connection.received if sent < at <= end), default=end)


def _silent(waits: list[tuple[float, float]], arrivals: list[float], lower: float,
            upper: float) -> list[tuple[float, float]]:
    """Return the gaps between arrivals while any of `waits` lasts, between `lower` and `upper`."""
    gaps: list[tuple[float, float]] = []
    for asked, answered in _union(waits):
        begin, end = max(asked, lower), min(answered, upper)
        points = [begin, *(at for at in arrivals if begin < at < end), end]
        gaps += [(earlier, later) for earlier, later in pairwise(points) if later > earlier]
    return gaps


def _union(spans: list[tuple[float, float]]) -> list[tuple[float, float]]:
    joined: list[tuple[float, float]] = []
    for begin, end in sorted(spans):
        if joined and begin <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        else:
            joined.append((begin, end))
    return joined


SHORTEST_PAUSE_MS = 50.0
"""The shortest pause that is kept."""
IDLE_MS = 20
"""A link of 0.6 Mbit/s or more that has something to bring brings a packet of 1500 bytes at least so often."""
ROUND_TRIPS = 2
"""For so many TCP may keep a connection silent: until an acknowledgement is there, or a lost packet is sent again."""
Pieces = tuple[tuple[float, int], ...]
"""When, in ms since an answer's head, the server had how many bytes of its body."""


def server_pieces(netlog: NetLog) -> dict[tuple[int, int], Pieces]:
    """Return the pieces of each answer that its server sent with pauses, by its transaction's `source` and `hop`.

    A pause before the end of a body is one before its last byte.
    """
    came = sorted(tick for connection in netlog.connections for tick in connection.received)
    found: dict[tuple[int, int], Pieces] = {}
    for transaction in netlog.transactions:
        connection = transaction.connection
        if connection is None or connection.connect_ms is None or transaction.from_cache:
            continue
        body = transaction.body
        size, shortest_ms = len(body.wire), SHORTEST_PAUSE_MS + ROUND_TRIPS * connection.connect_ms
        pauses = [(max(0.0, end - transaction.head_tick), min(before, size - 1)) for begin, end, before in body.waits
                  if size and end - begin >= shortest_ms and _idle_ms(begin, end, came) >= shortest_ms]
        if pauses:
            ends = [before for _, before in pauses[1:]] + [size]
            found[transaction.source, transaction.hop] = (
                (0.0, pauses[0][1]), *((at_ms, end) for (at_ms, _), end in zip(pauses, ends, strict=True)))
    return found


def _idle_ms(begin: int, end: int, came: list[int]) -> int:
    """Return for how long of a wait nothing came to Chrome; `came` is when something did, over all connections."""
    points = [begin, *came[bisect_right(came, begin):bisect_left(came, end)], end]
    return sum(later - earlier for earlier, later in pairwise(points) if later - earlier >= IDLE_MS)
