"""The WebSockets of a page (RFC 6455): their messages with times, from what passed through Chrome's sockets.

wsproto reads both directions, compressed messages (RFC 7692) included. WebSockets over HTTP/2 (RFC 8441) are not read.
"""

import contextlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from http import HTTPStatus
from operator import itemgetter

from wsproto.connection import Connection, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, TextMessage
from wsproto.extensions import Extension, PerMessageDeflate
from wsproto.frame_protocol import Opcode

from harness.netlog.socket_bytes import HEAD_END, Socket, Stream

STATUS_LINE = re.compile("HTTP/1\\.[01] ([1-5][0-9][0-9])(?: |$)")
MOST_BYTES = 8_000_000
"""What all messages of a page may have together: its HAR, which holds them, must stay readable, and JSON writes some
bytes as six. What is said after that is left out."""
OVERHEAD_BYTES = 100
"""What the HAR has around a message."""
Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Message:
    """One message, or the close of a direction: then `data` is the code as text. `tick` is when it was whole."""

    tick: int
    received: bool
    opcode: int
    data: bytes


@dataclass(frozen=True)
class WebSocket:
    """One connection: when it was asked for, when that was answered (ticks), with which status, and what was said.

    Any other status than 101 (Switching Protocols) is the site's refusal.
    """

    url: str
    asked_tick: int
    opened_tick: int
    request_headers: Headers
    response_headers: Headers
    status: int
    messages: tuple[Message, ...]
    whole: bool = True
    """Whether these are all messages."""


@dataclass
class _Room:
    """How many bytes of messages may still be kept."""

    left: int = MOST_BYTES

    def takes(self, size: int) -> bool:
        self.left -= size
        return self.left >= 0


def read_websockets(sockets: Iterable[Socket], end_tick: float | None = None) -> list[WebSocket]:
    """Return the WebSockets among `sockets`, in order of opening, and what was said up to `end_tick`.

    One that cannot be read is left out.
    """
    last = float("inf") if end_tick is None else end_tick
    found: list[WebSocket] = []
    room = _Room()
    for socket in sockets:
        with contextlib.suppress(ValueError):
            found += _read(socket, room) if socket.is_websocket else []
    return sorted((_until(last, websocket) for websocket in found if websocket.opened_tick <= last),
                  key=lambda websocket: websocket.asked_tick)


def _until(last: float, websocket: WebSocket) -> WebSocket:
    return replace(websocket, messages=tuple(message for message in websocket.messages if message.tick <= last))


def _read(socket: Socket, room: _Room) -> Iterator[WebSocket]:
    """Give what a socket was if it was a WebSocket. Messages for which there is no more `room` are left out."""
    asked, answered = (_head(stream) for stream in (socket.sent, socket.received))
    status = STATUS_LINE.match(answered[0]) if answered else None
    if asked is None or answered is None or status is None:
        return
    (request_line, request_headers, sent_from), (_, response_headers, received_from) = asked, answered
    by_name = {name.lower(): value for name, value in response_headers}
    extensions = by_name.get("sec-websocket-extensions", "")
    messages = [*_messages(socket.sent, sent_from, _Reader(ConnectionType.SERVER, extensions), room),
                *_messages(socket.received, received_from, _Reader(ConnectionType.CLIENT, extensions), room)
                ] if int(status[1]) == HTTPStatus.SWITCHING_PROTOCOLS else []
    host = {name.lower(): value for name, value in request_headers}.get("host", "")
    yield WebSocket(f"{'wss' if socket.encrypted else 'ws'}://{host}{request_line.split(' ')[1]}",
                    socket.sent.tick(0), socket.received.tick(received_from - 1), request_headers, response_headers,
                    int(status[1]), tuple(message for _, message in sorted(messages, key=itemgetter(0))),
                    whole=room.left >= 0)


def _head(stream: Stream) -> tuple[str, Headers, int] | None:
    """Return the first line, the headers and where they end; None when there is no whole head."""
    end = stream.data.find(HEAD_END)
    if end < 0:
        return None
    first, *lines = bytes(stream.data[:end]).decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines)
    return first, tuple((name, value.strip()) for name, _, value in pairs), end + len(HEAD_END)


class _Reader:
    """Reads one direction as who is at its end would: `reader`. Raises ValueError for nonsense in `extensions`."""

    def __init__(self, reader: ConnectionType, extensions: str) -> None:
        used: list[Extension] = []
        if extensions.startswith(PerMessageDeflate.name):
            used.append(PerMessageDeflate())
            used[0].finalize(extensions)
        self.received = reader is ConnectionType.CLIENT
        self._connection = Connection(reader, used)
        self._begun: list[bytes] = []

    def read(self, piece: bytes) -> Iterator[tuple[int, int, bytes]]:
        """Give of each event how many bytes came; once a message is whole its opcode, before 0, and all of it."""
        self._connection.receive_data(piece)
        for event in self._connection.events():
            if isinstance(event, CloseConnection):
                yield 0, Opcode.CLOSE, str(int(event.code)).encode()
                return
            if isinstance(event, TextMessage | BytesMessage):
                data = event.data.encode() if isinstance(event, TextMessage) else bytes(event.data)
                self._begun.append(data)
                if not event.message_finished:
                    yield len(data), 0, b""
                    continue
                yield len(data), Opcode.TEXT if isinstance(event, TextMessage) else Opcode.BINARY, b"".join(self._begun)
                self._begun = []


def _messages(stream: Stream, start: int, reader: _Reader, room: _Room) -> Iterator[tuple[int, Message]]:
    """Give the messages of one direction, as far as there is room for them, each with its event's number."""
    for tick, number, piece in stream.pieces(start):
        for size, opcode, data in reader.read(piece):
            if not room.takes(size + OVERHEAD_BYTES):
                return
            if opcode:
                yield number, Message(tick, reader.received, opcode, data)
            if opcode == Opcode.CLOSE:
                return
