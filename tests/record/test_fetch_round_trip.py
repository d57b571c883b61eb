"""What is exported and brought back by fetch.py --from is the same recording (from a WARC: test_export)."""

import json
import sys
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from harness.files.encoding import decode
from harness.files.pages import PageFiles, read_pages, sanitise
from harness.mirror.recording import read_recording
from harness.mirror.servers import recorded_rtts
from harness.record.export.write import export
from tests.support.ran import ran
from tests.support.recording import MadeRecording

pytestmark = [pytest.mark.chrome, pytest.mark.slow]

NAME = "Web"
PAGE = "https://www.made.test/"
SCRIPT = """fetch('/api', {method: 'POST', body: 'question=1'}).then((answer) => answer.json())
    .then((found) => { new Image().src = found.picture + '&t=' + Date.now(); });
    const socket = new WebSocket('wss://www.made.test/news');
    socket.onmessage = (message) => { if (message.data === 'hello') socket.send('thanks'); };"""
DOCUMENT = ("<!doctype html><title>made</title><link rel=icon href=data:,><link rel=stylesheet href=/style.css>"
            f"<img src=/moved.png><body><script>{SCRIPT}</script>").encode()


def write_recording(directory: Path) -> None:
    """Write a page of ours as HAR wants it; the time of its WebSocket is as DevTools write it, until its end."""
    recorded = MadeRecording(directory, NAME)
    recorded.add(PAGE, DOCUMENT, (("Content-Type", "text/html; charset=utf-8"), ("Content-Length", str(len(DOCUMENT)))))
    recorded.add_lines(Path(__file__).with_name("round_trip.jsonl"))
    for name, part in recorded.entries[1].items():
        recorded.entries[0].setdefault(name, part)
    recorded.finish(PAGE)


def talk(fetchlog: Path) -> list[tuple[str, int, str]]:
    """Return who said what over the only WebSocket of a recording, with its opcode; nothing without one."""
    log = json.loads((fetchlog / f"{sanitise(PAGE)}.har").read_text())["log"]
    return [(message["type"], message["opcode"], message["data"])
            for entry in log["entries"] for message in entry.get("_webSocketMessages", ())]


def bodies(directory: Path) -> dict[str, bytes]:
    """Return the files of a mirror, decoded: a HAR's are compressed anew, which gives other bytes of about the size."""
    return {str(path.relative_to(directory)): decode(path.read_bytes(), "gzip" if path.suffix == ".css" else "")[0]
            for path in directory.rglob("*") if path.is_file()}


def test_what_was_exported_comes_back(tmp_path: Path) -> None:
    write_recording(tmp_path)
    source = tmp_path / "site.har"
    export(tmp_path, NAME, read_pages(tmp_path / f"{NAME}.pages"), source)
    (tmp_path / "back.pages").write_text(PAGE)
    done = ran(sys.executable, ROOT / "fetch.py", "--dir", tmp_path, "--name", "back", "--from", source, "--quiet",
               "0.5", "--timeout", "15", status=0)
    assert "fit for the experiment" in done.stdout
    assert "similar URL" not in done.stdout, "everything is found under its own URL and body"
    assert bodies(tmp_path / "back") == bodies(tmp_path / NAME)
    back = PageFiles(tmp_path, "back")
    rtts_ms = recorded_rtts(back, read_recording(back.mirror, back.fetchlog)).rtts_ms
    assert rtts_ms == {"www.made.test": 40, "img.made.test": 40}
    said = talk(tmp_path / f"{NAME}.fetchlog")
    assert len(said) == 3
    assert talk(tmp_path / "back.fetchlog") == said
