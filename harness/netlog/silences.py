"""When Chrome waited for a server and nothing came: the clock check that a load carries in itself.

A server is asked for something by a connect, by the first bytes of a TLS handshake, or by a request. Until all of that
is there, something of it should arrive at least once in a round trip: the SYN-ACK, the answer to the handshake, the
answer's head, and while a body comes the packets that each of our acknowledgements lets go. Answers that queue behind
each other on one server's link do not leave it silent. So a silence that is longer than a round trip and the server's
own time means that somebody, somewhere between, did not keep time.
"""

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise

from harness.netlog.connections import Connection
from harness.netlog.load import NetLog
from harness.netlog.transactions import HttpTransaction

SHORTEST_MS = 5.0
"""Silences below this are left out: no link that is worth measuring is that short, and the net-log counts whole ms."""


@dataclass(frozen=True)
class Silence:
    """Nothing came from the server at `address` (without its port), though it was asked; ms from the load's start."""

    address: str
    start_ms: float
    end_ms: float


def silences(netlog: NetLog, start_tick: float, end_tick: float) -> list[Silence]:
    """Return the silences of SHORTEST_MS and more between two ticks, in order of their start.

    One that lasts beyond `end_tick` is cut there; so is what was never answered.
    """
    pending: dict[str, list[tuple[float, float]]] = defaultdict(list)
    arrivals: dict[str, list[float]] = defaultdict(list)
    by_id = {connection.id: connection for connection in netlog.connections}
    for connection in netlog.connections:
        address = _without_port(connection)
        arrivals[address] += connection.received
        pending[address] += _handshakes(connection, end_tick)
        arrivals[address] += [end for _, end in _handshakes(connection, end_tick)]
    for transaction in netlog.transactions:
        if transaction.connection in by_id and transaction.sends:
            connection = by_id[transaction.connection]
            pending[_without_port(connection)].append(_waiting(transaction, connection, end_tick))
    found = [Silence(address, begin - start_tick, end - start_tick) for address, waits in pending.items()
             for begin, end in _silent(waits, sorted(arrivals[address]), start_tick, end_tick)
             if end - begin >= SHORTEST_MS]
    return sorted(found, key=lambda silence: (silence.start_ms, silence.address))


def _without_port(connection: Connection) -> str:
    return connection.address.rpartition(":")[0].strip("[]")


def _handshakes(connection: Connection, end_tick: float) -> list[tuple[float, float]]:
    """Return the spans in which a connect and a TLS handshake waited. A connect that failed waited for nobody."""
    if connection.error:
        return []
    tcp = (connection.start, end_tick if connection.connected is None else connection.connected)
    return [tcp, *([connection.ssl] if connection.ssl else [])]


def _waiting(transaction: HttpTransaction, connection: Connection, end_tick: float) -> tuple[float, float]:
    """Return from when to when a request waited for bytes: what Chrome does after the last of them is its own time."""
    phases = transaction.phases
    sent = transaction.start + sum(max(0.0, part) for part in (phases.blocked, phases.dns, phases.connect))
    end = transaction.end
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
