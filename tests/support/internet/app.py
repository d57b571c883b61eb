"""The page APP of the test internet: what today's applications ask for, and older recorders mixed up.

    POST /graphql    two queries, one URL: the answers name the images that the page then loads
    /app             as a navigation the document; with HX-Request, as htmx asks, a fragment of it (Vary)
    /film.bin        in two parts (Range), the later one first
    /m1.js ...       modules that import modules
"""

import json
import random
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from graphql import build_schema, graphql_sync

DEPTH = 4
"""Levels of the module graph: module n imports 2n and 2n + 1."""
MODULES = 2**DEPTH - 1
FILM_BYTES = 200_000
SCHEMA = build_schema("type Query { picture(name: String!): String }")
SCRIPT = f"""
const ask = (name) => fetch('/graphql', {{method: 'POST', headers: {{'Content-Type': 'application/json'}},
    body: JSON.stringify({{query: `{{ picture(name: "${{name}}") }}`}})}}).then((answer) => answer.json());
const show = (source) => {{ const image = new Image(); image.src = source; document.body.append(image); }};
for (const name of ['first', 'second']) ask(name).then((answer) => show(answer.data.picture));
fetch('/app', {{headers: {{'HX-Request': 'true'}}}}).then((answer) => answer.text())
    .then((fragment) => {{ document.getElementById('part').innerHTML = fragment; }});
const part = (range) => fetch('/film.bin', {{headers: {{Range: `bytes=${{range}}`}}}}).then((answer) => answer.blob());
part('{FILM_BYTES // 2}-').then(() => part('0-{FILM_BYTES // 2 - 1}'));
"""


def document() -> bytes:
    """Return the page."""
    return (f"<!doctype html><title>app</title><link rel=icon href=data:,><div id=part></div>"
            f"<script type=module src=/m1.js></script><script>{SCRIPT}</script>").encode()


def fragment() -> bytes:
    """Return what is asked for with HX-Request."""
    return b"<p>part</p><img src=/picture-fragment.png>"


def module(number: int) -> bytes:
    """Return one module of the graph."""
    imports = "".join(f"import '/m{child}.js';\n" for child in (2 * number, 2 * number + 1) if child <= MODULES)
    return f"{imports}globalThis.m{number} = {number};\n".encode()


def film() -> bytes:
    """Return what is asked for in parts."""
    return random.Random(50).randbytes(FILM_BYTES)


@contextmanager
def graphql_server(path: Path) -> Iterator[None]:
    """Answer GraphQL's queries on a Unix socket at `path`."""
    with _Server(str(path), _Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield
        server.shutdown()


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 16


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        result = graphql_sync(SCHEMA, asked["query"], {"picture": _picture})
        body = json.dumps({"data": result.data}).encode()
        self.send_response_only(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def address_string(self) -> str:
        return "nginx"

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _picture(_info: Any, name: str) -> str:
    return f"/picture-{name}.png"
