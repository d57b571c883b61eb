"""A small web site on 127.0.0.1 with every kind of request the net-log reader must tell apart.

    a.test       the page, its parts, redirects, failures, answers that never end; HTTP/1.1 keep-alive
    b.test       another host: an iframe with its own parts, the middle of a redirect
    old.test     HTTP/1.0: every answer closes its connection
    refused.test mapped to a port nobody listens on
    absent.test  mapped to nothing: the name is not found

The server keeps an access log of its own, which the tests compare with what the net-log says.
"""

import gzip
import socket
import struct
import threading
import zlib
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

A, B, OLD, REFUSED, ABSENT = (f"http://{name}.test" for name in ("a", "b", "old", "refused", "absent"))
HTML, CSS, SCRIPT, PNG, JSON = ("text/html; charset=utf-8", "text/css", "text/javascript; charset=UTF-8", "image/png",
                                "application/json")


def png(size: int) -> bytes:
    """Return a valid 1x1 PNG of about `size` bytes (at least 80), filled up with a text chunk."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    pixels = chunk(b"IDAT", zlib.compress(b"\0\0"))
    filling = chunk(b"tEXt", b"Comment\0" + b"x" * max(0, size - 90))
    return b"\x89PNG\r\n\x1a\n" + header + filling + pixels + chunk(b"IEND", b"")


INDEX = f"""<!DOCTYPE html><html><head><title>small site</title><meta charset=utf-8>
<link rel=stylesheet href=/style.css><script src=/app.js></script></head><body>
<img src=/one.png?a=1&b=two%20words><img src={B}/two.png><img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">
<img src=/redirect><img src=/none><img src=/missing.png><img src={REFUSED}/x.png><img src={ABSENT}/x.png>
<img src={OLD}/1.png><img src={OLD}/2.png>
<iframe src=/frame.html></iframe><iframe src={B}/frame.html></iframe>
</body></html>"""

APP = """'use strict';
const script = document.createElement('script'); script.src = '/late.js'; document.head.append(script);
const gone = new AbortController(), cut = new AbortController();
fetch('/silent', {signal: gone.signal}).catch(() => 0);
fetch('/endless?cut', {signal: cut.signal}).then(r => cut.abort()).catch(() => 0);
new Worker('/worker.js').onmessage = async () => {
  gone.abort();
  await (await fetch('/cached.json')).text(); await (await fetch('/cached.json')).text();
  await (await fetch('/checked.json')).text(); await (await fetch('/checked.json')).text();
  await (await fetch('/form', {method: 'POST', body: 'q=1'})).text();
  await (await fetch(URL.createObjectURL(new Blob(['blob'])))).text();
  if (navigator.serviceWorker) {
    await navigator.serviceWorker.register('/sw.js'); await navigator.serviceWorker.ready; }
  document.title = 'settled';
  if (location.hash == '#hang') { fetch('/silent?hang').catch(() => 0); fetch('/endless?hang').then(r => r.text());
    document.title = 'hanging'; }
};"""

FILES: dict[str, tuple[str, bytes]] = {
    "/": (HTML, INDEX.encode()),
    "/style.css": (CSS, b"body { background: url(/background.png) }"),
    "/app.js": (SCRIPT, APP.encode()),
    "/late.js": (SCRIPT, b"document.body && document.body.setAttribute('late', '1');"),
    "/frame.html": (HTML, b"<link rel=stylesheet href=/frame.css><img src=/in-frame.png><p>frame</p>"),
    "/frame.css": (CSS, b"p { color: green }" + b" " * 4000),
    "/worker.js": (SCRIPT, b"fetch('/from-worker.json').then(r => r.text()).then(postMessage);"),
    "/sw.js": (SCRIPT, b"oninstall = e => e.waitUntil(fetch('/from-service-worker.json').then(r => r.text()));"),
    "/from-worker.json": (JSON, b'{"from": "worker"}'),
    "/from-service-worker.json": (JSON, b'{"from": "service worker"}'),
    "/cached.json": (JSON, b'{"max-age": 600}'),
    "/checked.json": (JSON, b'{"etag": 1}'),
    "/form": (JSON, b'{"form": 1}'),
    "/favicon.ico": (PNG, png(200)),
    "/final.png": (PNG, png(500)),
    "/background.png": (PNG, png(300)),
    "/one.png": (PNG, png(100_000)),
    "/two.png": (PNG, png(2000)),
    "/in-frame.png": (PNG, png(1000)),
    "/1.png": (PNG, png(700)),
    "/2.png": (PNG, png(800)),
}
REDIRECTS = {("a.test", "/redirect"): (302, f"{B}/hop"), ("b.test", "/hop"): (301, f"{A}/final.png#part")}
COMPRESSED = "/frame.css"


@dataclass(frozen=True)
class Served:
    """One line of the server's own access log; `body` is the number of body bytes sent."""

    connection: tuple[str, int]
    method: str
    url: str
    status: int
    body: int


@dataclass
class Site:
    """The running site: use as a context manager. `port` is known once inside."""

    served: list[Served] = field(default_factory=list)

    def __enter__(self) -> "Site":
        self.ending = threading.Event()
        site = self

        class Handler(_Handler):
            def __init__(self, *arguments: object) -> None:
                self.site = site
                super().__init__(*arguments)  # type: ignore[arg-type]

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port: int = self._server.server_address[1]
        self._closed = socket.socket()          # bound but never listening: connections are refused
        self._closed.bind(("127.0.0.1", 0))
        self.refused_port: int = self._closed.getsockname()[1]
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.ending.set()
        self._server.shutdown()
        self._server.socket.close()
        self._closed.close()

    @property
    def rules(self) -> str:
        """The value of Chrome's --host-resolver-rules that leads to this site and nowhere else."""
        hosts = [f"MAP {host}.test:80 127.0.0.1:{self.port}" for host in ("a", "b", "old")]
        return ",".join([*hosts, f"MAP refused.test:80 127.0.0.1:{self.refused_port}", "MAP * ~NOTFOUND"])


class _Handler(BaseHTTPRequestHandler):
    site: Site
    timeout = 60

    def log_message(self, *arguments: object) -> None:
        """Write nothing to the terminal."""

    def do_GET(self) -> None:
        host = (self.headers["Host"] or "").split(":")[0]
        self.protocol_version = "HTTP/1.0" if host == "old.test" else "HTTP/1.1"
        path = self.path.partition("?")[0]
        if path == "/silent":
            self._note(0, 0)
            self.close_connection = True
            self.site.ending.wait(30)
        elif path == "/endless":
            self._endless()
        elif (host, path) in REDIRECTS:
            status, target = REDIRECTS[host, path]
            self._answer(status, {"Location": target}, b"moved")
        elif path == "/none":
            self._answer(204, {}, b"")
        elif path == "/checked.json" and "If-None-Match" in self.headers:
            self._answer(304, {"ETag": '"1"'}, b"")
        elif path in FILES:
            self._file(path)
        else:
            self._answer(404, {"Content-Type": "text/plain"}, b"not here")

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.do_GET()

    def _file(self, path: str) -> None:
        mime_type, body = FILES[path]
        headers = {"Content-Type": mime_type, "Cache-Control": "max-age=600" if path == "/cached.json" else "no-cache"}
        if path == "/":
            headers["Set-Cookie"] = "k=v; Path=/"
        if path == "/checked.json":
            headers["ETag"] = '"1"'
        if path == COMPRESSED:
            headers["Content-Encoding"], body = "gzip", gzip.compress(body, mtime=0)
        self._answer(200, headers, body)

    def _endless(self) -> None:
        """Send a head and the first bytes of the body it promises, then nothing."""
        self.close_connection = True
        self._note(200, 10)
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100000\r\n\r\n0123456789")
        self.site.ending.wait(30)

    def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        lines = [f"{self.protocol_version} {status} {self.responses[status][0]}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        if status not in (204, 304):
            lines.append(f"Content-Length: {len(body)}")
        self.close_connection = self.protocol_version == "HTTP/1.0"
        self._note(status, len(body))
        self.wfile.write("\r\n".join([*lines, "", ""]).encode() + body)

    def _note(self, status: int, body: int) -> None:
        url = f"http://{self.headers['Host']}{self.path}"
        self.site.served.append(Served(self.client_address, self.command, url, status, body))
