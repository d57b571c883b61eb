"""What Chrome wrote to its sockets and read from them, byte for byte, from its net-log.

With ``--net-log-capture-mode=Everything`` the log has it: SSL_SOCKET_BYTES_SENT and _RECEIVED are what TLS protects,
SOCKET_BYTES_SENT and _RECEIVED what crossed the network.
"""

import base64
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import itemgetter

from harness.files.headers import Headers
from harness.netlog.file import POINT, Event, Readers, Subscriber

HTTP2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEAD_END = b"\r\n\r\n"
LARGEST_HEAD = 16_384
"""Bytes in which a request for a WebSocket is looked for."""


@dataclass
class Stream:
    """One direction of a socket: what passed, and of each piece where it begins, its tick, and its event's number.

    The number tells the order of what passed within one tick, a millisecond.
    """

    data: bytearray = field(default_factory=bytearray)
    passed: list[tuple[int, int, int]] = field(default_factory=list)

    def add(self, event: Event) -> None:
        """Add what passed."""
        self.passed.append((len(self.data), event.tick, event.number))
        self.data += base64.b64decode(event.params["bytes"])

    def tick(self, offset: int) -> int:
        """Return when the byte at `offset` passed."""
        return self.passed[bisect_right(self.passed, offset, key=itemgetter(0)) - 1][1]

    def head(self, at: int = 0) -> tuple[str, Headers, int] | None:
        """Return the first line, the headers and the end of the head at `at`; None when there is no whole one."""
        end = self.data.find(HEAD_END, at)
        if end < 0:
            return None
        first, *lines = self.data[at:end].decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines)
        return first, tuple((name, value.strip()) for name, _, value in pairs), end + len(HEAD_END)

    def pieces(self, start: int) -> Iterator[tuple[int, int, bytes]]:
        """Give the tick, the event's number and the bytes of each piece, from the byte at `start` on."""
        ends = [*(begin for begin, _, _ in self.passed[1:]), len(self.data)]
        for (begin, tick, number), end in zip(self.passed, ends, strict=True):
            if end > start:
                yield tick, number, bytes(self.data[max(begin, start):end])


@dataclass
class Socket:
    """One socket. `source` is its id in the net-log, as of harness.netlog.connections.Connection.

    What it `received` is kept of a WebSocket only: of others it is long.
    """

    source: int
    sent: Stream = field(default_factory=Stream)
    received: Stream = field(default_factory=Stream)
    encrypted: bool = False
    is_websocket: bool | None = None
    """None before anything was received."""


def _sent(socket: Socket, event: Event) -> None:
    if "bytes" in event.params:
        socket.sent.add(event)


def _received(socket: Socket, event: Event) -> None:
    if socket.is_websocket is None:
        head = bytes(socket.sent.data[:LARGEST_HEAD]).partition(HEAD_END)[0].lower()
        socket.is_websocket = head.startswith(b"get ") and b"\r\nupgrade: websocket" in head
    if socket.is_websocket and "bytes" in event.params:
        socket.received.add(event)


_READERS: Readers[Socket] = {
    ("SOCKET_BYTES_SENT", POINT): lambda socket, event: None if socket.encrypted else _sent(socket, event),
    ("SOCKET_BYTES_RECEIVED", POINT): lambda socket, event: None if socket.encrypted else _received(socket, event),
    ("SSL_SOCKET_BYTES_SENT", POINT): lambda socket, event: _sent(_secured(socket), event),
    ("SSL_SOCKET_BYTES_RECEIVED", POINT): lambda socket, event: _received(_secured(socket), event),
}


class Sockets(Subscriber[Socket]):
    """Reads what was sent over the sockets; what crossed the network of those that speak TLS is noise."""

    def __init__(self) -> None:
        super().__init__(("SOCKET",), Socket, _READERS)


def _secured(socket: Socket) -> Socket:
    """Return a socket that speaks TLS, without what was kept of its handshake."""
    if not socket.encrypted:
        socket.sent, socket.received, socket.encrypted, socket.is_websocket = Stream(), Stream(), True, None
    return socket
