"""A WebSocket, replayed: the site's recorded messages, each when its time has come and what it answers was said.

wsproto does handshake and framing. What the page says is counted, not compared: the n-th recorded answer waits for as
many messages as came before it when it was recorded. Nothing of what the page says is kept.
"""

import time
from collections import deque
from collections.abc import Iterator

import h11
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, BytesMessage, CloseConnection, Message, Ping, Request, TextMessage
from wsproto.extensions import PerMessageDeflate
from wsproto.frame_protocol import FrameProtocol, Opcode
from wsproto.utilities import ProtocolError

from harness.mirror.live import LiveConnection, LiveMessage
from harness.replay.match import Request as Asked

NonsenseError = (ProtocolError, h11.ProtocolError)
"""What the page may not say."""


class Conversation:
    """One WebSocket from its handshake on: what the page says goes in, and what the site says comes out."""

    def __init__(self, live: LiveConnection) -> None:
        self._live, self._left = live, deque(live.messages)
        self._protocol = WSConnection(ConnectionType.SERVER)
        self._came = 0
        """The page's messages so far."""
        self._said_s = 0.0
        """When the site's latest message is to be sent, by time.monotonic()."""
        self.is_over = False
        """Whether the page closed it."""

    def accept(self, request: Asked) -> bytes:
        """Return the answer to the handshake. Raises NonsenseError for what is none."""
        self._protocol.initiate_upgrade_connection(
            [(name.encode("latin-1"), value.encode("latin-1")) for name, value in request.asked.headers.items()],
            request.target.encode("utf-8", "surrogateescape"))
        asked = next(self._protocol.events())
        offered, answered = asked.subprotocols if isinstance(asked, Request) else [], self._live.exchange.answer.header
        chosen, compressed = answered("sec-websocket-protocol"), answered("sec-websocket-extensions")
        return self._protocol.send(AcceptConnection(
            subprotocol=chosen if chosen in offered else None,
            extensions=[PerMessageDeflate()] if compressed.startswith(PerMessageDeflate.name) else []))

    def take(self, data: bytes) -> bytes:
        """Take what the page says; return what is answered at once. Raises NonsenseError for what may not be said."""
        self._protocol.receive_data(data)
        answered = b""
        for event in self._protocol.events():
            self._came += isinstance(event, Message) and event.message_finished
            if isinstance(event, (Ping, CloseConnection)):
                answered += self._protocol.send(event.response())
                self.is_over = isinstance(event, CloseConnection)
        return answered

    def due(self) -> Iterator[tuple[float, bytes]]:
        """Give the messages that wait for nothing the page has to say, each once: when, by time.monotonic(), and what.

        A message comes so long after the site's previous one, or after what the page said last before it.
        """
        self._said_s = max(self._said_s, time.monotonic())
        while self._left and self._left[0].awaits <= self._came:
            message = self._left.popleft()
            self._said_s += message.after_ms / 1000
            yield self._said_s, self._frame(message)

    def _frame(self, message: LiveMessage) -> bytes:
        """Return what is sent for a message.

        A close is not told to the protocol: until its time comes the page's pings and its own close are answered.
        """
        if message.opcode == Opcode.CLOSE:
            return bytes(FrameProtocol(client=False, extensions=[]).close(int(message.data)))
        return self._protocol.send(BytesMessage(message.data) if message.opcode == Opcode.BINARY
                                   else TextMessage(message.data.decode()))
