"""One connection to a replay server: read requests, answer them from the recording, note each in the server's log.

http.server parses the requests: measured 35 us a request (h11: 55 us), small against the 400 us that 2500 requests/s
leave, and it is what the course's SimpleHTTPServer is made of. Around it stand limits on size and time, one write for
head and body, and the log. No Date or Server header is sent: a text recording has none, and Chrome's clock is shifted.
"""

from __future__ import annotations

import http.client
import io
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING
from urllib.parse import quote

from harness.content_type import content_type
from harness.mirror import open_file
from harness.recording import WITHOUT_BODY, Recorded
from harness.replay_site import MISSING
from harness.serverlogs import ServerRequest
from harness.tcp_options import carried_data_in_syn

if TYPE_CHECKING:
    from harness.replay_server import ReplayServer

LARGEST_HEAD = 128 * 1024
"""Bytes a request's head may have. http.server itself bounds each line (64 KiB) and their number (100)."""
LARGEST_BODY = 16 * 1024 * 1024
"""Bytes of a request's body that are read (and thrown away) before the answer."""
IDLE_LIMIT_S = 60.0
"""A connection may be silent for so long, as a page load may last: no connection of a valid load is cut."""
LINGER_S = 1.0
CHUNK = 64 * 1024
"""Bytes of a body held in memory at a time; the first chunk is sent together with the head."""
HEAD_ROOM = 16 * 1024
URL_CHARACTERS = "".join(map(chr, range(0x21, 0x7F)))


class BoundedReader(io.RawIOBase):
    """A socket's bytes, at most so many and until a deadline; `silent` until the first byte."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__()
        self._connection = connection
        self.silent = True
        self.allow(LARGEST_HEAD, IDLE_LIMIT_S)

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

    server: ReplayServer  # type: ignore[assignment]
    wbufsize = CHUNK + HEAD_ROOM    # head and first chunk leave in one write, so keep-alive costs no RTT more

    def setup(self) -> None:
        """Prepare the connection; see socketserver.StreamRequestHandler."""
        super().setup()
        self.accepted_s = time.time()
        self.number = self.server.count_connection()
        self.requests = 0
        self.syn_data = carried_data_in_syn(self.connection)
        self.log = self.server.current_log()
        self.protocol_version = self.server.protocol
        self.bounded = BoundedReader(self.connection)
        self.rfile.close()
        self.rfile = io.BufferedReader(self.bounded)

    def handle_one_request(self) -> None:
        """Read and answer one request, within the limits of size and time."""
        self.bounded.allow(LARGEST_HEAD, self.server.idle_limit_s)
        self.command, self.requestline, self.request_version = "", "", ""
        try:
            super().handle_one_request()
        except (OSError, http.client.HTTPException):    # the client left, or its head has no end
            self.close_connection = True

    def finish(self) -> None:
        """Note a connection that sent nothing, then close."""
        if self.bounded.silent:
            self._note(self.accepted_s, "-", "-", found="silent")
        with suppress(OSError):    # the client may be gone, and with it what was still to be written
            super().finish()

    def do_GET(self) -> None:
        """Answer the request from the recording: POST and HEAD on the path of a GET, Range ignored."""
        received_s = time.time()
        self.requests += 1
        self._read_body()
        target = self._target()
        answer = self.server.site.answer(target)
        sent = 0
        try:
            for sent in self._send(answer):    # noqa: B007 (what was sent so far counts, also when the client leaves)
                pass
        finally:
            self._note(received_s, self.command, target, status=self.status, sent=sent, found=answer.found)

    do_HEAD = do_GET  # noqa: N815 (http.server's name)
    do_POST = do_GET  # noqa: N815

    def do_OPTIONS(self) -> None:
        """Allow what a page of another origin asks before it asks (CORS preflight): the recording had no headers."""
        self.requests += 1
        self._read_body()
        self._begin(204)
        self.send_header("Access-Control-Allow-Methods", "*")
        self.send_header("Access-Control-Allow-Headers", self.headers.get("Access-Control-Request-Headers", "*"))
        self.end_headers()
        self._note(time.time(), self.command, self._target(), status=204, found="status")

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Answer what is no request, or one of an unknown method."""
        self.requests += 1
        self.close_connection = True
        path = self._target() if self.command else "-"
        self._note(time.time(), self.command or "-", path, status=code, found="status")
        self._begin(code)
        self.send_header("Content-Length", "0")
        self.end_headers()
        self.wfile.flush()
        self._linger()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (http.server's name)
        """Say nothing: the server's log has every request."""

    def _target(self) -> str:
        """Return the request's target as received; http.server's `path` has lost double slashes."""
        words = self.requestline.split()
        return (words[1] if len(words) > 1 else "/").encode("latin-1").decode("utf-8", "surrogateescape")

    def _read_body(self) -> None:
        """Read the request's body and forget it: unread bytes would make the kernel reset the connection at close."""
        length = self.headers.get("Content-Length", "0")
        left = int(length) if length.isascii() and length.isdigit() else -1
        if "Transfer-Encoding" in self.headers or not 0 <= left <= LARGEST_BODY:
            self.close_connection = True    # where the next request would begin is unknown
            return
        self.bounded.allow(left + LARGEST_HEAD, self.server.idle_limit_s)
        while left and (chunk := self.rfile.read(min(left, CHUNK))):
            left -= len(chunk)

    def _send(self, answer: Recorded) -> Iterator[int]:
        """Send `answer` and yield, after each write, how many bytes of the body were sent."""
        file = self._open(answer)
        if file is None:
            yield from self._send_without_file(answer)
            return
        try:
            size = os.fstat(file).st_size
            chunk = os.read(file, min(size, CHUNK))
            self._begin(answer.status)
            self.send_header("Content-Type", content_type(answer.mime_type, answer.charset, answer.file or "", chunk))
            self.send_header("Content-Length", str(size))
            self.end_headers()
            sent = 0
            while chunk and self.command != "HEAD":
                self.wfile.write(chunk)
                self.wfile.flush()
                sent += len(chunk)
                yield sent
                chunk = os.read(file, min(size, CHUNK))
        finally:
            os.close(file)

    def _send_without_file(self, answer: Recorded) -> Iterator[int]:
        if answer.file is not None:    # it was there at the start
            answer = MISSING
        body = b"not in the recording\n" if answer is MISSING else b""
        self._begin(answer.status)
        if answer.redirect_url is not None:
            self.send_header("Location", quote(answer.redirect_url, safe=URL_CHARACTERS))
        if answer.status not in WITHOUT_BODY:
            if body or answer.mime_type:
                self.send_header("Content-Type", content_type(answer.mime_type, answer.charset, ".txt", body))
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
            self.wfile.flush()
            yield len(body)

    def _open(self, answer: Recorded) -> int | None:
        if answer.file is None or self.server.directory is None:
            return None
        try:
            return open_file(self.server.directory, answer.file)
        except OSError as error:
            print(f"{self.server.site.host}: {answer.file}: {error.strerror or error}", file=sys.stderr)
            return None

    def _begin(self, status: int) -> None:
        self.status = status
        self.send_response_only(status)
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Connection", "close" if self.close_connection else "keep-alive")

    def _linger(self) -> None:
        """Say the end, then read what the client still sends for a while: closing with unread bytes would reset it."""
        with suppress(OSError, http.client.HTTPException):
            self.connection.shutdown(socket.SHUT_WR)
            self.bounded.allow(LARGEST_HEAD, LINGER_S)
            while self.rfile.read1(CHUNK):
                pass

    def _note(self, time_s: float, method: str, path: str, *, status: int = 0, sent: int = 0, found: str) -> None:
        self.log.write(ServerRequest(self.server.site.host, time_s, self.number, self.requests, method, path, status,
                                     sent, found, self.syn_data))
