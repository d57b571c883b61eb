"""fetch.py --from and --as-of: what others recorded becomes a recording like our own. Here it comes from fetch.py --to,
or from a web archive.
"""

import gzip
import sys
from email.message import Message
from pathlib import Path
from typing import Any

import pytest

from harness.bootstrap import ROOT
from harness.files.encoding import decode
from harness.files.pages import PageFiles, read_pages
from harness.mirror.recording import read_recording
from harness.mirror.servers import recorded_rtts
from harness.record.export import export, exported_page
from tests.support.answering import Answer, answering
from tests.support.har_schema import assert_har
from tests.support.ran import ran
from tests.support.recording import MadeRecording

pytestmark = [pytest.mark.chrome, pytest.mark.slow]

PAGE = "http://www.made.test/"
IMAGES = 50
"""So many that what is lost does not make the page incomplete."""
DOCUMENT = """<!doctype html><title>made</title><link rel=icon href=data:,><link rel=stylesheet href=/style.css><body>
<link rel=stylesheet href=http://gone.test/lost.css><img src=http://gone.test/cut.png><img src=/moved.png><script>
for (let number = 0; number < 50; number++) new Image().src = `/${number}.png?n=${number}`;
fetch('/api', {method: 'POST', body: 'question=1'}).then((answer) => answer.json())
  .then((found) => { new Image().src = found.picture + '&t=' + Date.now(); });
const socket = new WebSocket('wss://www.made.test/news');
socket.onmessage = (message) => { if (message.data === 'hello') socket.send('thanks'); };</script>"""
CUT = (b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://gone.test/cut.png\r\nContent-Length: 42\r\n\r\n"
       b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\ncut\r\n\r\n")
ASKED, STAND_IN = "www.made.test/0.png?n=0", "www.made.test/0.png?n=x"


@pytest.fixture
def files(tmp_path: Path) -> PageFiles:
    """Write the page as HAR wants it; the time of its WebSocket is as DevTools write it, until its end."""
    made = MadeRecording(tmp_path)
    made.add(PAGE, DOCUMENT, "text/html")
    made.add_lines("record/round_trip.jsonl")
    for number in range(IMAGES):
        made.add(f"{PAGE}{number}.png?n={number or 'x'}", b"\x89PNG\r\n\x1a\n%d" % number, "image/png")
    made.finish(PAGE)
    return PageFiles(tmp_path, made.name)


def bodies(files: PageFiles) -> dict[str, bytes]:
    """Return the files of a mirror, decoded: a HAR's are compressed anew, which gives other bytes of about the size."""
    return {path.relative_to(files.mirror).as_posix(): decode(
        path.read_bytes(), "gzip" if path.suffix == ".css" else "")[0]
        for path in files.mirror.rglob("*") if path.is_file()}


def bring(back: PageFiles, *origin: object) -> tuple[str, list[dict[str, Any]]]:
    """Record the page from elsewhere; return what is said, and what its HAR has."""
    back.pages.write_text(PAGE)
    done = ran(sys.executable, ROOT / "fetch.py", "--dir", back.base, "--name", "back", "--quiet", "0.5", "--timeout",
               "60", *origin, status=0)
    assert "fit for the experiment" in done.stdout
    assert "<transactions>" not in (back.fetchlog / "httpwww.made.test").read_text()
    entries: list[dict[str, Any]] = assert_har(back.fetchlog / "httpwww.made.test.har")["entries"]
    assert "x-tfo-lab-answer" not in str(entries).lower()
    assert entries[0]["startedDateTime"].startswith("2026-11-21")
    assert by_url(entries)[f"{PAGE}moved.png"]["response"]["redirectURL"] == "http://img.made.test/p.png"
    assert by_url(entries)["http://gone.test/lost.css"]["_error"] == "not in the archive"
    return done.stdout, entries


def by_url(entries: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {entry["request"]["url"]: entry for entry in entries}


@pytest.mark.parametrize("kind", ["har", "warc.gz"])
def test_a_page_of_a_file(files: PageFiles, kind: str) -> None:
    source, back, wanted = files.base / f"site.{kind}", PageFiles(files.base, "back"), bodies(files)
    export(files.base, files.name, read_pages(files.pages), source)
    if kind != "har":
        source.write_bytes(source.read_bytes() + gzip.compress(CUT))
    said, entries = bring(back, "--from", source)
    assert "1 answered by what was recorded for a similar URL" in said
    assert by_url(entries)[f"http://{ASKED}"]["comment"] == f"a stand-in: recorded for http://{STAND_IN}"
    wanted[ASKED] = wanted.pop(STAND_IN)
    assert bodies(back) == wanted
    talk = [(message["type"], message["opcode"], message["data"]) for entry in entries
            for message in entry.get("_webSocketMessages", ())]
    if kind == "har":
        rtts_ms = recorded_rtts(back, read_recording(back.mirror, back.fetchlog)).rtts_ms
        assert rtts_ms == {"www.made.test": 40, "img.made.test": 40}
        assert talk == [("receive", 1, "hello"), ("send", 1, "thanks"), ("receive", 2, "AAEC")]
    else:
        assert "captured on 2026-11-21; its times are unknown" in said
        assert {time for entry in entries for time in (entry["time"], *entry["timings"].values())} == {0, -1}
        assert by_url(entries)["http://gone.test/cut.png"]["_error"].startswith("in the archive without its body (")
        assert talk == []


def test_a_page_as_of_a_day(files: PageFiles) -> None:
    """An archive has what was got by GET, and no WebSockets."""
    captures = {each.request.url.partition("//")[2]: each.answer
                for each in exported_page(files, read_pages(files.pages)[0]).exchanges if each.request.method == "GET"}
    asked: list[str] = []

    def answer(path: str, _headers: Message) -> Answer:
        """Answer as the Wayback Machine does: captured headers under names of its own, or none."""
        asked.append(path)
        url = path.partition("id_/http")[2].partition("//")[2]
        if url not in captures:
            return 404, {}, b""
        named = {name if name in ("Content-Encoding", "Location") else f"X-Archive-Orig-{name}": value
                 for name, value in captures[url].headers or ()}
        dated = {"Memento-Datetime": "Sat, 21 Nov 2026 09:00:00 GMT", "X-Archive-Src": "x.warc.gz"}
        return captures[url].status, named | dated, captures[url].content or b""

    back = PageFiles(files.base, "back")
    with answering(answer) as port:
        bring(back, "--as-of", "2026-11-21", "--archive", f"http://127.0.0.1:{port}/web", "--no-trial")
    assert len(asked) == len(set(asked)) > IMAGES
    assert bodies(back) == {name: body for name, body in bodies(files).items()
                            if name.partition("/")[2].partition("?")[0] not in ("api", "q.png", "0.png")}
