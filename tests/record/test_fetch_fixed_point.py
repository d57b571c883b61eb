"""Recording a replay gives the recording that is replayed: the same files, bytes, statuses and protocols."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from harness.files.server_log import read_server_log
from harness.mirror.recording import read_recording
from harness.system.companions import running
from tests.support.fetched import tree
from tests.support.internet import site
from tests.support.internet.recorded import NAME, copy_of_the_recording, record
from tests.support.internet.server import NGINX
from tests.support.internet.site import API, HOME

pytestmark = [pytest.mark.chrome, pytest.mark.slow, pytest.mark.timeout(300),
              pytest.mark.skipif(NGINX is None, reason="no nginx here; run: sudo ./scripts/setup.sh --tests")]
PORT, TLS_PORT = 28400, 28401
NOT_MODIFIED = 304
GIVEN_UP = "net::ERR_ABORTED"
FIRST, SECOND = NAME, "second"
STREAM = f"{API}/stream"
"""It goes on after the load event, in a replay no longer."""
MEANT_TO_DIFFER = {
    ("GET", f"https://{API}/hanging"),          # no answer at all: the replay says 504, so that loads end
    ("GET", f"http://{HOME}/cookie"),           # 302 to itself, then 200: the replay answers 200 at once
    ("GET", site.RUDE),                         # the second time 304, where a replay sends the page again
}


@contextmanager
def replayed(directory: Path, name: str) -> Iterator[tuple[Path, Path]]:
    """Replay a recording on loopback addresses; give the remap file and the CA that lead to it."""
    recording = read_recording(directory / name, directory / f"{name}.fetchlog")
    assert recording.problems == []
    places = {host: f"127.84.0.{number}" for number, host in enumerate(recording.hosts(), start=1)}
    (directory / "hosts").write_text("".join(f"{host} {address} -\n" for host, address in places.items()))
    ports = {"http": PORT, "https": TLS_PORT}
    (directory / "remap").write_text("".join(
        f"{host} {address} {ports[scheme]} {scheme}\n" for host, address in places.items()
        for scheme in recording.schemes(host)))
    command = [sys.executable, str(ROOT / "tfo-test" / "http_tfo.py"), "--mirror", str(directory / name), "--fetchlog",
               str(directory / f"{name}.fetchlog"), "--hosts", str(directory / "hosts"), "--port", str(PORT),
               "--tls-port", str(TLS_PORT), "--http", "recorded", "--authority", str(directory / "authority"),
               "--logdir", str(directory / "logs")]
    with running(command, f"ready {len(places)}", "the servers"):
        yield directory / "remap", directory / "authority" / "ca.pem"


def answers(fetchlog: Path) -> set[tuple[object, ...]]:
    """Return what a recording's HARs say of every request, but for times and sizes.

    Without 304 and what was given up: what a page that loads itself again asks for depends on how far it had come.
    """
    entries = [(har.name, entry) for har in fetchlog.glob("*.har")
               for entry in json.loads(har.read_text())["log"]["entries"]]
    return {(page, entry["request"]["method"], entry["request"]["url"], entry["response"]["status"],
             entry["response"]["redirectURL"], entry["response"]["httpVersion"], entry.get("_file"))
            for page, entry in entries
            if (entry["request"]["method"], entry["request"]["url"]) not in MEANT_TO_DIFFER
            and entry["response"]["status"] != NOT_MODIFIED and entry.get("_error") != GIVEN_UP}


def test_recording_a_replay_gives_the_same_recording(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    copy_of_the_recording(tmp_path, tmp_path_factory)
    with replayed(tmp_path, FIRST) as (remap, ca):
        record(tmp_path, SECOND, remap, ca)
    first, second = tree(tmp_path / FIRST), tree(tmp_path / SECOND)
    assert first.pop(STREAM).startswith(second.pop(STREAM)), "up to the load event"
    assert second == first
    assert answers(tmp_path / f"{SECOND}.fetchlog") == answers(tmp_path / f"{FIRST}.fetchlog")
    problems: list[str] = []
    asked = [request for log in (tmp_path / "logs").rglob("*.test") for request in read_server_log(log, problems)]
    assert problems == []
    assert len(asked) > 60
    assert [request.path for request in asked if request.found in ("missing", "best-match")] == []
