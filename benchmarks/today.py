#!/usr/bin/env python3
"""Record pages as they are built today, beside those of the tests' internet; modern.py and against_nginx.py load them.

    benchmarks/today.py FOLDER      # the recording "demo" in FOLDER, a minute; needs ./scripts/setup.sh --tests

A host each; what an application answers, and what it asks for, are the real ones':

    htmx        htmx 2: one URL as document and as fragments, polling until 286, two forms posted to one URL
    dash        Dash: React, plotly.js, callbacks that are all posted to one URL
    graphql     queries to one URL, the second ones made of what the first answers
    film        a video with its index at its end: the browser asks for three parts
    modules     642 modules that import each other, five levels deep
"""

import io
import itertools
import logging
import random
import struct
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import use_project_python

use_project_python()

try:
    from dash import Dash, Input, Output, dcc, html
    from flask import Flask, Response, request
    from werkzeug.serving import make_server
except ModuleNotFoundError as error:
    print(f"{error.name}: not installed; run: sudo ./scripts/setup.sh --tests", file=sys.stderr)
    sys.exit(2)
from PIL import Image

from harness.system.options import OptionParser
from harness.system.signals import run_interruptible
from tests.support.internet.app import NAMES
from tests.support.internet.recorded import fetch
from tests.support.internet.server import serve
from tests.support.internet.site import HTMX, RECORDED, File, Host, picture

PICTURE_PIXELS = 300
"""Square, of noise: 270 kB, at 4 Mbit/s half a second. The load event waits for it, and for what is asked meanwhile."""
MODULE_COUNT, IMPORTS_EACH = 642, 5
FRAME_PIXELS, FRAMES, FRAME_MS = (320, 240), 24, 40
"""About 78 kB each: noise cannot be compressed. More than Chrome reads before it looks for the index elsewhere."""
FILE_TYPE = struct.pack(">I4s4sI4s4s4s", 28, b"ftyp", b"isom", 512, b"isom", b"av01", b"mp41")
POLLS = 3
STOP_POLLING = 286
"""The status that tells htmx so."""
DOCUMENT = """<!doctype html><title>htmx</title><link rel=icon href=data:,><script src=/htmx.js></script>
<div hx-get="/" hx-trigger=load></div><div hx-get=/progress hx-trigger="every 100ms"></div>
<form hx-post=/rows hx-trigger=load><input type=hidden name=row value=1></form>
<form hx-post=/rows hx-trigger=load><input type=hidden name=row value=2></form>
<img src=/big.png>"""
ASK = """
const ask = (query) => fetch('/graphql', {method: 'POST', headers: {'Content-Type': 'application/json'},
    body: JSON.stringify({query})}).then((answer) => answer.json()).then((answer) => answer.data);
const show = (source) => { const image = new Image(); image.src = source; document.body.append(image); };
ask('{ names }').then(({names}) => names.forEach((name) =>
    ask(`{ picture(name: "${name}") }`).then(({picture}) => show(picture))));
"""


def main() -> int:
    """Record all pages."""
    parser = OptionParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where to record them")
    folder = parser.parse_args().folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    logging.getLogger("werkzeug").setLevel(logging.ERROR)       # not a line for each answer
    hosts = {"htmx.theta.test": _htmx(), "dash.iota.test": Host(locations=[_location(_dash_application())]),
             "graphql.kappa.test": _graphql(), "film.lambda.test": _film(), "modules.mu.test": _modules()}
    with serve(hosts) as internet:
        print(fetch(internet, folder, (*RECORDED, *(f"https://{host}/" for host in hosts)), name="demo").stdout)
    return 0


def _location(application: Flask) -> str:
    """Run an application until the process ends; return nginx's way to it."""
    server = make_server("127.0.0.1", 0, application, threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return (f"location / {{ proxy_pass http://127.0.0.1:{server.port}; proxy_set_header Host $host; "
            "proxy_http_version 1.1; gzip on; gzip_proxied any; "
            "gzip_types application/javascript text/javascript application/json text/css; }")


def _dash_application() -> Flask:
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


def _htmx() -> Host:
    script = File(HTMX.read_bytes(), "application/javascript", ("gzip on;", "gzip_types *;"))
    pictures = {f"/face-{number}.png": picture(300 + number) for number in range(6)}
    return Host({"/htmx.js": script, "/big.png": picture(310, PICTURE_PIXELS), **pictures},
                [_location(_htmx_application())])


def _htmx_application() -> Flask:
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


def _graphql() -> Host:
    pictures = {f"/picture-{name}.png": picture(300 + number) for number, name in enumerate(NAMES)}
    return Host({"/": _page(f"<body><script>{ASK}</script><img src=/big.png>"),
                 "/big.png": picture(311, PICTURE_PIXELS), **pictures},
                ["location = /graphql { proxy_pass http://unix:GRAPHQL:/; }"])


def _film() -> Host:
    return Host({"/": _page("<video src=/film.mp4 preload=auto></video>"), "/film.mp4": File(film(), "video/mp4")})


def film() -> bytes:
    """Return an MP4 whose index stands at its end, as cameras and most programs write it; the same bytes each time.

    Pillow's encoder writes moving pictures as AVIF: AV1 in the boxes of ISO 14496-12, with the index (`moov`) before
    the pictures (`mdat`). With the boxes in the other order and the names of a film, it is an MP4.
    """
    size = FRAME_PIXELS[0] * FRAME_PIXELS[1] * 3
    frames = [Image.frombytes("RGB", FRAME_PIXELS, random.Random(300 + number).randbytes(size))
              for number in range(FRAMES)]
    written = io.BytesIO()
    frames[0].save(written, "avif", save_all=True, append_images=frames[1:], quality=95, speed=10, max_threads=1,
                   duration=FRAME_MS)
    avif = written.getvalue()
    index_at, pictures_at = (avif.index(kind) - 4 for kind in (b"moov", b"mdat"))   # a box: its length, then its kind
    index = bytearray(avif[index_at:pictures_at].replace(b"pict", b"vide"))         # the track is a video
    chunks = index.index(b"stco") + 12              # behind kind, version, flags and how many there are: their places
    for place in range(chunks, chunks + 4 * struct.unpack_from(">I", index, chunks - 4)[0], 4):
        struct.pack_into(">I", index, place, struct.unpack_from(">I", index, place)[0] + len(FILE_TYPE) - pictures_at)
    return FILE_TYPE + avif[pictures_at:] + index


def _modules() -> Host:
    modules = {f"/m{number}.js": File(_module(number), "application/javascript")
               for number in range(1, MODULE_COUNT + 1)}
    return Host({"/": _page("<script type=module src=/m1.js></script>"), **modules})


def _module(number: int) -> bytes:
    """Return one module: a tree of imports, and one import across it."""
    first = IMPORTS_EACH * (number - 1) + 2
    children = [*range(first, first + IMPORTS_EACH), number * 7]
    imports = "".join(f"import '/m{child}.js';\n" for child in children if number < child <= MODULE_COUNT)
    return f"{imports}export const value{number} = {number};\n".encode()


def _page(body: str) -> File:
    return File(f"<!doctype html><title>today</title><link rel=icon href=data:,>{body}".encode(),
                "text/html; charset=utf-8")


if __name__ == "__main__":
    run_interruptible(main)
