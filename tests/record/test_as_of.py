"""fetch.py --as-of: what the servers on loopback lack is asked of a web archive, here a small one of our own."""

import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from harness.bootstrap import ROOT
from tests.support.made_warc import PAGE, picture, site_records
from tests.support.ran import ran

pytestmark = [pytest.mark.chrome, pytest.mark.slow]

CAPTURES = {url: (int(line.split()[1]), headers, body) for kind, url, line, headers, body in site_records()
            if kind == "response" and not url.startswith(f"{PAGE}count")}


class _Archive(BaseHTTPRequestHandler):
    """Answers as the Wayback Machine does: captured headers under names of its own, or none."""

    def do_GET(self) -> None:
        status, headers, body = CAPTURES.get(self.path.partition("id_/")[2], (404, [], b""))
        self.send_response(status)
        if status != 404:
            self.send_header("Memento-Datetime", "Tue, 12 Mar 2013 00:00:00 GMT")
        for name, value in headers:
            plain = name in ("Content-Encoding", "Location")
            self.send_header(name if plain else f"X-Archive-Orig-{name}", value)
        self.send_header("X-Archive-Src", "x.warc.gz")
        body = body if "chunked" not in dict(headers).values() else b"body { }"
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def address() -> Iterator[str]:
    """Run the archive."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Archive) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/web"
        server.shutdown()


def test_a_page_as_of_a_day(tmp_path: Path, address: str) -> None:
    (tmp_path / "old.pages").write_text(PAGE)
    ran(sys.executable, ROOT / "fetch.py", "--dir", tmp_path, "--name", "old", "--quiet", "0.5", "--timeout", "30",
        "--as-of", "2013-03-12", "--archive", address, status=0)
    mirror = tmp_path / "old"
    assert (mirror / "cdn.old.test" / "here.png").read_bytes() == picture()
    assert (mirror / "www.old.test" / "style.css").read_bytes() == b"body { }"
    assert not (mirror / "gone.test").exists()
