"""What is sent on one TCP connection, and when, by one thread that waits in one place.

An answer's way: it is worked out, held back for its round trip (harness.replay.connection), thought about, begun with
its head, and sent piece by piece when its turn comes (harness.replay.turns): as fast as may be, or as it came when it
was recorded. A subclass reads requests and puts heads and pieces into its version's form (harness.replay.http1, http2).

What HTTP/2 and HTTP/3, over QUIC, have in common is here, too: requests that come on streams, and the head of an answer
as fields.
"""

import heapq
import select
import ssl
import time
from collections.abc import Sequence
from contextlib import suppress

from harness.files.server_log import Early
from harness.replay.connection import Accepted, Connection
from harness.replay.heads import Field
from harness.replay.turns import Coming, Outgoing, Turns

UNSENT = 32 * 1024
"""Bytes that wait for the kernel, at most, before the next answer's turn is decided; at some sites also in it."""


class Answering(Turns):
    """Serves one connection to its end."""

    read_bytes = 64 * 1024
    """Bytes that are read at a time."""

    _connection: Accepted

    def __init__(self, connection: Accepted) -> None:
        super().__init__(connection)
        self._socket = connection.socket
        self._reads = True
        """Whether something is waited for from the client."""
        self._due: list[tuple[float, int]] = []
        """A heap of when answers are to begin, or to go on, by time.monotonic(), and their streams."""
        self._unsent = bytearray()

    def _received(self, data: bytes) -> bool:
        """Take what came; say whether the connection goes on."""
        raise NotImplementedError

    def _is_over(self) -> bool:
        """Say whether nothing more is to be sent or received."""
        return False

    def _left(self) -> bool:
        """Say whether there is something to do once the client has nothing more to say."""
        return False

    def serve(self) -> None:
        """Answer requests until the client leaves, or is silent for too long."""
        self._socket.setblocking(False)
        try:
            self._go_on()
        except OSError:    # the client left
            pass
        finally:
            self._finish_all()

    def _go_on(self) -> None:
        poll = select.poll()        # select() takes no descriptor over 1023
        deadline = time.monotonic() + self._connection.idle_limit_s
        while True:
            self._do_what_is_due()
            self._fill()
            if not self._unsent and self._is_over():
                return
            poll.register(self._socket, (select.POLLIN if self._reads else 0) | (select.POLLOUT if self._unsent else 0))
            next_s = min(deadline, self._due[0][0]) if self._due else deadline
            ready = poll.poll(max(0.0, (next_s - time.monotonic()) * 1000))
            if not ready and time.monotonic() < deadline:
                continue
            if not ready:
                return
            if ready[0][1] & select.POLLOUT:
                self._write()
            if ready[0][1] & ~select.POLLOUT and not self._read():
                return
            deadline = time.monotonic() + self._connection.idle_limit_s

    def _write(self) -> None:
        if self._unsent:
            with suppress(ssl.SSLWantWriteError, ssl.SSLWantReadError, BlockingIOError):
                del self._unsent[:self._socket.send(self._unsent)]

    def _read(self) -> bool:
        """Take what came; say whether the connection goes on. What TLS has decrypted is no longer seen by poll()."""
        while True:
            data, ends = self._gather()
            if data:
                goes_on = self._received(data)
                self._fill()
                self._write()
                if not goes_on:
                    return False
            if ends:
                return self._left()
            if not data:
                return True

    def _gather(self) -> tuple[bytes, bool]:
        """Return up to `read_bytes` of what came, and whether the client has nothing more to say.

        TLS gives one record at a time, and browsers write each request into one of its own: answers to those that came
        together leave together, as nginx's do, in fewer packets. Early data is told from what comes after it.
        """
        came = b""
        with suppress(ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError):
            while len(came) < self.read_bytes and (not came or self._connection.early == Early.NO):
                data = self._socket.recv(self.read_bytes - len(came))
                if not data:
                    return came, True
                came += data
        return came, False

    def _do_what_is_due(self) -> None:
        """Go on with the answers whose time has come, in the order of their times."""
        while self._due and self._due[0][0] <= time.monotonic():
            self._go_on_with(heapq.heappop(self._due)[1])

    def _takes_more(self) -> bool:
        return len(self._unsent) < UNSENT

    def _wake(self, at_s: float, stream: int) -> None:
        heapq.heappush(self._due, (at_s, stream))


FRAME = 16 * 1024 - 256
"""Bytes of a body in a frame: with its header, and that of a response before it, it fits into one record of TLS."""


class Streams(Turns):
    """The answers of a connection that carries several at once. A subclass puts heads into its version's form."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._coming: dict[int, Coming] = {}
        """Requests that have not ended, by stream."""

    def _begin(self, stream: int, fields: Sequence[Field]) -> None:
        """Take the head of a request; trailers say nothing that counts.

        What only HTTP/1 has means nothing here (RFC 9113, section 8.2.2): nobody opens a WebSocket so.
        """
        self._coming.setdefault(stream, Coming([field for field in fields if field[0] != "upgrade"]))

    def _end(self, stream: int, early: str) -> None:
        """Answer a request that has ended, unless it was reset."""
        if coming := self._coming.pop(stream, None):
            self._answer(stream, coming, early)

    def _send_head(self, stream: int, fields: list[Field], *, ends: bool = False) -> None:
        """Send a head. `ends`: nothing follows."""
        raise NotImplementedError

    def _write_hints(self, answer: Outgoing) -> None:
        self._send_head(answer.stream, [(":status", "103"), *answer.reply.early_hints])

    def _write_head(self, answer: Outgoing) -> None:
        reply = answer.reply
        head = [(":status", f"{reply.status:d}"), *reply.headers]      # of a member of HTTPStatus, too
        if reply.body is not None and not reply.stays_open:
            head.append(("content-length", str(len(reply.body))))
        self._send_head(answer.stream, head, ends=answer.is_over)

    def _forget(self, stream: int) -> None:
        """Send nothing more on a stream that was reset, and take nothing."""
        self._coming.pop(stream, None)
        if stream in self._answers:
            self._finish(self._answers[stream])
