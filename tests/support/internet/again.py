"""A recording's replay on loopback addresses, for fetch.py to record again: what differs is what the replay changed."""

import json
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.bootstrap import ROOT
from harness.files.pages import sanitise
from harness.files.urls import is_asked_by_browser
from harness.mirror.recording import read_recording
from harness.system.background import running
from tests.support.fetched import tree
from tests.support.internet import site
from tests.support.internet.site import API, HOME

PORT, TLS_PORT = 28400, 28401
NOT_MODIFIED = 304
GIVEN_UP = "net::ERR_ABORTED"
CUT = (f"{API}/stream", f"{API}/slow.bin")
"""How much of these comes is decided by time: a stream goes on after the load event, and a page gives the other up."""
MEANT_TO_DIFFER = {
    ("GET", f"http://{HOME}/cookie"),           # 302 to itself, then 200: the replay answers 200 at once
    ("GET", site.RUDE),                         # the second time 304, where a replay sends the page again
    ("GET", f"https://{API}/slow.bin"),         # given up after a part, which a replay has sent by then, or not
}
Answer = tuple[object, ...]


@contextmanager
def replayed(directory: Path, name: str) -> Iterator[tuple[Path, Path]]:
    """Replay a recording; give the remap file and the CA that lead to it. The servers' logs are in `directory`/logs."""
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


def answers(fetchlog: Path, pages: Collection[str] = ()) -> set[Answer]:
    """Return what the HARs of `pages` (of all without any) say of every request, but for times and sizes.

    Without 304 and what was given up: what a page that loads itself again asks for depends on how far it had come. And
    without icons: Chrome asks for these late, or is closed before.
    """
    wanted = {f"{sanitise(page)}.har" for page in pages}
    entries = [(har.name, entry) for har in fetchlog.glob("*.har") if not wanted or har.name in wanted
               for entry in json.loads(har.read_text())["log"]["entries"]]
    return {(page, entry["request"]["method"], entry["request"]["url"], entry["response"]["status"],
             entry["response"]["redirectURL"], entry["response"]["httpVersion"], entry.get("_file"))
            for page, entry in entries
            if (entry["request"]["method"], entry["request"]["url"]) not in MEANT_TO_DIFFER
            and entry["response"]["status"] != NOT_MODIFIED and entry.get("_error") != GIVEN_UP
            and not is_asked_by_browser(entry["request"]["url"])}


def changes(directory: Path, first: str, second: str, pages: Collection[str]) -> list[str]:
    """Return in words what of `pages` differs between two recordings in `directory`, file by file, answer by answer."""
    old, new = (tree(directory / name) for name in (first, second))
    files = [f"{name}: {len(old.get(name, b''))} bytes, then {len(body)}" for name, body in sorted(new.items())
             if old.get(name) != body and name not in CUT]
    asked, again = (answers(directory / f"{name}.fetchlog", pages) for name in (first, second))
    return [*files, *(f"only the first time: {answer}" for answer in sorted(asked - again, key=str)),
            *(f"only the second time: {answer}" for answer in sorted(again - asked, key=str))]
