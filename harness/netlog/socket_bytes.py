"""What Chrome wrote to its sockets and read from them, byte for byte, from its net-log.

With ``--net-log-capture-mode=Everything`` the log has it: SSL_SOCKET_BYTES_SENT and _RECEIVED are what TLS protects,
SOCKET_BYTES_SENT and _RECEIVED what crossed the network.
"""

import base64
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from harness.files.headers import Headers
from harness.netlog.file import POINT, Event, Readers, Subscriber

HTTP2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEAD_END = b"\r\n\r\n"
FRAME_HEAD = 9
"""Bytes of a frame's head (RFC 9113, section 4.1)."""
DATA, HEADERS, CONTINUATION = 0, 1, 9
LARGEST_HEAD = 16_384
"""Bytes in which a request for a WebSocket is looked for."""


@dataclass
class Stream:
    """One direction of a socket: pieces with the ticks at which they passed, and where each begins.

    `numbers` are those of the net-log's events, which tell the order of what passed within one tick, a millisecond.
    """

    data: bytearray = field(default_factory=bytearray)
    ticks: list[int] = field(default_factory=list)
    begins: list[int] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)

    def add(self, event: Event) -> None:
        """Add what passed."""
        self.numbers.append(event.number)
        self.begins.append(len(self.data))
        self.ticks.append(event.tick)
        self.data += base64.b64decode(event.params["bytes"])

    def tick(self, offset: int) -> int:
        """Return when the byte at `offset` passed."""
        return self.ticks[bisect_right(self.begins, offset) - 1]

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
        for tick, number, begin, end in zip(self.ticks, self.numbers, self.begins,
                                            [*self.begins[1:], len(self.data)], strict=True):
            if end > start:
                yield tick, number, bytes(self.data[max(begin, start):end])


class HeadSizes:
    """How large the heads of answers over HTTP/2 were on the wire, read from what came, piece by piece.

    A head's fields do not tell it: whether a server compresses them, and keeps a table of those it has sent (RFC 7541),
    is its own choice. Chrome logs no sizes of heads.
    """

    def __init__(self) -> None:
        self.by_stream: dict[int, int] = {}
        """Bytes of each answer's head in its frames, without the frames' own 9; interim heads (103) and trailers, which
        come before it and after the body, are not it."""
        self._begun: set[int] = set()
        """Streams whose bodies have begun."""
        self._rest = b""
        self._left = 0
        """Bytes of the last frame that are still to come."""

    def add(self, piece: bytes) -> None:
        """Take what came next."""
        data, at = self._rest + piece, 0
        while True:
            passed = min(self._left, len(data) - at)
            at, self._left = at + passed, self._left - passed
            if len(data) - at < FRAME_HEAD:
                break
            self._left = int.from_bytes(data[at:at + 3], "big")
            self._note(data[at + 3], int.from_bytes(data[at + 5:at + FRAME_HEAD], "big") & 0x7FFF_FFFF, self._left)
            at += FRAME_HEAD
        self._rest = data[at:]

    def _note(self, kind: int, stream: int, size: int) -> None:
        if kind == DATA:
            self._begun.add(stream)
        elif stream in self._begun:
            return
        elif kind == HEADERS:
            self.by_stream[stream] = size
        elif kind == CONTINUATION and stream in self.by_stream:
            self.by_stream[stream] += size


@dataclass
class Socket:
    """One socket. `source` is its id in the net-log, as of harness.netlog.connections.Connection.

    What it `received` is kept of a WebSocket only: of others it is long. Over HTTP/2 the sizes of heads are kept of it.
    """

    source: int
    sent: Stream = field(default_factory=Stream)
    received: Stream = field(default_factory=Stream)
    heads: HeadSizes = field(default_factory=HeadSizes)
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
    if "bytes" not in event.params:
        return
    if socket.is_websocket:
        socket.received.add(event)
    elif not socket.sent.data or socket.sent.data.startswith(HTTP2_PREFACE):    # over HTTP/1.1 no server speaks first
        socket.heads.add(base64.b64decode(event.params["bytes"]))


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
        socket.heads = HeadSizes()
    return socket
