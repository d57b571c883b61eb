"""Live connections and Early Hints in a real Chrome: what a replay says again is recorded again, message by message."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.bootstrap import ROOT
from harness.files.pages import sanitise
from tests.support.ran import ran
from tests.support.recording import HOST, MadeRecording
from tests.support.replay_process import free_port, running

pytestmark = [pytest.mark.chrome, pytest.mark.slow]

PAGE = f"https://{HOST}/"
SCRIPT = """
const socket = new WebSocket(`wss://${location.host}/socket?t=${Date.now()}`, ['pictures']);
socket.binaryType = 'arraybuffer';
const show = (name) => { const image = new Image(); image.src = name; document.body.append(image); };
socket.onmessage = (event) => {
  if (event.data === 'hello') socket.send('which?');
  else if (event.data instanceof ArrayBuffer) show(`/bytes-${new Uint8Array(event.data).join('-')}.png`);
  else show(event.data);
};
new EventSource('/news').onmessage = (event) => show(event.data);
fetch('/lines').then(async (answer) => {
  const reader = answer.body.getReader();
  show(new TextDecoder().decode((await reader.read()).value).trim());
  await reader.read();
});
"""
PICTURES = {"/said.png", "/bytes-0-1.png", "/news.png", "/line.png"}
HINTS = [{"name": "link", "value": "</early.css>; rel=preload; as=style"}]


def entries(directory: Path, name: str) -> dict[str, dict[str, Any]]:
    """Return the entries of the page's HAR by path."""
    log = json.loads((directory / f"{name}.fetchlog" / f"{sanitise(PAGE)}.har").read_text())["log"]
    return {entry["request"]["url"].split("/", 3)[3].partition("?")[0]: entry for entry in log["entries"]}


def messages(entry: dict[str, Any]) -> list[tuple[str, int, str]]:
    return [(message["type"], message["opcode"], message["data"]) for message in entry["_webSocketMessages"]]


def write_recording(directory: Path) -> None:
    recorded = MadeRecording(directory)
    html = "text/html"
    recorded.add(PAGE, f"<!doctype html><link rel=icon href=data:,><link rel=stylesheet href=/early.css><body>"
                       f"<script>{SCRIPT}</script>".encode(), html)
    recorded.entries[-1]["response"]["_earlyHints"] = HINTS
    recorded.add_lines(Path(__file__).with_name("live.jsonl"))
    recorded.finish(PAGE)


def test_a_recording_of_a_replay_has_the_same_live_connections(tmp_path: Path) -> None:
    write_recording(tmp_path)
    (tmp_path / "again.pages").write_text(PAGE)
    tls_port = free_port()
    with running(tmp_path, "--http", "recorded", "--authority", tmp_path / "authority",
                 "--tls-port", str(tls_port)) as server:
        (tmp_path / "remap").write_text(f"{HOST} 127.0.0.1 {server.port}\n{HOST} 127.0.0.1 {tls_port} https\n")
        done = ran(sys.executable, ROOT / "fetch.py", "--dir", tmp_path, "--name", "again", "--remap",
                   tmp_path / "remap", "--ca", tmp_path / "authority" / "ca.pem", "--quiet", "2", "--quiet-limit",
                   "5", "--timeout", "60")
        missing = [line.path for line in server.log() if line.found in ("missing", "best-match")]
    assert done.returncode == 0, done.stdout + done.stderr
    said = next(line for line in done.stdout.splitlines() if "what came over them is replayed" in line)
    assert all(f"1 x {kind}" in said for kind in ("WebSocket", "EventSource", "answer without an end"))
    assert "the page may be empty" not in done.stdout
    assert missing == []
    first, second = entries(tmp_path, "Web"), entries(tmp_path, "again")
    assert {path.lstrip("/") for path in PICTURES} <= set(second), "each is asked for when its message has come"
    assert messages(second["socket"]) == messages(first["socket"])
    assert second["socket"]["response"]["status"] == 101
    for stream in ("news", "lines"):
        assert second[stream]["_arrivals"][-1][1] == first[stream]["_arrivals"][-1][1]
        assert (tmp_path / "again" / HOST / stream).read_bytes() == (tmp_path / "Web" / HOST / stream).read_bytes()
    # Chrome tells of a 103 only where it was waiting for the answer already, and a server on loopback may be faster.
    assert second[""]["response"].get("_earlyHints", HINTS) == HINTS
    assert "_earlyHints" not in second["news"]["response"]
