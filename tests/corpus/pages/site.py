"""The web server of cases: the hosts that their modules name, on this machine's loopback.

    python -m tests.corpus.pages.site DIRECTORY tests.corpus.pages.CASE...     by hand, then:
    ./fetch.py --dir DIRECTORY --name S --remap DIRECTORY/remap --ca DIRECTORY/ca.pem

Writes `remap` and `ca.pem` into DIRECTORY, says "ready", and serves until it is ended.
"""

import importlib
import ssl
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from http.server import ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import trustme

from tests.support.answering import Handler

Answer = Callable[["Asked"], None]


class Asked(Handler):
    """One request, and the ways in which a case can answer it."""

    protocol_version = "HTTP/1.1"
    hosts: dict[str, Answer]

    def do_GET(self) -> None:
        """Have the case answer it."""
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.hosts[self.headers["Host"]](self)

    do_POST = do_GET

    def answer(self, body: str = "", kind: str = "text/html", status: int = 200, **headers: str) -> None:
        """Send it at once. `headers`: with `_` for `-`."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.send(status, {"Content-Type": kind, **named}, body.encode())

    def pieces(self, pieces: Iterable[tuple[float, str]], kind: str = "text/html") -> None:
        """Send each of `pieces` so many seconds after the one before (Transfer-Encoding: chunked)."""
        self.head(200, {"Content-Type": kind, "Transfer-Encoding": "chunked"})
        for pause_s, piece in [*pieces, (0.0, "")]:
            time.sleep(pause_s)
            found = piece.encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(found), found))

    def head(self, status: int, headers: Mapping[str, object]) -> None:
        """Send a head that keeps the answer out of caches and lets every origin read it."""
        super().head(status, {"Cache-Control": "no-store", "Access-Control-Allow-Origin": "*", **headers})


def picture(size: int = 0) -> str:
    """Return an SVG of `size` bytes, or of as few as it takes."""
    start = "<svg xmlns='http://www.w3.org/2000/svg' width='99' height='99'><rect width='99' height='99'/></svg>"
    return start + (f"<!--{'x' * (size - len(start) - 7)}-->" if size else "")


def page(title: str, body: str) -> str:
    """Return a document that asks for no favicon."""
    return f"<!doctype html><title>{title}</title><link rel=icon href='data:,'><h1>{title}</h1>{body}"


def serve(directory: Path, *cases: str) -> None:
    """Serve the cases until the process ends."""
    origins = {urlsplit(origin): answer for case in cases
               for origin, answer in importlib.import_module(case).HOSTS.items()}
    handler = type("Handler", (Asked,), {"hosts": {origin.netloc: answer for origin, answer in origins.items()}})
    authority = trustme.CA()
    authority.cert_pem.write_to_path(directory / "ca.pem")
    remap = []
    for scheme in sorted({origin.scheme for origin in origins}):
        names = [origin.netloc for origin in origins if origin.scheme == scheme]
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        if scheme == "https":
            certificate, chain = authority.issue_cert(*names), directory / "chain.pem"
            chain.write_bytes(b"".join(part.bytes() for part in (    # to the authority, by which Chrome knows it
                certificate.private_key_pem, *certificate.cert_chain_pems, authority.cert_pem)))
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(chain)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        remap += [f"{name} 127.0.0.1 {server.server_port} {scheme}\n" for name in names]
        threading.Thread(target=server.serve_forever, daemon=True).start()
    (directory / "remap").write_text("".join(remap))
    print("ready", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    serve(Path(sys.argv[1]), *sys.argv[2:])
