"""An HTTP server on loopback that says what it was asked, over TLS if wanted."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer

from tests.support.answering import Handler, running


class _Echo(Handler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer with the request's method, path and body."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send(200, {}, f"{self.command} {self.path} ".encode() + body)

    do_POST = do_GET

    def do_CONNECT(self) -> None:
        """Say yes, and go on answering as if one were the server behind the proxy."""
        self.head(200, {})
        self.close_connection = False


@contextmanager
def serving(host: str, context: ssl.SSLContext | None = None) -> Iterator[tuple[str, int]]:
    server = ThreadingHTTPServer((host, 0), _Echo)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    with running(server):
        yield host, server.server_port
