"""Pages as they are built today, a host each; what an application answers, and what it asks for, are the real ones'.

    HTMX        htmx 2: one URL as document and as fragments, polling until 286, two forms posted to one URL
    DASH        Dash: React, plotly.js, callbacks that are all posted to one URL
    GRAPHQL     queries to one URL, the second ones made of what the first answers
    FILM        a video with its index at its end: the browser asks for three parts
    MODULES     642 modules that import each other, five levels deep
"""

from collections.abc import Callable

from tests.support.internet.app import NAMES
from tests.support.internet.film import film
from tests.support.internet.site import HTMX as HTMX_SCRIPT
from tests.support.internet.site import File, Host, picture

HTMX, DASH, GRAPHQL, FILM, MODULES = (
    f"https://{name}.test/" for name in ("htmx.theta", "dash.iota", "graphql.kappa", "film.lambda", "modules.mu"))
PAGES = (HTMX, DASH, GRAPHQL, FILM, MODULES)
MODULE_COUNT = 642
IMPORTS_EACH = 5
PICTURE_PIXELS = 300
"""Square, of noise: 270 kB, at 4 Mbit/s half a second. The load event waits for it, and for what is asked meanwhile."""
ASK = """
const ask = (query) => fetch('/graphql', {method: 'POST', headers: {'Content-Type': 'application/json'},
    body: JSON.stringify({query})}).then((answer) => answer.json()).then((answer) => answer.data);
const show = (source) => { const image = new Image(); image.src = source; document.body.append(image); };
ask('{ names }').then(({names}) => names.forEach((name) =>
    ask(`{ picture(name: "${name}") }`).then(({picture}) => show(picture))));
"""
FORWARDED = ("proxy_set_header Host $host; proxy_http_version 1.1; gzip on; gzip_proxied any; "
             "gzip_types application/javascript text/javascript application/json text/css;")


def make_hosts() -> dict[str, Host]:
    """Return the hosts of these pages, by name."""
    made: dict[str, Callable[[], Host]] = {HTMX: _htmx, DASH: _dash, GRAPHQL: _graphql, FILM: _film, MODULES: _modules}
    return {url.split("/")[2]: make() for url, make in made.items()}


def _htmx() -> Host:
    script = File(HTMX_SCRIPT.read_bytes(), "application/javascript", ("gzip on;", "gzip_types *;"))
    pictures = {f"/face-{number}.png": picture(300 + number) for number in range(6)}
    return Host({"/htmx.js": script, "/big.png": picture(310, PICTURE_PIXELS), **pictures},
                [f"location / {{ proxy_pass http://unix:APPS/htmx; {FORWARDED} }}"])


def _dash() -> Host:
    return Host(locations=[f"location / {{ proxy_pass http://unix:APPS/dash; {FORWARDED} }}"])


def _graphql() -> Host:
    pictures = {f"/picture-{name}.png": picture(300 + number) for number, name in enumerate(NAMES)}
    return Host({"/": _page(f"<body><script>{ASK}</script><img src=/big.png>"),
                 "/big.png": picture(311, PICTURE_PIXELS), **pictures},
                ["location = /graphql { proxy_pass http://unix:GRAPHQL:/; }"])


def _film() -> Host:
    return Host({"/": _page("<video src=/film.mp4 preload=auto></video>"), "/film.mp4": File(film(), "video/mp4")})


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
