"""Recording a replay gives the recording that is replayed: the same files, bytes, statuses, protocols, and messages.

To what Chrome recorded of the test internet a page is added that is made here, with live connections and Early Hints.
"""

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from harness.files.exchange import ABORTED, Exchange
from harness.files.har import read_har
from harness.files.pages import sanitise
from harness.files.server_log import read_server_log
from harness.files.urls import is_asked_by_browser
from tests.support.internet import site
from tests.support.internet.recorded import NAME, copy_of_the_recording, fetch, replayed, tree
from tests.support.internet.server import NEEDS_NGINX
from tests.support.internet.site import API, HOME
from tests.support.recording import HOST, MadeRecording

pytestmark = [pytest.mark.chrome, pytest.mark.slow, NEEDS_NGINX]
SECOND = "second"
CUT = (f"{API}/stream", f"{API}/slow.bin")
"""How much of these comes is decided by time: a stream goes on after the load event, and a page gives the other up."""
MEANT_TO_DIFFER = {
    ("GET", f"http://{HOME}/cookie"),           # 302 to itself, then 200: the replay answers 200 at once
    ("GET", site.RUDE),                         # the second time 304, where a replay sends the page again
    ("GET", f"https://{API}/slow.bin"),         # given up after a part, which a replay has sent by then, or not
}
LIVE = f"https://{HOST}/"
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
"""Each picture (live.jsonl) is asked for when its message has come."""
def exchanges(directory: Path, name: str, page: str) -> Sequence[Exchange]:
    """Return what a page's HAR has."""
    return read_har(directory / f"{name}.fetchlog" / f"{sanitise(page)}.har", page, []).exchanges


def answers(directory: Path, name: str) -> set[tuple[object, ...]]:
    """Return what HARs of the test internet say of every request, but for times and sizes.

    Without 304 and what was given up: what a page that loads itself again asks for depends on how far it had come. And
    without icons: Chrome asks for these late, or is closed before.
    """
    return {(page, each.request.method, each.request.url, each.answer.status, each.answer.redirect_url,
             each.answer.protocol, each.answer.body and each.answer.body.file)
            for page in site.RECORDED for each in exchanges(directory, name, page)
            if (each.request.method, each.request.url) not in MEANT_TO_DIFFER and each.answer.status != 304
            and each.error != ABORTED and not is_asked_by_browser(each.request.url)}


def test_recording_a_replay_gives_the_same_recording(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    copy_of_the_recording(tmp_path, tmp_path_factory)
    made = MadeRecording(tmp_path, NAME)
    made.add(LIVE, f"<!doctype html><link rel=icon href=data:,><link rel=stylesheet href=/early.css><body>"
                   f"<script>{SCRIPT}</script>", "text/html",
             response={"_earlyHints": [{"name": "link", "value": "</early.css>; rel=preload; as=style"}]})
    made.add_lines("record/live.jsonl")
    made.finish(LIVE)
    with replayed(tmp_path) as replay:
        fetch(replay, tmp_path, [*site.RECORDED, LIVE], name=SECOND)
    first, second = tree(tmp_path / NAME), tree(tmp_path / SECOND)
    for name in CUT:
        assert first.pop(name).startswith(second.pop(name)), name
    assert second == first
    assert answers(tmp_path, SECOND) == answers(tmp_path, NAME)
    asked = [request for log in tmp_path.glob("serverlogs-*/*/*.test") for request in read_server_log(log)]
    assert len(asked) > 60
    assert [request.path for request in asked if request.found in ("missing", "best-match")] == []

    before, now = ({urlsplit(each.request.url).path: each.answer for each in exchanges(tmp_path, name, LIVE)}
                   for name in (NAME, SECOND))
    talk = [[(each.received, each.opcode, each.data) for each in of["/socket"].messages or ()] for of in (before, now)]
    assert talk[1] == talk[0] != []
    assert now["/socket"].status == 101
    for stream in ("/news", "/lines"):
        assert now[stream].arrivals[-1][1] == before[stream].arrivals[-1][1]
    # Chrome tells of a 103 only where it was waiting for the answer already, and a server on loopback may be faster.
    assert now["/"].early_hints in ((), before["/"].early_hints)
    assert now["/news"].early_hints == ()
