"""A web server on the loopback for pages that a test makes up."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@contextmanager
def serving(answer: Callable[[str], tuple[str, str]]) -> Iterator[str]:
    """Serve what `answer` gives for a path: its media type and text; give the server's URL without a last slash."""
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            kind, text = answer(self.path)
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *args: Any) -> None:    # noqa: A002 - the name it has in http.server
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
