"""A connection that speaks HTTP/1 (RFC 9112): one request after the other.

Head and first piece of a body leave in one write, so keep-alive costs no round trip more. No headers of its own are
sent, such as Server: a recording has its own, or none.
"""

import re
import socket
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache, partial
from http import client

from harness.files.headers import NUMBER
from harness.mirror.headers import TOKEN
from harness.replay.answering import Answering
from harness.replay.connection import LARGEST_HEAD, Accepted
from harness.replay.turns import Coming, Outgoing
from harness.replay.websocket import Conversation, NonsenseError

END_OF_HEAD = re.compile(rb"\r?\n\r?\n")
CHUNK = 64 * 1024
"""Bytes of a body that are written at a time; the first chunk is sent together with the head."""
HEARD_BYTES = 16 * 1024
"""Of a WebSocket that are read at a time: compressed, so many become 16 MB at most."""
HTTP_1_1 = "HTTP/1.1"


class Http1Connection(Answering):
    """Answers the requests of one connection."""

    def __init__(self, connection: Accepted) -> None:
        super().__init__(connection)
        self._came = bytearray()
        """What was not taken yet: a part of a request, or the next ones while one is answered."""
        self._coming: Coming | None = None
        """A request whose body is coming: `_body_left` bytes of it."""
        self._body_left = 0
        self._keeps, self._closes = True, False
        """Whether the client keeps the connection after the present answer, and whether it ends with that."""
        self._conversation: Conversation | None = None

    def serve(self) -> None:
        """Answer requests to the connection's end, and say that nothing more will come."""
        super().serve()
        with suppress(OSError):    # the client may be gone
            if not self._connection.service.tls:
                self._socket.shutdown(socket.SHUT_WR)

    def _is_over(self) -> bool:
        return self._closes and not self._answers

    def _left(self) -> bool:
        self._reads, self._closes = False, True
        for answer in [*self._answers.values()]:
            if not answer.begun_s or answer.reply.arrivals or answer.reply.stays_open:
                self._finish(answer)
        return bool(self._unsent or self._answers)      # it may have shut down its side alone

    def _received(self, data: bytes) -> bool:
        if self._conversation is not None:
            return self._converse(self._answers[0], partial(self._conversation.take, data))
        if not self._closes:
            self._came += data
        return True

    def _fill(self) -> None:
        super()._fill()
        while self._came and not (self._answers or self._closes) and self._take():
            super()._fill()

    def _take(self) -> bool:
        """Take a request, or a part of one, out of what came; say whether there was one."""
        if self._coming is None:
            end = END_OF_HEAD.search(self._came)
            if end is None:
                if len(self._came) > LARGEST_HEAD:
                    self._refuse()
                return False
            head = bytes(self._came[:end.start()])
            del self._came[:end.end()]
            self._take_head(head.lstrip(b"\r\n"))
        if self._coming is not None:
            self._take_body(self._coming)
        return True

    def _take_head(self, head: bytes) -> None:
        first, *lines = head.split(b"\n")
        words = [word.decode("latin-1") for word in first.split()]
        pairs = [(name.decode("latin-1").lower(), value.strip().decode("latin-1"))
                 for name, _, value in (line.partition(b":") for line in lines)]
        if len(words) != 3 or not words[2].startswith("HTTP/1.") or not all(
                TOKEN.fullmatch(name) for name in (words[0], *(name for name, _ in pairs))):
            self._refuse()
            return
        method, target, version = words
        self._coming = Coming([(":method", method), (":path", target), *pairs])
        headers = self._coming.headers
        said, length = headers.get("connection", "").lower(), headers.get("content-length", "0")
        self._keeps = self._connection.protocol == HTTP_1_1 and said != "close" and (
            version == HTTP_1_1 or said == "keep-alive")
        self._body_left = int(length) if NUMBER.fullmatch(length) else -1
        if "transfer-encoding" in headers or self._body_left < 0:
            self._keeps, self._body_left = False, 0       # where the next request would begin is unknown

    def _take_body(self, coming: Coming) -> None:
        piece = self._came[:self._body_left]
        del self._came[:len(piece)]
        coming.take(piece)
        self._body_left -= len(piece)
        if not self._body_left:
            self._coming = None
            self._answer(0, coming, self._connection.early)

    def _refuse(self) -> None:
        """Answer what is no request."""
        self._closes = True
        self._unsent += b"HTTP/1.1 400 Bad Request\r\n\r\n"

    def _converse(self, answer: Outgoing, hear: Callable[[], bytes]) -> bool:
        """Answer what is heard in a WebSocket, and have the site's messages sent in their time; say if it goes on."""
        assert self._conversation is not None
        try:
            self._unsent += hear()
            for at_s, frame in self._conversation.due():
                answer.body += frame
                answer.arrivals.append((at_s, len(answer.body)))
                self._wake(at_s, answer.stream)
        except NonsenseError:
            return False
        return not self._conversation.is_over

    def _write_head(self, answer: Outgoing) -> None:
        reply = answer.reply
        self._closes = self._closes or not self._keeps or reply.closes or reply.stays_open
        if reply.live is not None:
            self._conversation, self.read_bytes, answer.body = Conversation(reply.live), HEARD_BYTES, bytearray()
            if not self._converse(answer, partial(self._conversation.accept, answer.request)):
                reply.stays_open, self._conversation = False, None
            return
        lines = [f"{self._connection.protocol} {reply.status} {client.responses.get(reply.status, '')}",
                 *(f"{_title(name)}: {value}" for name, value in reply.headers),
                 f"Connection: {'close' if self._closes else 'keep-alive'}"]
        if reply.body is not None and not reply.stays_open:
            lines.append(f"Content-Length: {len(reply.body)}")
        self._unsent += ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    def _write_piece(self, answer: Outgoing, piece: bytes) -> None:     # noqa: ARG002 (there is one)
        self._unsent += piece

    def _room(self, answer: Outgoing) -> int:
        return CHUNK if self._conversation is None else answer.left     # whole frames, between which others may stand


@lru_cache(maxsize=1024)
def _title(name: str) -> str:
    return name.title()
