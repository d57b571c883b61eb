"""Recording a replay gives the recording that is replayed: the same files, bytes, statuses and protocols."""

import json
from pathlib import Path

import pytest

from harness.files.server_log import read_server_log
from harness.files.urls import is_asked_by_browser
from tests.support.internet import site
from tests.support.internet.recorded import NAME, copy_of_the_recording, fetch, replayed, tree
from tests.support.internet.server import NGINX
from tests.support.internet.site import API, HOME

pytestmark = [pytest.mark.chrome, pytest.mark.slow,
              pytest.mark.skipif(NGINX is None, reason="no nginx here; run: sudo ./scripts/setup.sh --tests")]
SECOND = "second"
CUT = (f"{API}/stream", f"{API}/slow.bin")
"""How much of these comes is decided by time: a stream goes on after the load event, and a page gives the other up."""
MEANT_TO_DIFFER = {
    ("GET", f"http://{HOME}/cookie"),           # 302 to itself, then 200: the replay answers 200 at once
    ("GET", site.RUDE),                         # the second time 304, where a replay sends the page again
    ("GET", f"https://{API}/slow.bin"),         # given up after a part, which a replay has sent by then, or not
}


def answers(fetchlog: Path) -> set[tuple[object, ...]]:
    """Return what HARs say of every request, but for times and sizes.

    Without 304 and what was given up: what a page that loads itself again asks for depends on how far it had come. And
    without icons: Chrome asks for these late, or is closed before.
    """
    entries = [(har.name, entry["request"], entry["response"], entry) for har in fetchlog.glob("*.har")
               for entry in json.loads(har.read_text())["log"]["entries"]]
    return {(page, asked["method"], asked["url"], answer["status"], answer["redirectURL"], answer["httpVersion"],
             entry.get("_file"))
            for page, asked, answer, entry in entries
            if (asked["method"], asked["url"]) not in MEANT_TO_DIFFER and answer["status"] != 304
            and entry.get("_error") != "net::ERR_ABORTED" and not is_asked_by_browser(asked["url"])}


def test_recording_a_replay_gives_the_same_recording(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    copy_of_the_recording(tmp_path, tmp_path_factory)
    with replayed(tmp_path) as replay:
        fetch(replay, tmp_path, site.RECORDED, name=SECOND)
    first, second = tree(tmp_path / NAME), tree(tmp_path / SECOND)
    for name in CUT:
        assert first.pop(name).startswith(second.pop(name)), name
    assert second == first
    assert answers(tmp_path / f"{SECOND}.fetchlog") == answers(tmp_path / f"{NAME}.fetchlog")
    asked = [request for log in (tmp_path / "logs").rglob("*.test") for request in read_server_log(log)]
    assert len(asked) > 60
    assert [request.path for request in asked if request.found in ("missing", "best-match")] == []
