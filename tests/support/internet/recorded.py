"""The test internet recorded by fetch.py: once for all tests that want a recording, each test file gets a copy.

Test files run in several processes (scripts/test.sh): the first that asks records, the others wait for its lock.
"""

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from harness.mirror.recording import read_recording
from tests.support.internet import site
from tests.support.internet.server import Internet, serve
from tests.support.ran import ran
from tests.support.replay_process import running
from tests.support.session import SHARED

NAME = "Web"
LIMITS = ("--quiet", "1", "--quiet-limit", "4", "--timeout", "60")
"""Of a visit, in seconds: shorter than the program's own, for pages that would keep a browser for ever. A command may
take as long as the program's own limit: Chrome in an idle group (scripts/test.sh) may get no processor for 4 s."""


def command(internet: Internet, directory: Path, *more: str, name: str = NAME) -> list[str]:
    """Return the command that records `name`.pages in `directory`, with `more` options."""
    return [sys.executable, str(ROOT / "fetch.py"), "--dir", str(directory), "--name", name, "--remap",
            str(internet.remap), "--ca", str(internet.ca), "--no-trial", *LIMITS, *more]


def fetch(internet: Internet, directory: Path, urls: Iterable[str], *more: str, name: str = NAME,
          status: int | None = 0) -> "subprocess.CompletedProcess[str]":
    """Record `urls` to the end, which has to be `status` (None: any)."""
    (directory / f"{name}.pages").write_text("\n".join(urls))
    return ran(*command(internet, directory, *more, name=name), status=status)


def copy_of_the_recording(target: Path, factory: pytest.TempPathFactory) -> frozenset[str]:
    """Copy the recording (NAME.pages, NAME/, NAME.fetchlog/) into the directory `target`.

    Return "METHOD URL STATUS" of what fetch.py asked for.
    """
    base = factory.getbasetemp()
    shared = Path(os.environ.get(SHARED, base.parent if "PYTEST_XDIST_WORKER" in os.environ else base))
    made, new = shared / "recording", shared / "recording.new"
    with (shared / "recording.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            shutil.rmtree(new, ignore_errors=True)          # of one that failed
            (new / "pages").mkdir(parents=True)
            with serve() as internet:
                fetch(internet, new / "pages", site.RECORDED)
                asked = sorted({" ".join(line.split()[:3]) for line in internet.requests()})
            (new / "asked.json").write_text(json.dumps(asked))
            new.rename(made)
    shutil.copytree(made / "pages", target, dirs_exist_ok=True)
    return frozenset(json.loads((made / "asked.json").read_text()))


@contextmanager
def replayed(directory: Path) -> Iterator[Internet]:
    """Replay the recording in `directory`, for fetch.py to record again."""
    recording, replay = read_recording(directory / NAME, directory / f"{NAME}.fetchlog"), Internet(directory, {})
    assert recording.problems == []
    places = {host: f"127.84.0.{number}" for number, host in enumerate(recording.hosts(), start=1)}
    lines = "".join(f"{host} {address} -\n" for host, address in places.items())
    with running(directory, "--http", "recorded", hosts=lines) as server:
        ports = {"http": server.port, "https": server.tls_port}
        replay.remap.write_text("".join(f"{host} {address} {ports[scheme]} {scheme}\n"
                                        for host, address in places.items() for scheme in recording.schemes(host)))
        shutil.copy(directory / "authority" / "ca.pem", replay.ca)
        yield replay


def tree(directory: Path) -> dict[str, bytes]:
    """Return all files below a directory, by path, but icons: Chrome asks for these late, or is closed before."""
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*")
            if path.is_file() and path.name != "favicon.ico"}
