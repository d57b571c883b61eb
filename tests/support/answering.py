"""A server on the loopback that answers what a test says."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import BaseServer
from threading import Thread

Answer = tuple[int, Mapping[str, object], bytes]
"""Status, headers, body; a Content-Length is added where there is none."""


class Handler(BaseHTTPRequestHandler):
    """Sends what it is told to, and says nothing itself."""

    def head(self, status: int, headers: Mapping[str, object]) -> None:
        """Send the head of an answer."""
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, str(value))
        self.end_headers()

    def send(self, status: int, headers: Mapping[str, object], body: bytes) -> None:
        """Send a whole answer."""
        self.head(status, {"Content-Length": len(body), **headers})
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def running(server: BaseServer) -> Iterator[None]:
    """Have a server answer in a thread while this lasts."""
    with server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def answering(answer: Callable[[str, Message], Answer]) -> Iterator[int]:
    """Answer each GET by what `answer` gives for its path and headers while this lasts; give the server's port."""
    class Answering(Handler):
        def do_GET(self) -> None:
            self.send(*answer(self.path, self.headers))

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    server.daemon_threads, server.block_on_close = True, False      # an answer may never come
    with running(server):
        yield server.server_port


@contextmanager
def serving(answer: Callable[[str], tuple[str, str]]) -> Iterator[str]:
    """Serve what `answer` gives for a path: its media type and text; give the server's URL without a last slash."""
    def as_answer(path: str, _headers: Message) -> Answer:
        kind, text = answer(path)
        return 200, {"Content-Type": kind}, text.encode()

    with answering(as_answer) as port:
        yield f"http://127.0.0.1:{port}"
