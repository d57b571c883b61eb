"""At its end fetch.py loads each page once from its recording: one whose replay is incomplete is said to be unfit."""

import json
import sys
from email.message import Message
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from tests.support.answering import Answer, answering
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
    "/incomplete": f"<script>for (let n = 0; n < {IMAGES}; n++) document.write("
               "`<img src=/at-${Math.floor(performance[Symbol.for('tfo-lab.timeOrigin')]) % 1e7}-${n}.png>`)</script>"}


def site(path: str, headers: Message) -> Answer:
    """Answer everything."""
    asks = path == "/consent" and "Cookie" not in headers
    body = f"<!doctype html><link rel=icon href=data:,><body>{WALL if asks else PAGES.get(path, 'x')}".encode()
    refresh = {"Refresh": "0; url=/whole"} if path == "/refreshed" else {}
    return 200, {"Content-Type": "text/html" if path in PAGES else "image/png", **refresh}, body


def test_a_page_whose_replay_is_hollow_is_not_fit(tmp_path: Path) -> None:
    (tmp_path / "x.pages").write_text("".join(f"http://{HOST}{path}\n" for path in PAGES))
    with answering(site) as port:
        (tmp_path / "remap").write_text(f"{HOST} 127.0.0.1 {port}\n")
        done = ran(sys.executable, ROOT / "fetch.py", "--dir", tmp_path, "--name", "x", "--remap", tmp_path / "remap",
                   "--quiet", "0.5", "--timeout", "60", "--verdict", tmp_path / "verdict.json")
    assert done.returncode == 1, done.stdout + done.stderr
    verdicts = json.loads((tmp_path / "verdict.json").read_text())
    assert [each["url"].partition(HOST)[2] for each in verdicts if each["reasons"]] == ["/refreshed", "/incomplete"]
    assert f"http://{HOST}/whole" in verdicts[2]["reasons"][0], "the page that it led on to"
    assert (tmp_path / "x" / HOST).is_dir(), "it is recorded all the same"
