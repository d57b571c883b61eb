"""An HTTP server on loopback that says what it was asked, over TLS if wanted."""

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer with the request's method, path and body."""
        length = int(self.headers.get("Content-Length", 0))
        body = f"{self.command} {self.path} ".encode() + self.rfile.read(length)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET        # noqa: N815 - http.server calls it by this name

    def do_CONNECT(self) -> None:
        """Say yes, and go on answering as if one were the server behind the proxy."""
        self.send_response(200)
        self.end_headers()
        self.close_connection = False

    def log_message(self, *_arguments: object) -> None:
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_arguments: object) -> None:
        """Say nothing of clients that do not like our certificate: the test does."""


@contextmanager
def serving(host: str, context: ssl.SSLContext | None = None) -> Iterator[tuple[str, int]]:
    with _Server((host, 0), _Handler) as server:
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.server_address[0], server.server_address[1]    # type: ignore[misc]
        finally:
            server.shutdown()
            thread.join()
