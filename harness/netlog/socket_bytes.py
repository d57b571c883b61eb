"""What Chrome wrote to its sockets and read from them, byte for byte, from its net-log.

With ``--net-log-capture-mode=Everything`` the log has it: SSL_SOCKET_BYTES_SENT and _RECEIVED are what TLS protects,
SOCKET_BYTES_SENT and _RECEIVED what crossed the network.
"""

import base64
import contextlib
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from harness.netlog.file import read_constants, read_events

SENT, RECEIVED = "SOCKET_BYTES_SENT", "SOCKET_BYTES_RECEIVED"
TLS = "SSL_"


@dataclass
class Stream:
    """One direction of a socket: pieces with the ticks at which they passed, and where each begins.

    `numbers` are those of the net-log's events, which tell the order of what passed within one tick, a millisecond.
    """

    encrypted: bool
    data: bytearray = field(default_factory=bytearray)
    ticks: list[int] = field(default_factory=list)
    begins: list[int] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)

    def add(self, tick: int, piece: bytes, number: int) -> None:
        """Add what passed at `tick`, by the net-log's event of that `number`."""
        self.numbers.append(number)
        self.begins.append(len(self.data))
        self.ticks.append(tick)
        self.data += piece

    def tick(self, offset: int) -> int:
        """Return when the byte at `offset` passed."""
        return self.ticks[bisect_right(self.begins, offset) - 1]

    def pieces(self, start: int) -> Iterator[tuple[int, int, bytes]]:
        """Give the tick, the event's number and the bytes of each piece, from the byte at `start` on."""
        for tick, number, begin, end in zip(self.ticks, self.numbers, self.begins,
                                            [*self.begins[1:], len(self.data)], strict=True):
            if end > start:
                yield tick, number, bytes(self.data[max(begin, start):end])


@dataclass
class Socket:
    """One socket. `source` is its id in the net-log, as of harness.netlog.connections.Connection."""

    source: int
    sent: Stream
    received: Stream


def read_sockets(path: Path, keep_received: Callable[[Stream], bool] = lambda _: False) -> list[Socket]:
    """Return the page's sockets. Of those for which `keep_received` says no what was received is left out: it is long.

    `keep_received` is asked whenever something was received, with what was sent before. Raises ExperimentError when the
    file cannot be read.
    """
    types = read_constants(path).get("logEventTypes")
    if not isinstance(types, dict):
        return []
    names = {types[name]: name for name in (SENT, RECEIVED, TLS + SENT, TLS + RECEIVED) if name in types}
    sockets: dict[tuple[int, bool], Socket] = {}
    for number, event in enumerate(read_events(path, [])):
        with contextlib.suppress(KeyError, TypeError, ValueError):      # no event, or one of a log without bytes
            name = names.get(event["type"])
            if name is None:
                continue
            encrypted = name.startswith(TLS)
            source = int(event["source"]["id"])
            socket = sockets.setdefault((source, encrypted), Socket(source, Stream(encrypted), Stream(encrypted)))
            if name.endswith(SENT):
                socket.sent.add(int(event["time"]), base64.b64decode(event["params"]["bytes"]), number)
            elif keep_received(socket.sent):
                socket.received.add(int(event["time"]), base64.b64decode(event["params"]["bytes"]), number)
    return [socket for (source, encrypted), socket in sockets.items() if encrypted or (source, True) not in sockets]
