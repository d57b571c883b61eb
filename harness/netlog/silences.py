"""When Chrome waited for a server and nothing came: the clock check that a load carries in itself.

A server is asked for something by a connect, by the first bytes of a TLS handshake, or by a request. Until all of that
is there, something of it should arrive at least once in a round trip: the SYN-ACK, the answer to the handshake, the
answer's head, and while a body comes the packets that each of our acknowledgements lets go. Answers that queue behind
each other on one server's link do not leave it silent. So a silence that is longer than a round trip and the server's
own time means that somebody, somewhere between, did not keep time.

A SYN-ACK comes from the server's kernel, also while its program stands still. So it ends the wait of a connect, but not
that of a request or a TLS handshake. A long request does not fit into the SYN: the rest of it is sent when the SYN-ACK
is there, and only then the server is asked.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from harness.netlog.connections import Connection
from harness.netlog.load import NetLog
from harness.netlog.requests import HttpTransaction
from harness.system.tcp import without_port

SHORTEST_MS = 5.0
"""Silences below this are left out: no link that is worth measuring is that short, and the net-log counts whole ms."""


@dataclass(frozen=True)
class Silence:
    """Nothing came from the server at `address` (without its port), though it was asked; ms from the load's start.

    When `connecting` it was asked for a connection; otherwise for an answer, and a SYN-ACK is none.
    """

    address: str
    start_ms: float
    end_ms: float
    connecting: bool


def silences(netlog: NetLog, start_tick: float, end_tick: float) -> list[Silence]:
    """Return the silences of SHORTEST_MS and more between two ticks, in order of their start.

    One that lasts beyond `end_tick` is cut there. Requests that had no head of an answer by then are left out: they may
    have had none when the page was recorded either (a long poll). Whether they did, harness.measure.validity looks at.
    """
    hosts: dict[str, _ServerSpans] = defaultdict(_ServerSpans)
    by_id = {connection.id: connection for connection in netlog.connections}
    for connection in netlog.connections:
        hosts[without_port(connection.address)].note(connection, end_tick)
    for transaction in netlog.transactions:
        if transaction.connection in by_id and transaction.sends:
            connection = by_id[transaction.connection]
            hosts[without_port(connection.address)].asked.append(_waiting(transaction, connection, end_tick))
    found = [Silence(address, begin - start_tick, end - start_tick, connecting) for address, host in hosts.items()
             for connecting, gaps in host.silent(start_tick, end_tick) for begin, end in gaps
             if end - begin >= SHORTEST_MS]
    return sorted(found, key=lambda silence: (silence.start_ms, silence.address, silence.connecting))


@dataclass
class _ServerSpans:
    """One server: the spans in which it was asked for connections, or for answers, and when either came, in ticks."""

    connects: list[tuple[float, float]] = field(default_factory=list)
    stood: list[float] = field(default_factory=list)
    asked: list[tuple[float, float]] = field(default_factory=list)
    answers: list[float] = field(default_factory=list)

    def note(self, connection: Connection, end_tick: float) -> None:
        """Note what came over a connection, and when its handshakes waited; a connect that failed waited for nobody.

        Chrome gives up a connect that it does not need any more, since another connection to the host speaks HTTP/2.
        """
        self.answers += connection.received
        if connection.error:
            return
        if connection.connected is None:
            self.connects.append((connection.start, end_tick if connection.closed is None else connection.closed))
        else:
            self.connects.append((connection.start, connection.connected))
            self.stood.append(connection.connected)
        if connection.ssl:
            self.asked.append((_hello_sent(connection, *connection.ssl), connection.ssl[1]))
            self.answers.append(connection.ssl[1])

    def silent(self, lower: float, upper: float) -> Iterator[tuple[bool, list[tuple[float, float]]]]:
        """Yield the gaps in which it answered no connect (True), and those in which it answered nothing else."""
        answers = sorted(self.answers)
        yield True, _silent(self.connects, sorted([*answers, *self.stood]), lower, upper)
        yield False, _silent(self.asked, answers, lower, upper)


def _hello_sent(connection: Connection, begin: int, end: int) -> int:
    """Return when the ClientHello had been sent whole: one with a post-quantum key does not fit into the SYN."""
    answered = min((at for at in connection.received if at >= begin), default=end)
    return max((at for at in connection.sent if begin <= at <= answered), default=begin)


def _waiting(transaction: HttpTransaction, connection: Connection, end_tick: float) -> tuple[float, float]:
    """Return from when to when a request waited for bytes: what Chrome does after the last of them is its own time.

    From when all of it was sent: with TCP Fast Open that is a round trip later if it did not fit into the SYN.
    """
    sent = transaction.start + transaction.phases.until_asked + max(0.0, transaction.phases.send)
    end = transaction.end
    if transaction.is_stream(over=end is not None and end <= end_tick):
        return sent, transaction.start + transaction.phases.until_head     # what is new comes when it is new
    if (end is None or end > end_tick) and (not transaction.status
                                            or transaction.start + transaction.phases.until_head > end_tick):
        return sent, sent
    if end is None:
        return sent, end_tick
    return sent, max((at for at in connection.received if sent < at <= end), default=end)


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
