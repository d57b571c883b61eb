"""A server on loopback that answers for every host from one source, over http and https, while Chrome loads a page.

Headers are those that a replay sends, so what was to last a day then lasts a day now. Each answer carries one more with
its number, by which harness.record.sources.restore knows afterwards what was answered. What the source does not have
is answered 404 at once, with the number 0. Chrome's preflights (CORS) are not in most archives: they are allowed.
A WebSocket says again what the source has of it.
"""

import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from harness.browser.program import date_now
from harness.files.headers import Headers
from harness.files.urls import split_url
from harness.mirror.alike import path_and_query
from harness.mirror.asked import Asked, headers_of
from harness.mirror.callbacks import new_names, renamed
from harness.mirror.headers import replayed
from harness.mirror.live import LiveConnection
from harness.record.sources.archived import ArchivedAnswer, ArchivedRequest
from harness.record.sources.encoding import NUMBER as NUMBER_OF_BYTES
from harness.record.sources.encoding import as_accepted
from harness.record.sources.parts import content_range_of, range_answer
from harness.record.sources.source import Source

NUMBER = "X-TFO-Lab-Answer"
ADDRESS = "127.0.0.1"
IDLE_S = 60
LARGEST_REQUEST = 50_000_000
MISSING = 0
ServerContext = Callable[[str], ssl.SSLContext]
"""Makes what a TLS server needs that answers for a host."""
Converse = Callable[[socket.socket, LiveConnection, str, Iterable[tuple[str, str]]], None]
"""Holds a WebSocket: over a connection from which its request, of this target and these headers, was read."""


class ArchiveServer:
    """Answers from `source` while it is entered as a context."""

    def __init__(self, source: Source, trusted_key: str, server_context: ServerContext, converse: Converse) -> None:
        """Bind both ports; `server_context` makes the certificates, whose authority's fingerprint is `trusted_key`."""
        self.source, self.trusted_key, self.converse = source, trusted_key, converse
        self.answers: list[ArchivedAnswer | None] = [None]
        """What was answered, by number, without the bodies; number 0 is no answer."""
        self._server_context = server_context
        self._contexts: dict[str, ssl.SSLContext] = {}
        self._lock = threading.Lock()
        self._servers = {scheme: _Listener(self, scheme) for scheme in ("http", "https")}

    @property
    def rules(self) -> str:
        """Chrome's host-resolver rules that lead every host here."""
        http, https = (self._servers[scheme].server_address[1] for scheme in ("http", "https"))
        return f"MAP *:80 {ADDRESS}:{http},MAP *:443 {ADDRESS}:{https},MAP * ~NOTFOUND"

    def __enter__(self) -> "ArchiveServer":
        """Begin to answer."""
        for server in self._servers.values():
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop answering."""
        for server in self._servers.values():
            server.shutdown()
            server.server_close()

    def number_of(self, answer: ArchivedAnswer) -> int:
        """Note an answer and return its number."""
        with self._lock:
            self.answers.append(replace(answer, body=b""))
            return len(self.answers) - 1

    def tls(self, connection: socket.socket) -> ssl.SSLSocket:
        """Return the connection after its TLS handshake, with a certificate for the host that is asked for."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)

        def choose(tls: ssl.SSLObject | ssl.SSLSocket, host: str | None, _context: ssl.SSLContext) -> None:
            tls.context = self._context(host or ADDRESS)

        context.sni_callback = choose
        return context.wrap_socket(connection, server_side=True)

    def _context(self, host: str) -> ssl.SSLContext:
        with self._lock:
            if host not in self._contexts:
                self._contexts[host] = self._server_context(host)
            return self._contexts[host]


class _Listener(ThreadingHTTPServer):
    """One port; `scheme` is what is spoken there."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, archive: ArchiveServer, scheme: str) -> None:
        self.archive, self.scheme = archive, scheme
        super().__init__((ADDRESS, 0), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a browser closes connections when it likes."""


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    timeout = IDLE_S
    server: _Listener

    def setup(self) -> None:
        if self.server.scheme == "https":
            self.request.settimeout(IDLE_S)
            self.request = self.server.archive.tls(self.request)
        super().setup()

    def finish(self) -> None:
        with suppress(OSError):
            super().finish()

    def answer(self) -> None:
        """Find the answer to a request and send it."""
        length = self.headers.get("Content-Length", "0")
        sent = self.rfile.read(min(int(length), LARGEST_REQUEST)) if length.isdigit() else b""
        self.path = self.requestline.split()[1]     # http.server makes /x of //x
        url = f"{self.server.scheme}://{self.headers['Host']}{self.path}"
        if self.headers.get("Upgrade", "").lower() == "websocket":
            self._converse(url)
            return
        asked = headers_of(self.headers.items())
        request = ArchivedRequest(self.command, url, sent, bool(Asked(asked).navigation),
                                  by_page="Referer" in self.headers, origin=asked.get("origin", ""),
                                  range=asked.get("range", ""))
        found = self.server.archive.source.find(request)
        if found is not None:
            self._send(_as_asked(found, request, asked))
        elif self.command == "OPTIONS" and self.headers.get("Access-Control-Request-Method"):
            self._send(ArchivedAnswer(url, 204, "No Content", self._permission(), b"", "HTTP/1.1"))
        else:
            self._send(None)

    def __getattr__(self, name: str) -> Callable[[], None]:
        """Answer whatever a page may ask with (http.server looks for do_<METHOD>): those of WebDAV send PROPFIND."""
        if name.startswith("do_"):
            return self.answer
        raise AttributeError(name)

    def _converse(self, url: str) -> None:
        """Hold a WebSocket, or refuse it: as the site did, or since it is not there."""
        live = self.server.archive.source.find_live(url)
        if live is None or live.status != HTTPStatus.SWITCHING_PROTOCOLS:
            self._send(ArchivedAnswer(url, live.status, "", (), b"", "HTTP/1.1") if live else None)
            return
        self.close_connection = True
        self.server.archive.converse(self.request, live, self.path, self.headers.items())

    def _send(self, answer: ArchivedAnswer | None) -> None:
        # With the status' usual phrase: what others recorded may have any character in it, line breaks, too.
        self.send_response_only(answer.status if answer else 404)
        # The first of this name counts: an archive may have such headers of its own.
        self.send_header(NUMBER, str(self.server.archive.number_of(answer) if answer else MISSING))
        for name, value in (replayed(answer.headers, answer.captured, status=answer.status) if answer
                            else self._permission()):
            self.send_header(name, date_now() if name == "date" else value)
        if answer and (content_range := content_range_of(answer)):
            self.send_header("Content-Range", content_range)
        body = answer.body if answer else b""
        if answer is None or answer.status not in (204, 304):
            self._send_length(answer, body)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _send_length(self, answer: ArchivedAnswer | None, body: bytes) -> None:
        """Say how long a body is; to a HEAD, of whose answer nobody has the body, what that answer said."""
        if answer is None or body or self.command != "HEAD":
            self.send_header("Content-Length", str(len(body)))
        elif NUMBER_OF_BYTES.fullmatch(length := answer.header("content-length")):
            self.send_header("Content-Length", length)

    def _permission(self) -> Headers:
        """Return the headers that let a script of any origin do and see what it asks for."""
        asked = {"Access-Control-Allow-Methods": self.headers.get("Access-Control-Request-Method"),
                 "Access-Control-Allow-Headers": self.headers.get("Access-Control-Request-Headers")}
        return (("Access-Control-Allow-Origin", self.headers.get("Origin", "*")),
                ("Access-Control-Allow-Credentials", "true"),
                *((name, value) for name, value in asked.items() if value))

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _as_asked(found: ArchivedAnswer, request: ArchivedRequest, asked: Mapping[str, str]) -> ArchivedAnswer:
    """Return what was found as a request with the headers `asked` wants it: its name, its part, its encoding."""
    called = _as_called(found, request.url) if found.stand_in else found
    part = range_answer(called, asked) if request.method == "GET" else called
    return as_accepted(part, asked["accept-encoding"]) if asked.get("accept-encoding") else part


def _as_called(answer: ArchivedAnswer, url: str) -> ArchivedAnswer:
    """Return a stand-in that calls the function which `url` names (JSONP), where its own URL named another."""
    names = new_names(_sent_target(answer.url), _sent_target(url))
    script = renamed(answer.body, answer.header("content-encoding"), names)
    return answer if script is None else replace(answer, body=script)


def _sent_target(url: str) -> str:
    """Return path and query of `url` as they are sent."""
    return path_and_query(split_url(url)[1])
