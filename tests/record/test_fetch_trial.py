"""At its end fetch.py loads each page once from its recording: one whose replay is hollow is said to be unfit."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from tests.support.ran import ran

pytestmark = [pytest.mark.chrome, pytest.mark.slow]

HOST = "made.test"
IMAGES = 9
WALL = "<script>document.cookie = 'consent=yes'; location.reload()</script>"
"""What /consent is without that cookie."""
PAGES = {
    "/consent": "<p>You agreed, and here is the whole of the page at last." + "<img src=/a.png><img src=/b.png>",
    # The server sends the same again: of as many bytes as what came first.
    "/again": "<script>if (!document.cookie.includes('seen')) { document.cookie = 'seen=1'; location.reload() }"
              "</script><img src=/c.png><img src=/d.png>",
    "/refreshed": "",
    # As sites do that are plagued by robots: what Chrome says it is when it loads a page is what it said before.
    "/whole": f"<script>if (!navigator.userAgent.includes('Headless')) for (let n = 0; n < {IMAGES}; n++) "
              "document.write(`<img src=/whole-${n}.png>`)</script>",
    # When it began by the real clock is another number in each load, and stands in the path.
    "/hollow": f"<script>for (let n = 0; n < {IMAGES}; n++) document.write("
               "`<img src=/at-${Math.floor(performance[Symbol.for('tfo-lab.timeOrigin')]) % 1e7}-${n}.png>`)</script>"}


class _Site(BaseHTTPRequestHandler):
    """A site that has an answer to everything."""

    def do_GET(self) -> None:
        asks = self.path == "/consent" and "Cookie" not in self.headers
        body = f"<!doctype html><link rel=icon href=data:,><body>{WALL if asks else PAGES.get(self.path, 'x')}".encode()
        self.send_response_only(200)
        self.send_header("Content-Type", "text/html" if self.path in PAGES else "image/png")
        self.send_header("Content-Length", str(len(body)))
        if self.path == "/refreshed":
            self.send_header("Refresh", "0; url=/whole")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def site() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Site) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def test_a_page_whose_replay_is_hollow_is_not_fit(tmp_path: Path) -> None:
    (tmp_path / "x.pages").write_text("".join(f"http://{HOST}{path}\n" for path in PAGES))
    with site() as port:
        (tmp_path / "remap").write_text(f"{HOST} 127.0.0.1 {port}\n")
        done = ran(sys.executable, ROOT / "fetch.py", "--dir", tmp_path, "--name", "x", "--remap", tmp_path / "remap",
                   "--quiet", "0.5", "--timeout", "60")
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"http://{HOST}/consent: fit for the experiment" in done.stdout
    assert f"http://{HOST}/again: fit for the experiment" in done.stdout
    assert f"http://{HOST}/whole: fit for the experiment" in done.stdout
    assert (f"not recorded: http://{HOST}/refreshed; list in x.pages what they lead on to instead"
            in done.stderr.splitlines())
    assert f"http://{HOST}/hollow: NOT fit for the experiment" in done.stdout
    assert (f"because its replay is not the page: {IMAGES} of {IMAGES + 1} requests failed: not in the recording "
            f"({HOST})") in done.stdout
    assert "is not known" not in done.stdout
    assert done.stderr.strip().splitlines()[-1] == (
        f"recorded, but not fit to be measured: http://{HOST}/hollow; take them out of x.pages")
    assert (tmp_path / "x" / HOST).is_dir(), "it is recorded all the same"
