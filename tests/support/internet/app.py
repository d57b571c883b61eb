"""The page APP of the test internet: what today's applications ask for, and older recorders mixed up.

    POST /graphql    two queries, one URL: the answers name the images that the page then loads
    /app             as a navigation the document; to htmx, with HX-Request, a fragment of it (Vary)
    /film.bin        in two parts (Range), the later one first
    /m1.js ...       modules that import modules
    /socket          a WebSocket that says which image to load, after it was asked
    /news            events: the second, some time later, says which image to load
    /late.png        an image that keeps the load event waiting until all of this was said
"""

import json
import random
import socketserver
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from graphql import build_schema, graphql_sync
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, TextMessage
from wsproto.extensions import PerMessageDeflate

from tests.support.answering import Handler, running

DEPTH = 4
"""Levels of the module graph: module n imports 2n and 2n + 1."""
MODULES = 2**DEPTH - 1
FILM_BYTES = 200_000
NEWS_EVERY_S = 0.2
SCHEMA = build_schema("type Query { picture(name: String!): String, names: [String!] }")
NAMES = ("third", "fourth", "fifth")
SCRIPT = f"""
const ask = (name) => fetch('/graphql', {{method: 'POST', headers: {{'Content-Type': 'application/json'}},
    body: JSON.stringify({{query: `{{ picture(name: "${{name}}") }}`}})}}).then((answer) => answer.json());
const show = (source) => {{ const image = new Image(); image.src = source; document.body.append(image); }};
for (const name of ['first', 'second']) ask(name).then((answer) => show(answer.data.picture));
const part = (range) => fetch('/film.bin', {{headers: {{Range: `bytes=${{range}}`}}}}).then((answer) => answer.blob());
const socket = new WebSocket(`wss://${{location.host}}/socket?t=${{Date.now()}}`, ['pictures']);
socket.onmessage = (event) => {{ if (event.data === 'hello') socket.send('which?'); else show(event.data); }};
new EventSource('/news').addEventListener('picture', (event) => show(event.data));
part('{FILM_BYTES // 2}-').then(() => part('0-{FILM_BYTES // 2 - 1}'));
"""
DOCUMENT = (f"<!doctype html><title>app</title><link rel=icon href=data:,><script src=/htmx.js></script>"
            f"<div hx-get=/app hx-trigger=load></div><img src=/late.png>"
            f"<script type=module src=/m1.js></script><script>{SCRIPT}</script>").encode()
"""The page."""
FRAGMENT = b"<p>part</p><img src=/picture-fragment.png>"
"""What is asked for with HX-Request."""
FILM = random.Random(50).randbytes(FILM_BYTES)
"""What is asked for in parts."""


def module(number: int) -> bytes:
    """Return one module of the graph."""
    imports = "".join(f"import '/m{child}.js';\n" for child in (2 * number, 2 * number + 1) if child <= MODULES)
    return f"{imports}globalThis.m{number} = {number};\n".encode()


@contextmanager
def graphql_server(path: Path) -> Iterator[None]:
    """Answer GraphQL's queries, tell news and talk over WebSockets, on a Unix socket at `path`."""
    with running(_Server(str(path), _Handler)):
        yield


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads, block_on_close = True, False        # a browser may never leave
    request_queue_size = 16


class _Handler(Handler):
    def do_GET(self) -> None:
        if self.path == "/news":
            self._tell_news()
        else:
            self._talk()

    def _tell_news(self) -> None:
        self.head(200, {"Content-Type": "text/event-stream"})
        for event in (b"data: nothing yet\n\n", b"event: picture\ndata: /picture-news.png\n\n"):
            self.wfile.write(event)
            time.sleep(NEWS_EVERY_S)
        self.connection.recv(1)     # until somebody leaves

    def _talk(self) -> None:
        protocol = WSConnection(ConnectionType.SERVER)
        protocol.initiate_upgrade_connection([(name.encode(), value.encode()) for name, value in self.headers.items()],
                                             self.path)
        self.connection.sendall(protocol.send(AcceptConnection("pictures", extensions=[PerMessageDeflate()])))
        self.connection.sendall(protocol.send(TextMessage("hello")))
        while data := self.connection.recv(4096):
            protocol.receive_data(data)
            for event in protocol.events():
                if isinstance(event, TextMessage):
                    self.connection.sendall(protocol.send(TextMessage("/picture-socket.png")))
                elif isinstance(event, CloseConnection):
                    return

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        result = graphql_sync(SCHEMA, asked["query"], {"picture": lambda _info, name: f"/picture-{name}.png",
                                                     "names": NAMES})
        body = json.dumps({"data": result.data}).encode()
        self.send(200, {"Content-Type": "application/json"}, body)
