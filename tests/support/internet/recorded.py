"""One recording of the test internet, made by fetch.py once for all tests that want one; each test file gets a copy.

Test files run in several processes (scripts/test.sh): the first that asks records, the others wait for its lock.
"""

import fcntl
import json
import os
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from tests.support.internet import site, today
from tests.support.internet.server import serve
from tests.support.ran import ran
from tests.support.session import SHARED

NAME = "demo"
LIMITS = ("--quiet", "1", "--quiet-limit", "4", "--timeout", "60")
"""Of a visit, in seconds: shorter than the program's own, for pages that would keep a browser for ever. A command may
take as long as the program's own limit: Chrome in an idle group (scripts/test.sh) may get no processor for 4 s."""


@dataclass(frozen=True)
class SharedRecording:
    """A copy of the recording in `directory`, what fetch.py said, and "METHOD URL STATUS" of what it asked for."""

    directory: Path
    output: str
    asked: frozenset[str]


def fetch_command(directory: Path, name: str, remap: Path, ca: Path, *more: str) -> list[str]:
    """Return the command that records `name`.pages through the hack_dns file `remap`, trusting `ca`."""
    return [sys.executable, str(ROOT / "fetch.py"), "--dir", str(directory), "--name", name, "--remap", str(remap),
            "--ca", str(ca), "--no-trial", *LIMITS, *more]


def record(directory: Path, name: str, remap: Path, ca: Path, pages: Iterable[str] = site.RECORDED, *more: str) -> str:
    """Record pages of the test internet, with `more` options; return what fetch.py said."""
    (directory / f"{name}.pages").write_text("\n".join(pages))
    done = ran(*fetch_command(directory, name, remap, ca, *more), status=0)
    return done.stdout


def copy_of_the_recording(target: Path, factory: pytest.TempPathFactory) -> SharedRecording:
    """Copy the recording (NAME.pages, NAME/, NAME.fetchlog/) into the directory `target`."""
    shared = _shared_directory(factory)
    made = shared / "recording"
    with (shared / "recording.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            _make(shared / "recording.new")
            (shared / "recording.new").rename(made)
    notes = json.loads((made / "notes.json").read_text())
    shutil.copytree(made / "pages", target, dirs_exist_ok=True)
    return SharedRecording(target, notes["output"], frozenset(notes["asked"]))


def _shared_directory(factory: pytest.TempPathFactory) -> Path:
    given, base = os.environ.get(SHARED), factory.getbasetemp()
    if given:
        return Path(given)
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


def _make(new: Path) -> None:
    shutil.rmtree(new, ignore_errors=True)          # of one that failed
    (new / "pages").mkdir(parents=True)
    with serve() as internet:
        output = record(new / "pages", NAME, internet.remap, internet.ca)
        asked = sorted({" ".join(line.split()[:3]) for line in internet.requests()})
    (new / "notes.json").write_text(json.dumps({"output": output, "asked": asked}))


if __name__ == "__main__":      # for benchmarks/modern.py
    with serve(applications=True) as made:
        print(record(Path(sys.argv[1]), NAME, made.remap, made.ca, (*site.RECORDED, *today.PAGES)))
