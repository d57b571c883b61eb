"""The WebSockets of a page (RFC 6455): their messages with times, from what passed through Chrome's sockets.

wsproto reads both directions, compressed messages (RFC 7692) included. WebSockets over HTTP/2 (RFC 8441) are not read.
"""

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from math import inf
from operator import itemgetter

from wsproto.connection import Connection, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, TextMessage
from wsproto.extensions import Extension, PerMessageDeflate
from wsproto.frame_protocol import Opcode

from harness.files.exchange import Answer, Exchange, Message, Phases, Request
from harness.files.headers import header_in
from harness.netlog.socket_bytes import Socket

STATUS_LINE = re.compile("HTTP/1\\.[01] ([1-5][0-9][0-9])(?: |$)")
MOST_BYTES = 8_000_000
"""What all messages of a page may have together: its HAR, which holds them, must stay readable, and JSON writes some
bytes as six. What is said after that is left out."""
OVERHEAD_BYTES = 100
"""What the HAR has around a message."""
Moment = Callable[[float], datetime]
"""When a tick was."""


@dataclass
class _Room:
    """How many bytes of messages may still be kept."""

    left: int = MOST_BYTES

    def takes(self, size: int) -> bool:
        self.left -= size
        return self.left >= 0


def read_websockets(sockets: Iterable[Socket], moment: Moment, end_tick: float | None = None) -> list[Exchange]:
    """Return the WebSockets among `sockets`, in order of asking, and what was said up to `end_tick`.

    Another status than 101 (Switching Protocols) is the site's refusal. An answer is `partial` if these are not all
    messages. A WebSocket that cannot be read is left out.
    """
    room, found = _Room(), list[Exchange]()
    live = [socket for socket in sockets if socket.is_websocket and socket.sent.passed]
    for socket in sorted(live, key=lambda socket: socket.sent.tick(0)):
        with contextlib.suppress(ValueError):
            found += _read(socket, room, moment, inf if end_tick is None else end_tick)
    return found


def _read(socket: Socket, room: _Room, moment: Moment, last: float) -> Iterator[Exchange]:
    """Give what a socket was if it was a WebSocket. Messages for which there is no more `room` are left out."""
    asked, answered = socket.sent.head(), socket.received.head()
    status = STATUS_LINE.match(answered[0]) if answered else None
    if asked is None or answered is None or status is None:
        return
    (request_line, request_headers, sent_from), (_, response_headers, received_from) = asked, answered
    asked_tick, opened_tick = socket.sent.tick(0), socket.received.tick(received_from - 1)
    if opened_tick > last:
        return
    extensions = header_in(response_headers, "sec-websocket-extensions")
    messages = [*_messages(socket.sent.pieces(sent_from), ConnectionType.SERVER, extensions, room),
                *_messages(socket.received.pieces(received_from), ConnectionType.CLIENT, extensions, room)
                ] if int(status[1]) == HTTPStatus.SWITCHING_PROTOCOLS else []
    url = (f"{'wss' if socket.encrypted else 'ws'}://{header_in(request_headers, 'host')}"
           f"{request_line.split(' ')[1]}")
    yield Exchange(
        request=Request("GET", url, request_headers), started=moment(asked_tick),
        phases=Phases(send=0, wait=float(opened_tick - asked_tick)),
        answer=Answer(int(status[1]), protocol="HTTP/1.1", headers=response_headers, content_bytes=0, body_bytes=0,
                      partial=room.left < 0,
                      messages=tuple(Message(received, moment(tick).timestamp(), opcode, data) for _, tick, received,
                                     opcode, data in sorted(messages, key=itemgetter(0)) if tick <= last)))


def _messages(pieces: Iterable[tuple[int, int, bytes]], reader: ConnectionType, extensions: str, room: _Room
              ) -> Iterator[tuple[int, int, bool, int, bytes]]:
    """Give the messages of one direction, read as who is at its end would, as far as there is room for them: the number
    of the event that made it whole and its tick, whether it was received, opcode and data.

    Raises ValueError for nonsense in `extensions`.
    """
    used: list[Extension] = []
    if extensions.startswith(PerMessageDeflate.name):
        used.append(PerMessageDeflate())
        used[0].finalize(extensions)
    connection, begun = Connection(reader, used), list[bytes]()
    for tick, number, piece in pieces:
        connection.receive_data(piece)
        for event in connection.events():
            if isinstance(event, CloseConnection):
                begun, data, opcode, ends = [], str(int(event.code)).encode(), Opcode.CLOSE, True
            elif isinstance(event, TextMessage):
                data, opcode, ends = event.data.encode(), Opcode.TEXT, event.message_finished
            elif isinstance(event, BytesMessage):
                data, opcode, ends = bytes(event.data), Opcode.BINARY, event.message_finished
            else:
                continue
            begun.append(data)
            if not room.takes(len(data) + OVERHEAD_BYTES):
                return
            if ends:
                yield number, tick, reader is ConnectionType.CLIENT, opcode, b"".join(begun)
                begun = []
            if opcode == Opcode.CLOSE:
                return
