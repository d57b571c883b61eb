"""What is exported and brought back by fetch.py --from is the same recording: from HAR and WACZ."""

import gzip
import json
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from harness.bootstrap import ROOT
from harness.files.encoding import decode
from harness.files.pages import read_pages, sanitise
from harness.mirror.recording import read_recording
from harness.record.export.write import export
from tests.support.https_recording import RECORDED, HttpsRecording
from tests.support.ran import ran

pytestmark = [pytest.mark.chrome, pytest.mark.slow]

NAME = "Web"
PAGE = "https://www.made.test/"
STYLE = b"body { color: red }" * 50
SCRIPT = """fetch('/api', {method: 'POST', body: 'question=1'}).then((answer) => answer.json())
    .then((found) => { new Image().src = found.picture + '&t=' + Date.now(); });
    const socket = new WebSocket('wss://www.made.test/news');
    socket.onmessage = (message) => { if (message.data === 'hello') socket.send('thanks'); };"""
TALK = (("receive", 1, "hello"), ("send", 1, "thanks"), ("receive", 2, "AAEC"))
"""Who says what over the WebSocket, with its opcode: text, or bytes in base64."""
DOCUMENT = ("<!doctype html><title>made</title><link rel=icon href=data:,><link rel=stylesheet href=/style.css>"
            f"<img src=/moved.png><body><script>{SCRIPT}</script>").encode()
PICTURE = bytes(range(256)) * 8
TIME = 1_363_348_800_000
TALK_S = datetime.fromisoformat(RECORDED).timestamp() + 0.01


def write_recording(directory: Path) -> None:
    recorded = HttpsRecording(directory, NAME)
    recorded.add(PAGE, DOCUMENT, (("Content-Type", "text/html; charset=utf-8"), ("Content-Length", str(len(DOCUMENT)))))
    zipped = gzip.compress(STYLE, mtime=0)
    recorded.add(f"{PAGE}style.css", zipped, (("Content-Type", "text/css"), ("Content-Encoding", "gzip"),
                                              ("Content-Length", str(len(zipped)))), size=len(STYLE))
    recorded.add(f"{PAGE}moved.png", status=302, headers=(("Location", "http://img.made.test/p.png"),))
    recorded.entries[-1]["response"]["redirectURL"] = "http://img.made.test/p.png"
    recorded.add("http://img.made.test/p.png", PICTURE, (("Content-Type", "image/png"),), version="HTTP/1.1")
    recorded.add(f"{PAGE}api", b'{"picture": "/q.png?x=1"}', (("Content-Type", "application/json"),), method="POST")
    recorded.entries[-1]["request"]["postData"] = {"mimeType": "text/plain;charset=UTF-8", "text": "question=1"}
    recorded.add(f"{PAGE}q.png?x=1&t={TIME}", PICTURE[:512], (("Content-Type", "image/png"),))
    for entry in recorded.entries:      # as the recorder and HAR want them
        host, _, target = entry["request"]["url"].partition("//")[2].partition("/")
        file = f"{host}/{target or 'index.html'}"
        if (directory / NAME / file).is_file():
            entry["_file"] = file
        entry["timings"] = {"connect": 95, "ssl": 55, "send": 0, "wait": 50, "receive": 1}
        entry["request"].setdefault("httpVersion", entry["response"]["httpVersion"])
        entry["response"].setdefault("statusText", "")
        entry["response"].setdefault("redirectURL", "")
    recorded.add("wss://www.made.test/news", status=101, time=5_000, _webSocketMessages=[
        {"type": who, "time": TALK_S + number / 20, "opcode": opcode, "data": data}
        for number, (who, opcode, data) in enumerate(TALK)])     # a time as DevTools write it: until the end
    recorded.urls.pop()
    recorded.finish(PAGE)


def talk(directory: Path) -> list[tuple[str, int, str]]:
    """Return what was said over the only WebSocket of a recording; nothing without one."""
    log = json.loads((directory / "back.fetchlog" / f"{sanitise(PAGE)}.har").read_text())["log"]
    return [(message["type"], message["opcode"], message["data"])
            for entry in log["entries"] for message in entry.get("_webSocketMessages", ())]


def har(directory: Path) -> Path:
    export(directory, NAME, read_pages(directory / f"{NAME}.pages"), directory / "site.har")
    return directory / "site.har"


def wacz(directory: Path) -> Path:
    export(directory, NAME, read_pages(directory / f"{NAME}.pages"), directory / "site.wacz")
    return directory / "site.wacz"


def bodies(directory: Path) -> dict[str, bytes]:
    """Return the files of a mirror, decoded: a HAR's are compressed anew, which gives other bytes of about the size."""
    return {str(path.relative_to(directory)): decode(path.read_bytes(), "gzip" if path.suffix == ".css" else "")[0]
            for path in directory.rglob("*") if path.is_file()}


@pytest.mark.parametrize("exported", [har, wacz])
def test_what_was_exported_comes_back(tmp_path: Path, exported: Any) -> None:
    write_recording(tmp_path)
    source = exported(tmp_path)
    (tmp_path / "back.pages").write_text(PAGE)
    done = ran(sys.executable, ROOT / "fetch.py", "--dir", tmp_path, "--name", "back", "--from", source, "--quiet",
               "0.5", "--timeout", "15", status=0)
    assert "fit for the experiment" in done.stdout
    assert "similar URL" not in done.stdout, "everything is found under its own URL and body"
    assert bodies(tmp_path / "back") == bodies(tmp_path / NAME)
    recording = read_recording(tmp_path / "back", tmp_path / "back.fetchlog")
    assert recording.rtts_ms == ({"www.made.test": 40, "img.made.test": 40} if exported is har else {})
    assert ("how far away 2 of 2 hosts were" in done.stdout) == (exported is har)
    assert talk(tmp_path) == (list(TALK) if exported is har else [])
    assert ("live connections are not replayed (1 x WebSocket)" in done.stdout) == (exported is not har)
    if exported is not har:
        style = Path("www.made.test", "style.css")
        assert (tmp_path / "back" / style).read_bytes() == (tmp_path / NAME / style).read_bytes()
