"""A connection that speaks HTTP/1: read requests, answer them from the recording, note each in the server's log.

http.server parses the requests: measured 35 us a request (h11: 55 us), small against the 400 us that 2500 requests/s
leave, and it is what the course's SimpleHTTPServer is made of. Around it stand limits on size and time, one write for
head and body, and the log. No headers of its own are sent, such as Server: a recording has its own, or none.
"""

import http.client
import io
import select
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler

from harness.files.server_log import FoundAs
from harness.mirror.asked import Asked, BodyHash, BodyHasher, headers_of
from harness.mirror.headers import TOKEN
from harness.replay.connection import LARGEST_UPLOAD, Accepted
from harness.replay.match import Request
from harness.replay.reply import Reply, reply_to
from harness.replay.site import Site
from harness.replay.websocket import Conversation

LARGEST_HEAD = 128 * 1024
"""Bytes a request's head may have. http.server itself bounds each line (64 KiB) and their number (100)."""
LINGER_S = 1.0
CHUNK = 64 * 1024
"""Bytes of a body held in memory at a time; the first chunk is sent together with the head."""
HEAD_ROOM = 16 * 1024


class BoundedReader(io.RawIOBase):
    """A socket's bytes, at most so many and until a deadline; `silent` until the first byte."""

    def __init__(self, connection: socket.socket, seconds: float) -> None:
        super().__init__()
        self._connection = connection
        self.silent = True
        self.allow(LARGEST_HEAD, seconds)

    def allow(self, size: int, seconds: float) -> None:
        """Allow `size` more bytes within `seconds` from now."""
        self._left = size
        self._deadline = time.monotonic() + seconds

    def readable(self) -> bool:
        """Return True: this is a reader."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Read into `buffer`. Raises http.client.HTTPException beyond the size, TimeoutError beyond the time."""
        if self._left <= 0:
            raise http.client.HTTPException("request too large")
        self._connection.settimeout(max(0.001, self._deadline - time.monotonic()))
        size = self._connection.recv_into(buffer[:self._left])
        self._left -= size
        self.silent = self.silent and size == 0
        return size


class ReplayHandler(BaseHTTPRequestHandler):
    """Answers the requests of one connection."""

    wbufsize = CHUNK + HEAD_ROOM    # head and first chunk leave in one write, so keep-alive costs no RTT more

    def __init__(self, accepted: Accepted) -> None:
        """Serve the connection to its end; see socketserver.BaseRequestHandler, which wants a server for this."""
        self.accepted = accepted
        self.begun_s: float | None = None
        """When the answer to the present request began, in s since the epoch, had it not been overslept."""
        self.overslept_s = 0.0
        """By how much the wait before it was too long."""
        super().__init__(accepted.socket, accepted.address, None)  # type: ignore[arg-type]

    def setup(self) -> None:
        """Prepare the connection; see socketserver.StreamRequestHandler."""
        super().setup()
        self.protocol_version = self.accepted.protocol
        self.bounded = BoundedReader(self.connection, self.accepted.idle_limit_s)
        self.rfile.close()
        self.rfile = io.BufferedReader(self.bounded)

    def handle_one_request(self) -> None:
        """Read and answer one request, within the limits of size and time."""
        self.bounded.allow(LARGEST_HEAD, self.accepted.idle_limit_s)
        self.command, self.requestline, self.request_version = "", "", ""
        self.headers = http.client.HTTPMessage()
        try:
            super().handle_one_request()
        except (OSError, http.client.HTTPException):    # the client left, or its head has no end
            self.close_connection = True

    def finish(self) -> None:
        """Note a connection that sent nothing, then say that nothing more will come."""
        if self.bounded.silent:
            self.accepted.note_silent()
        with suppress(OSError):    # the client may be gone, and with it what was still to be written
            super().finish()
            if not self.accepted.endpoint.tls:
                self.connection.shutdown(socket.SHUT_WR)

    def do_GET(self) -> None:
        """Answer the request from the recording: see harness.replay.match."""
        received_s, number, early = time.time(), self.accepted.count_request(), self.accepted.early
        asked = Asked(headers_of(self.headers.items()), self._read_body())
        if self.accepted.held.rtt_s:
            received_s = self.accepted.hold()
        target, sent = self._target(), 0
        self.begun_s, self.overslept_s = None, 0.0
        if self._wants_websocket() and self._converse(target, received_s, number):
            return
        site = self._site()
        with reply_to(site, self.accepted.directories, Request(self.command, target, asked)) as reply:
            try:
                for sent in self._send(reply):    # noqa: B007 (what was sent counts, also when the client leaves)
                    pass
            finally:
                self.accepted.note(site, received_s, number, self.command, target, status=reply.status, sent=sent,
                                   found=reply.found, begun_s=self.begun_s, answer=reply.answer, early=early)

    def __getattr__(self, name: str) -> Callable[[], None]:
        """Answer whatever a page may ask with (http.server looks for do_<METHOD>): those of WebDAV send PROPFIND."""
        if name.startswith("do_") and TOKEN.fullmatch(name[3:]):
            return self.do_GET
        raise AttributeError(name)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Answer what is no request."""
        self.close_connection = True
        path = self._target() if self.command else "-"
        self.accepted.note(self._site(), time.time(), self.accepted.count_request(), self.command or "-", path,
                           status=code, found=FoundAs.STATUS)
        for _ in self._send(Reply(code, FoundAs.STATUS, [("access-control-allow-origin", "*")], 0)):
            pass
        self._linger()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (http.server's name)
        """Say nothing: the server's log has every request."""

    def _site(self) -> Site:
        """Return the site that is asked, of those of this server."""
        return self.accepted.endpoint.sites.named(self.headers.get("Host", ""))

    def _target(self) -> str:
        """Return the request's target as received; http.server's `path` has lost double slashes."""
        words = self.requestline.split()
        return (words[1] if len(words) > 1 else "/").encode("latin-1").decode("utf-8", "surrogateescape")

    def _wants_websocket(self) -> bool:
        return self.command == "GET" and self.headers.get("Upgrade", "").lower() == "websocket"

    def _converse(self, target: str, received_s: float, number: int) -> bool:
        """Hold a WebSocket that was recorded, or refuse it as the site did; return whether this one was recorded."""
        site = self._site()
        live = site.live_connection(target)
        if live is None:
            return False
        self.close_connection = True
        if live.status != HTTPStatus.SWITCHING_PROTOCOLS:
            self.accepted.note(site, received_s, number, self.command, target, status=live.status,
                               found=FoundAs.STATUS)
            for _ in self._send(Reply(live.status, FoundAs.STATUS, size=0)):
                pass
            return True
        conversation = Conversation(self.connection, live, self.accepted.idle_limit_s)
        begun_s = time.time()
        try:
            conversation.hold(target, self.headers.items())
        finally:
            self.accepted.note(site, received_s, number, self.command, target, status=HTTPStatus.SWITCHING_PROTOCOLS,
                               sent=conversation.sent, found=FoundAs.LIVE, begun_s=begun_s)
        return True

    def _read_body(self) -> BodyHash | None:
        """Read the request's body and return its hash. Unread, it would make the kernel reset the connection."""
        hasher = BodyHasher()
        length = self.headers.get("Content-Length", "0")
        left = int(length) if length.isascii() and length.isdigit() else -1
        if "Transfer-Encoding" in self.headers or not 0 <= left <= LARGEST_UPLOAD:
            self.close_connection = True    # where the next request would begin is unknown
            return None
        self.bounded.allow(left + LARGEST_HEAD, self.accepted.idle_limit_s)
        while left and (chunk := self.rfile.read(min(left, CHUNK))):
            left -= len(chunk)
            hasher.update(chunk)
        return hasher.result()

    def _send(self, reply: Reply) -> Iterator[int]:
        """Send `reply` and yield, after each write, how many bytes of the body were sent."""
        self.close_connection = self.close_connection or reply.closes or reply.hangs or reply.stays_open
        if reply.hangs:
            self._leaves_before(time.monotonic() + self.accepted.idle_limit_s)
            return
        if reply.think_ms and self._left_within(reply.think_ms / 1000):
            self.close_connection = True
            return
        self.send_response_only(reply.status)
        for name, value in reply.headers:
            self.send_header(name.title(), value)
        self.send_header("Connection", "close" if self.close_connection else "keep-alive")
        if reply.size is not None and not reply.stays_open:
            self.send_header("Content-Length", str(reply.size))
        self.end_headers()
        # Before anything is written: a full socket is the network's time.
        self.begun_s, begun = time.time() - self.overslept_s, time.monotonic()
        sent, left = 0, 0 if self.command == "HEAD" else reply.size or 0    # a file that grows meanwhile is cut
        while True:
            since_ms = (time.monotonic() - begun) * 1000
            chunk = reply.read(min(left, CHUNK, reply.allowed(since_ms, sent)))
            self.wfile.write(chunk)
            self.wfile.flush()
            sent, left = sent + len(chunk), left - len(chunk)
            yield sent
            next_ms = None if chunk else reply.next_ms(since_ms)
            if not left or not (chunk or next_ms):
                break
            if next_ms and self._is_left_before(begun + next_ms / 1000):
                return
        if reply.stays_open and self.command != "HEAD":
            self._leaves_before(time.monotonic() + self.accepted.idle_limit_s)

    def _is_left_before(self, deadline: float) -> bool:
        """Wait until `deadline`, or until the client leaves, as far as that can be seen; say whether it did."""
        if self.close_connection:
            return self._leaves_before(deadline)
        self.close_connection = self._left_within(deadline - time.monotonic())
        return self.close_connection

    def _left_within(self, seconds: float) -> bool:
        """Wait for so long, if at all; say whether the client left meanwhile. What it may send is left for later.

        A server that stood still when the wait was over is late: that is not its own time.
        """
        deadline = time.monotonic() + max(0.0, seconds)
        poll = select.poll()        # select() takes no descriptor over 1023
        poll.register(self.connection, select.POLLIN)
        if poll.poll(int(max(0.0, seconds) * 1000)):
            with suppress(ValueError):      # TLS lets nobody look ahead
                if not self.connection.recv(1, socket.MSG_PEEK):
                    return True
        time.sleep(max(0.0, deadline - time.monotonic()))
        self.overslept_s = time.monotonic() - deadline
        return False

    def _leaves_before(self, deadline: float) -> bool:
        """Wait until `deadline`, or until the client leaves; say whether it did. It has nothing more to ask here."""
        while (left := deadline - time.monotonic()) > 0:
            self.connection.settimeout(left)
            try:
                if not self.connection.recv(CHUNK):
                    return True
            except TimeoutError:
                break
        self.connection.settimeout(self.accepted.idle_limit_s)
        return False

    def _linger(self) -> None:
        """Say the end, then read what the client still sends for a while: closing with unread bytes would reset it."""
        with suppress(OSError, http.client.HTTPException):
            self.connection.shutdown(socket.SHUT_WR)
            self.bounded.allow(LARGEST_HEAD, LINGER_S)
            while self.rfile.read1(CHUNK):
                pass
