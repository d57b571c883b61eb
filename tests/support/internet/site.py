"""What the test internet holds: hosts, their files, and how each of them answers. What a page exercises is in its name.

Everything is made here, byte for byte the same each time, so that a recording can be compared with what was served.
"""

import io
import random
from dataclasses import dataclass, field
from pathlib import Path

import brotli  # type: ignore[import-untyped]
import matplotlib
from PIL import Image

from harness.bootstrap import ROOT
from tests.support.internet import app

HOME, MEDIA, CDN, API, ADS = "www.alpha.test", "img.beta.test", "cdn.gamma.test", "api.delta.test", "ads.epsilon.test"
EXPIRED, LOGIN = "expired.zeta.test", "login.eta.test"
ONLY_HTTP_1 = (MEDIA, ADS)
"""Hosts whose TLS offers http/1.1 alone; the others offer h2 as well."""

CLASSIC = f"http://{HOME}/"
MODERN = f"https://{HOME}/modern"
ODD = f"https://{CDN}/odd"
RUDE = f"https://{API}/rude"
APP = f"https://{CDN}/app"
PAGES = (CLASSIC, MODERN, ODD, RUDE)
HTMX = ROOT / "tests" / "data" / "htmx" / "htmx-2.0.10.min.js"
NEVER_LOADS, STUCK, ALERTS, AGAIN = (f"https://{API}/{what}" for what in ("never-loads", "stuck", "alerts", "again"))
"""Pages that would keep a browser for ever: a request without an answer, a script, dialogs without end, reloads."""
SECURE = f"http://{CDN}/secure"
"""A page that leads to https under the same name."""
RECORDED = (*PAGES, APP, SECURE)
"""What the tests' shared recording holds (tests/support/internet/recorded.py)."""
FAILING = (f"https://{EXPIRED}/", f"http://{LOGIN}/", f"http://{HOME}/no-such-page", f"http://{HOME}/file.zip")

ODD_URLS = (f"/any/{'part/' * 15}x.js", f"/any/{'y' * 280}.js", "/any/up.js?next=../../etc/passwd",
            "/any/dots.js?next=%2e%2e/%2e%2e/x", "/any/nul.js?x=a%00b", "/any/%C3%BCml%C3%A4ut.js?q=%E2%82%AC",
            "/any/a%20space.js?q=b%20c", "/any/pipe.js?a=1|2&b=x%20|%20y", "/any/arrow.js?a=b%20-%3E%20c",
            "/any/bare.js?", "/any//double.js", "/any/dir", "/any/dir/below.js")
"""Scripts of the page ODD, as they stand on the wire; the server sends each one's own URL as its body."""


@dataclass(frozen=True)
class File:
    """One answer that is a file: `options` are lines of nginx's configuration, such as more headers."""

    body: bytes
    mime_type: str
    options: tuple[str, ...] = ()


@dataclass
class Host:
    """A host's `files` by path, and `locations`: whole location blocks of nginx's configuration."""

    files: dict[str, File] = field(default_factory=dict)
    locations: list[str] = field(default_factory=list)


def picture(number: int, pixels: int = 32, *options: str) -> File:
    """Return a square PNG of noise, another one for each number: 3 kB, and at 1320 pixels 5 MB."""
    written = io.BytesIO()
    noise = random.Random(100 + number).randbytes(pixels * pixels * 3)
    Image.frombytes("RGB", (pixels, pixels), noise).save(written, "png", compress_level=1)
    return File(written.getvalue(), "image/png", options)


STYLE = ".v%d{margin:%dpx}\n"


def script(seed: int, size: int, line: str = "var v%d = %d;\n") -> bytes:
    """Return JavaScript of about `size` bytes that does nothing, and can be compressed; or so much CSS (STYLE)."""
    words = random.Random(seed)
    return "".join(line % (words.randrange(10**6), words.randrange(10**9)) for _ in range(size // 25)).encode()


def make_hosts() -> dict[str, Host]:
    """Return the test internet, by host name."""
    return {HOME: _home(), MEDIA: _media(), CDN: _cdn(), API: _api(), ADS: Host({
                "/frame": html(f"<iframe src=//{API}/inner?of=frame></iframe><script src=/ad.js></script>"),
                "/ad.js": File(script(40, 2000), "application/javascript", ("gzip on;", "gzip_types *;"))}),
            EXPIRED: Host({"/": html("expired"), "/x.png": picture(9)}),
            LOGIN: Host(locations=['location / { auth_basic "secret"; auth_basic_user_file /dev/null; }'])}


def html(body: str, *options: str) -> File:
    """Return a small HTML document."""
    return File(f"<!doctype html><html><head><title>t</title></head><body>{body}</body></html>".encode(),
                "text/html; charset=utf-8", options)


def _home() -> Host:
    classic = html(f"""
        <link rel=stylesheet href=/style.css><link rel=stylesheet href=https://{CDN}/brotli.css>
        <script src=/chunked.js></script><script src=/gzip.js></script>
        <img src=/hop1.png><img src=http://{MEDIA}/away.png><img src=/gone.png>
        <img srcset="http://{MEDIA}/small1.png 1x, http://{MEDIA}/small2.png 2x" src=http://{MEDIA}/small0.png>
        <iframe src=http://{ADS}/frame></iframe><iframe src=/cookie></iframe>
        <div style="height:6000px"></div><img loading=lazy src=http://{MEDIA}/lazy.png>
        <script>navigator.sendBeacon('/beacon', 'x');
        const s = document.createElement('script');
        s.src = '/inserted.js?now=' + Date.now() + '&r=' + Math.random(); document.body.append(s);
        const i = new Image(); i.src = 'http://{MEDIA}/small3.png'; document.body.append(i);</script>""")
    modern = html(f"""
        <style>@font-face {{ font-family: f; src: url(https://{CDN}/font.ttf) }} p {{ font-family: f }}</style>
        <p>text</p><script src=https://{CDN}/brotli.js></script><script src=/modern.js></script>
        <img src="data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw==">
        <iframe src=https://{ADS}/frame></iframe>""",
        f"""add_header Content-Security-Policy "default-src 'self' data: blob: wss: https://{CDN} https://{API} """
        f"""https://{ADS}; style-src 'unsafe-inline'";""", "add_header Vary Accept-Language;",
        "gzip on;", "gzip_types *;")
    modern_js = f"""
        fetch('https://{API}/json', {{method: 'POST', body: 'a=1', headers: {{'X-Own': '1'}}}}).then(r => r.json());
        const x = new XMLHttpRequest(); x.open('POST', '/xhr'); x.send('b=2');
        fetch('https://{API}/json'); fetch('/cached.js').then(() => fetch('/cached.js'));
        navigator.serviceWorker.register('/sw.js');
        new Worker('/worker.js');
        new WebSocket('wss://{API}/socket');
        const b = new Image(); b.src = URL.createObjectURL(new Blob(['x'])); document.body.append(b);"""
    return Host({
        "/": classic, "/modern": modern, "/modern.js": File(modern_js.encode(), "application/javascript"),
        "/style.css": File(b"@import url(/imported.css);" + script(2, 500, STYLE), "text/css"),
        "/imported.css": File(script(3, 2000, STYLE), "text/css"),
        "/gzip.js": File(script(4, 40_000), "application/javascript", ("gzip on;", "gzip_types *;")),
        "/chunked.js": File(script(5, 30_000), "application/javascript",    # sub_filter takes the length away
                            ("sub_filter nothing-like-this x;", "sub_filter_types *;")),
        "/inserted.js": File(script(6, 100), "application/javascript"),
        "/cached.js": File(script(7, 3000), "application/javascript", ("add_header Cache-Control max-age=600;",)),
        "/sw.js": File(b"self.addEventListener('install', e => e.waitUntil(fetch('/from-worker.txt?sw')));",
                       "application/javascript"),
        "/worker.js": File(b"fetch('/from-worker.txt?worker');", "application/javascript"),
        "/from-worker.txt": File(b"asked for by a worker", "text/plain"),
        "/file.zip": File(b"PK" + bytes(3000), "application/zip", ("add_header Content-Disposition attachment;",)),
        "/end.png": picture(20),
    }, [
        "location = /hop1.png { return 302 /hop2.png; }",
        f"location = /hop2.png {{ return 301 https://{MEDIA}/hop3.png; }}",
        "location = /beacon { return 204; }",
        "location = /xhr { default_type application/json; return 200 '{\"posted\": true}'; }",
        "location = /cookie { if ($cookie_seen = '') { add_header Set-Cookie seen=1; return 302 /cookie; } "
        "default_type text/html; return 200 '<p>you came back</p>'; }",
    ])


def _media() -> Host:
    files = {f"/small{number}.png": picture(number) for number in range(4)}
    files |= {"/lazy.png": picture(5), "/big.png": picture(50, 1320)}
    return Host(files, [
        f"location = /hop3.png {{ return 307 http://{HOME}/end.png; }}",
        f"location = /away.png {{ return 303 https://{MEDIA}/small1.png; }}"])


def _cdn() -> Host:
    scripts = "".join(f'<script src="{url}"></script>' for url in ODD_URLS)
    encoded = ("add_header Content-Encoding br;", "add_header Access-Control-Allow-Origin *;")
    font = Path(matplotlib.get_data_path(), "fonts", "ttf", "DejaVuSansDisplay.ttf").read_bytes()
    return Host({
        "/odd": html(f"{scripts}<img src=https://{MEDIA}/big.png><img src=/../a/./../twice.png><img src=twice.png>"
                     f"<img src=http://{CDN}/same.png><img src=https://{CDN}/same.png?>"),
        "/brotli.css": File(brotli.compress(script(10, 30_000, STYLE)), "text/css", encoded),
        "/brotli.js": File(brotli.compress(script(11, 60_000)), "application/javascript", encoded),
        **_app(),
        "/font.ttf": File(font, "font/ttf", ("add_header Access-Control-Allow-Origin *;",)),
        "/twice.png": picture(11), "/same.png": picture(12),
    }, [    # the raw request line, so that no two odd URLs have the same body
        "merge_slashes off;",
        "location = /secure { if ($scheme = http) { return 301 https://$host$request_uri; } "
        "return 200 '<title>safe</title><img src=/twice.png>'; }",
        "location = /graphql { proxy_pass http://unix:GRAPHQL:/; }",
        "location = /news { proxy_pass http://unix:GRAPHQL:/news; proxy_buffering off; }",
        "location = /socket { proxy_pass http://unix:GRAPHQL:/socket; proxy_http_version 1.1; proxy_read_timeout 600s; "
        "proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade; }",
        "location /any/ { default_type application/javascript; return 200 '// $request_uri $scheme\\n'; }"])


def _app() -> dict[str, File]:
    """Return the files of the page APP; to a request with HX-Request its document's name answers with a part of it."""
    whole = File(app.DOCUMENT, "text/html; charset=utf-8",
                 ("add_header Vary HX-Request;", "if ($http_hx_request) { rewrite ^ /fragment last; }"))
    pictures = {f"/picture-{name}.png": picture(60 + number)
                for number, name in enumerate(("first", "second", "fragment", "socket", "news"))}
    pictures["/late.png"] = picture(70, 32, "limit_rate 2k;")
    modules = {f"/m{number}.js": File(app.module(number), "application/javascript")
               for number in range(1, app.MODULES + 1)}
    return {"/app": whole, "/htmx.js": File(HTMX.read_bytes(), "application/javascript"),
            "/fragment": File(app.FRAGMENT, "text/html", ("add_header Vary HX-Request;",)),
            "/film.bin": File(app.FILM, "application/octet-stream"), **pictures, **modules}


def _api() -> Host:
    rude = html(f"""
        <script>if (!sessionStorage.again) {{ sessionStorage.again = 1; location.reload(); }}
        else {{ alert('hello'); window.open('/popup'); confirm('sure?'); }}</script>
        <iframe src=/download></iframe><iframe src=https://{LOGIN}/frame></iframe>
        <img src=https://{EXPIRED}/x.png>
        <script>fetch('/hanging');
        fetch('/stream').then(async r => {{ const t = r.body.getReader(); while (!(await t.read()).done); }});
        const cut = new AbortController(); fetch('/slow.bin', {{signal: cut.signal}}).then(() => cut.abort());
        </script><img src=/fine.png>""" + "".join(f"<img src='/fine.png?{n}'>" for n in range(20)))     # not incomplete
    allowed = (f"add_header Access-Control-Allow-Origin https://{HOME};",
               "add_header Access-Control-Allow-Headers X-Own;")
    return Host({
        "/rude": rude, "/popup": html("popup"), "/never-loads": html("<script async src=/hanging></script>"),
        "/stuck": html("""<script>const waits = new XMLHttpRequest();      // as an endless loop, with no processor
                          waits.open('GET', '/hanging', false); waits.send();</script>"""),
        "/alerts": html("<script>for (;;) alert(1);</script>"),
        "/again": html("<script>setTimeout(() => location.reload(), 50);</script>"),
        "/fine.png": picture(30),
        "/download": File(script(31, 5000), "application/octet-stream",
                          ("add_header Content-Disposition 'attachment; filename=x.bin';",)),
        "/slow.bin": File(random.Random(32).randbytes(60_000), "application/octet-stream", ("limit_rate 20k;",)),
        "/inner": html("<img src=/fine.png>"),
        "/stream": File(random.Random(33).randbytes(200_000), "text/event-stream", ("limit_rate 2k;",)),
    }, [
        "location = /json { default_type application/json; " + " ".join(allowed)
        + " if ($request_method = OPTIONS) { " + " ".join(allowed) + " return 204; }"
        " return 200 '{\"method\": \"$request_method\"}'; }",
        "location = /hanging { proxy_pass http://unix:SILENT:/; proxy_read_timeout 600s; }",
        "location = /socket { return 404; }"])
