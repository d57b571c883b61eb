"""A server on the loopback that answers what a test says."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

Answer = tuple[int, Mapping[str, object], bytes]
"""Status, headers, body; a Content-Length is added where there is none."""


@contextmanager
def answering(answer: Callable[[str, Message], Answer]) -> Iterator[int]:
    """Answer each GET by what `answer` gives for its path and headers while this lasts; give the server's port."""
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, headers, body = answer(self.path, self.headers)
            self.send_response_only(status)
            for name, value in {"Content-Length": len(body), **headers}.items():
                self.send_header(name, str(value))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        try:
            yield server.server_port
        finally:
            server.shutdown()


@contextmanager
def serving(answer: Callable[[str], tuple[str, str]]) -> Iterator[str]:
    """Serve what `answer` gives for a path: its media type and text; give the server's URL without a last slash."""
    def as_answer(path: str, _headers: Message) -> Answer:
        kind, text = answer(path)
        return 200, {"Content-Type": kind}, text.encode()

    with answering(as_answer) as port:
        yield f"http://127.0.0.1:{port}"
