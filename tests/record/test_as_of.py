"""fetch.py --as-of: what the servers on loopback lack is asked of a web archive, here a small one of our own."""

import sys
from email.message import Message
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from tests.support.answering import Answer, answering
from tests.support.made_warc import PAGE, picture, site_records
from tests.support.ran import ran

pytestmark = [pytest.mark.chrome, pytest.mark.slow]

CAPTURES = {url: (int(line.split()[1]), headers, body) for kind, url, line, headers, body in site_records()
            if kind == "response" and not url.startswith(f"{PAGE}count")}


def captured(path: str, _headers: Message) -> Answer:
    """Answer as the Wayback Machine does: captured headers under names of its own, or none."""
    status, headers, body = CAPTURES.get(path.partition("id_/")[2], (404, [], b""))
    named = {name if name in ("Content-Encoding", "Location") else f"X-Archive-Orig-{name}": value
             for name, value in headers}
    date = {} if status == 404 else {"Memento-Datetime": "Tue, 12 Mar 2013 00:00:00 GMT"}
    return status, {**named, **date, "X-Archive-Src": "x.warc.gz"}, b"body { }" if "chunked" in named.values() else body


def test_a_page_as_of_a_day(tmp_path: Path) -> None:
    (tmp_path / "old.pages").write_text(PAGE)
    with answering(captured) as port:
        ran(sys.executable, ROOT / "fetch.py", "--dir", tmp_path, "--name", "old", "--quiet", "0.5", "--timeout", "30",
            "--as-of", "2013-03-12", "--archive", f"http://127.0.0.1:{port}/web", status=0)
    mirror = tmp_path / "old"
    assert (mirror / "cdn.old.test" / "here.png").read_bytes() == picture()
    assert (mirror / "www.old.test" / "style.css").read_bytes() == b"body { }"
    assert not (mirror / "gone.test").exists()
