"""The applications behind the test internet's nginx, each on a Unix socket: one of Dash's, and one for htmx (Flask).

    applications.py DIRECTORY      # prints "ready" when DIRECTORY/dash, /htmx listen
"""

import itertools
import sys
import threading
from pathlib import Path

from dash import Dash, Input, Output, dcc, html
from flask import Flask, Response, request
from werkzeug.serving import WSGIRequestHandler, make_server

POLLS = 3
STOP_POLLING = 286
"""The status that tells htmx so."""
DOCUMENT = """<!doctype html><title>htmx</title><link rel=icon href=data:,><script src=/htmx.js></script>
<div hx-get="/" hx-trigger=load></div><div hx-get=/progress hx-trigger="every 100ms"></div>
<form hx-post=/rows hx-trigger=load><input type=hidden name=row value=1></form>
<form hx-post=/rows hx-trigger=load><input type=hidden name=row value=2></form>
<img src=/big.png>"""


def dash_application() -> Flask:
    """Return a page of two callbacks; both are posted to one URL."""
    application = Dash("dash", title="Dash", update_title="")
    application.layout = html.Div([dcc.Dropdown(["Atlanta", "Lund"], "Lund", id="city", clearable=False),
                                   html.P(id="words"), dcc.Graph(id="graph")])

    @application.callback(Output("words", "children"), Input("city", "value"))
    def _words(city: str) -> str:
        return f"how warm it is in {city}"

    @application.callback(Output("graph", "figure"), Input("city", "value"))
    def _graph(city: str) -> dict[str, object]:
        return {"data": [{"x": ["May", "June", "July"], "y": [len(city), 18, 21]}], "layout": {"title": {"text": city}}}

    server: Flask = application.server
    return server


def htmx_application() -> Flask:
    """Return a page that htmx completes: with its own URL's fragment, with what polling tells, with posted forms."""
    application = Flask("htmx")
    polls = itertools.count(1)

    @application.get("/")
    def _document() -> Response:
        nonlocal polls
        if "HX-Request" in request.headers:
            return Response("<p>a part</p><img src=/face-0.png>", headers={"Vary": "HX-Request"})
        polls = itertools.count(1)
        return Response(DOCUMENT, headers={"Vary": "HX-Request"})

    @application.get("/progress")
    def _progress() -> Response:
        number = next(polls)
        if number < POLLS:
            return Response(f"<p>{number} of {POLLS}</p>", headers={"Cache-Control": "no-store"})
        return Response("<img src=/face-5.png>", STOP_POLLING, {"Cache-Control": "no-store"})

    @application.post("/rows")
    def _rows() -> str:
        return f"<img src=/face-{request.form['row']}.png>"

    return application


class _Quiet(WSGIRequestHandler):
    def log(self, *_: object) -> None:
        """Say nothing."""

    def address_string(self) -> str:
        return "nginx"


def main(directory: Path) -> None:
    """Answer until this process is ended."""
    made = {"dash": dash_application, "htmx": htmx_application}
    servers = [make_server(f"unix://{directory / name}", 0, make(), threaded=True, request_handler=_Quiet)
               for name, make in made.items()]
    threads = [threading.Thread(target=server.serve_forever) for server in servers]
    for thread in threads:
        thread.start()
    print("ready", flush=True)
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
