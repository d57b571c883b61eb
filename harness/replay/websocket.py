"""A WebSocket, replayed: the site's recorded messages, each when its time has come and what it answers was said.

wsproto does handshake and framing. What the page says is counted, not compared: the n-th recorded answer waits for as
many messages as came before it when it was recorded. Nothing of what the page says is kept.
"""

import time
from collections.abc import Iterable
from contextlib import suppress
from socket import socket

import h11
from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Event,
    Message,
    Ping,
    Request,
    TextMessage,
)
from wsproto.extensions import PerMessageDeflate
from wsproto.frame_protocol import Opcode
from wsproto.utilities import ProtocolError

from harness.mirror.live import LiveConnection, LiveMessage

READ = 16 * 1024
"""Compressed, so many bytes become 16 MB at most."""


class LeftError(Exception):
    """The page closed the connection."""


class Conversation:
    """One WebSocket from its handshake to its end."""

    def __init__(self, connection: socket, live: LiveConnection, idle_limit_s: float) -> None:
        """Talk over `connection`, whose handshake's request was read, for as long as somebody says something."""
        self._connection, self._live, self._idle_limit_s = connection, live, idle_limit_s
        self._protocol = WSConnection(ConnectionType.SERVER)
        self._came = 0
        """The page's messages so far."""
        self.sent = 0
        """Bytes of the site's messages so far."""

    def hold(self, target: str, headers: Iterable[tuple[str, str]]) -> None:
        """Shake hands, send what was recorded, and listen until the page leaves or falls silent."""
        with suppress(LeftError, ProtocolError, h11.ProtocolError, OSError):
            self._shake_hands(target, headers)
            for message in self._live.messages:
                self._wait_for(message)
                self._send(_event(message))
                self.sent += len(message.data)
            while True:     # until there was no message for so long, which ends it as the page's leaving does
                self._hear_message()

    def _shake_hands(self, target: str, headers: Iterable[tuple[str, str]]) -> None:
        self._protocol.initiate_upgrade_connection(
            [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers],
            target.encode("utf-8", "surrogateescape"))
        asked = next(self._protocol.events())
        offered, answered = asked.subprotocols if isinstance(asked, Request) else [], self._live.exchange.answer.header
        chosen, compressed = answered("sec-websocket-protocol"), answered("sec-websocket-extensions")
        self._send(AcceptConnection(
            subprotocol=chosen if chosen in offered else None,
            extensions=[PerMessageDeflate()] if compressed.startswith(PerMessageDeflate.name) else []))

    def _wait_for(self, message: LiveMessage) -> None:
        """Listen until the page has said what `message` waits for, and then for as long as it was silent before."""
        while self._came < message.awaits:
            self._hear_message()
        until = time.monotonic() + message.after_ms / 1000
        while self._hear(until):
            pass

    def _hear_message(self) -> None:
        """Wait for the page's next message. Raises LeftError when it leaves, or is silent for too long."""
        came, until = self._came, time.monotonic() + self._idle_limit_s
        while self._came == came:
            if not self._hear(until):
                raise LeftError

    def _hear(self, until: float) -> bool:
        """Take what comes next; say whether anything came until then. Raises LeftError when the page leaves."""
        if (left := until - time.monotonic()) <= 0:
            return False
        self._connection.settimeout(left)
        try:
            data = self._connection.recv(READ)
        except TimeoutError:
            return False
        if not data:
            raise LeftError
        self._protocol.receive_data(data)
        for event in self._protocol.events():
            self._take(event)
        return True

    def _take(self, event: Event) -> None:
        if isinstance(event, Message):
            self._came += event.message_finished
        elif isinstance(event, Ping):
            self._send(event.response())
        elif isinstance(event, CloseConnection):
            self._send(event.response())
            raise LeftError

    def _send(self, event: Event) -> None:
        self._connection.settimeout(self._idle_limit_s)
        self._connection.sendall(self._protocol.send(event))


def _event(message: LiveMessage) -> Event:
    if message.opcode == Opcode.CLOSE:
        return CloseConnection(code=int(message.data))
    return BytesMessage(message.data) if message.opcode == Opcode.BINARY else TextMessage(message.data.decode())
