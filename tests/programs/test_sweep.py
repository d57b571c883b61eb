"""A real sweep of six small sites by two workers that take turns on this machine, all of whom are killed meanwhile."""

import csv
import json
import os
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from harness.system.lock import LOCK_FILE
from harness.system.processes import children_by_parent, is_running
from tests.support.project_copy import copy_project, typed
from tests.support.small_mirror import ICON, SmallMirror

pytestmark = [pytest.mark.root, pytest.mark.chrome, pytest.mark.slow, pytest.mark.timeout(600)]

SITES = 6
LOADS = 4
"""Of each site: run 0 and run 1, without and with TFO."""
OPTIONS = ("--delays", "0", "--testruns", "2", "--quiet", "0.1", "--retries", "0")
WORKER = ("--no-calibration", "--patience", "0", "--wait", "600")
DEADLINE_S = 250.0


class Sweep:
    """The programs of one sweep, each typed in a copy of the project; what they print goes to files."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self._stack = folder, stack
        self.project = copy_project(folder / "project")
        self.results = folder / "sweep-small"

    def start(self, name: str, *command: str) -> "subprocess.Popen[bytes]":
        """Start a program; it is ended at the end of the test."""
        return self._stack.enter_context(started(typed(self.project, *command), self.folder / f"{name}.log"))

    def said(self, name: str) -> str:
        """Return what a program has printed so far."""
        log = self.folder / f"{name}.log"
        return log.read_text(errors="replace") if log.exists() else ""

    def wait_until(self, what: Callable[[], object], why: str) -> None:
        """Wait until something is so. When it does not come, say what the programs said."""
        end_s = time.monotonic() + DEADLINE_S
        while not what():
            assert time.monotonic() < end_s, "\n".join([why, *(f"{log.name}: {log.read_text(errors='replace')}"
                                                              for log in self.folder.glob("*.log"))])
            time.sleep(0.1)

    def done(self) -> list[str]:
        """Return the keys of the units that have results."""
        return sorted(path.name for path in self.results.glob("sites/[!.]*"))


@contextmanager
def started(command: list[str], log: Path) -> Iterator["subprocess.Popen[bytes]"]:
    with log.open("ab") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(60)


def measuring() -> int | None:
    """Return the worker that holds the machine's lock and whose tfo.py runs Chrome, by its process id."""
    named = re.match(r"pid (\d+) .*worker", LOCK_FILE.read_text())
    if not named or not is_running(int(named[1])):
        return None
    tree = children_by_parent()
    waiting, names = [int(named[1])], []
    while waiting:
        children = tree.get(waiting.pop(), [])
        waiting += children
        names += [name_of(child) for child in children]
    return int(named[1]) if "chromedriver" in names else None


def name_of(pid: int) -> str:
    """Return a process's name, "" when it has ended."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def child_of(process: "subprocess.Popen[bytes]") -> int:
    """Return the only child of a program."""
    [child] = children_by_parent()[process.pid]
    return child


@pytest.fixture
def sweep(open_to_all: Path) -> Iterator[Sweep]:
    mirror = SmallMirror(open_to_all)
    urls = [f"http://s{number}.test/" for number in range(SITES)]
    for url in urls:
        mirror.add(url, f"<!doctype html><title>small</title>{ICON}<p>One small document: {url}")
    mirror.finish(*urls)
    with ExitStack() as stack:
        yield Sweep(open_to_all, stack)


def test_nothing_is_lost_or_doubled_whoever_dies(sweep: Sweep) -> None:
    """A worker dies in the middle of a load, the scheduler once, the driver once."""
    port = free_port()
    serve = ("./sweep.py", "--serve", str(port))
    scheduler = sweep.start("scheduler", *serve)
    sweep.wait_until(lambda: "dashboard" in sweep.said("scheduler"), "no scheduler")
    for name in ("first", "second"):
        sweep.start(name, "./scripts/worker.sh", f"tcp://127.0.0.1:{port}", *WORKER)
    ask = ("./sweep.py", "--pages", str(sweep.folder / "small.pages"), "--dir", str(sweep.folder), "--scheduler",
           f"tcp://127.0.0.1:{port}", *OPTIONS)
    driver = sweep.start("driver", *ask)

    sweep.wait_until(measuring, "no worker measures")
    killed = measuring()
    assert killed
    os.kill(killed, signal.SIGKILL)

    sweep.wait_until(lambda: len(sweep.done()) >= 1, "nothing was measured after a worker had died")
    os.kill(child_of(scheduler), signal.SIGKILL)
    scheduler.wait(20)
    sweep.start("scheduler", *serve)

    sweep.wait_until(lambda: len(sweep.done()) >= 3, "nothing was measured after the scheduler had died")
    driver.kill()
    driver.wait(20)
    before = sweep.done()
    assert 3 <= len(before) <= SITES
    again = sweep.start("again", *ask)
    sweep.wait_until(lambda: again.poll() is not None, "the second driver does not end")

    assert again.returncode == 0, sweep.said("again")
    assert f"{SITES} sites to measure, {len(before)} of them measured already" in sweep.said("again")
    assert sweep.said("again").count(": measured ") == SITES - len(before)
    check_results(sweep)


def check_results(sweep: Sweep) -> None:
    """Every site has been measured once, in whole."""
    assert len(sweep.done()) == SITES
    assert not list(sweep.results.glob("sites/.*"))
    outcomes = [json.loads(path.read_text()) for path in sweep.results.glob("sites/*/site.json")]
    assert {(outcome["url"], outcome["status"]) for outcome in outcomes} == {
        (f"http://s{number}.test/", "measured") for number in range(SITES)}
    with (sweep.results / "loads.csv").open(newline="") as table:
        loads = list(csv.DictReader(table))
    counted = Counter((load["url"], load["run"], load["tfo"]) for load in loads)
    assert len(counted) == SITES * LOADS
    assert set(counted.values()) == {1}
    assert {load["valid"] for load in loads} == {"true"}


def free_port() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


