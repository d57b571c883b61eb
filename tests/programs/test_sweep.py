"""A real sweep of six small sites by two workers that take turns on this machine, all of whom are killed meanwhile.

Each worker has a machine-id of its own, in a mount namespace: for the sweep they are two machines, so that one of the
sites is measured on both.
"""

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
from typing import Any

import pytest

from harness.files.pages import PageFiles, read_pages
from harness.sweep.folder import SweepFolder
from harness.sweep.plan import Unit, UnitSettings, Versions
from harness.sweep.recordings import record_site
from harness.system.lock import LOCK_FILE
from harness.system.processes import children_by_parent, is_running
from tests.support.project_copy import copy_project, typed
from tests.support.small_mirror import ICON, SmallMirror

pytestmark = [pytest.mark.root, pytest.mark.chrome, pytest.mark.slow, pytest.mark.timeout(600)]

SITES = 6
CANDIDATES = 40
"""Of so many sites one is among the tenth that is measured on two machines."""
MACHINE_ID = Path("/etc/machine-id")
ON_MACHINE = ("unshare", "--mount", "sh", "-c", f'mount --bind "$1" {MACHINE_ID} && shift && exec "$@"', "sh")
"""Runs a command on the machine whose machine-id(5) is in a file."""
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

    def start_worker(self, machine: str, port: int) -> None:
        """Start a worker on a machine of this name."""
        own_id = self.folder / f"{machine}.id"
        own_id.write_text(f"{machine:0>32}\n")
        command = [*ON_MACHINE, str(own_id), *typed(self.project, "./scripts/worker.sh", f"tcp://127.0.0.1:{port}",
                                                    *WORKER)]
        self._stack.enter_context(started(command, self.folder / f"worker-{machine}.log"))

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

    def outcomes(self, replica: int) -> list[dict[str, Any]]:
        """Return the outcomes of the first (0) or the second (1) measurements that have results."""
        found = [json.loads(path.read_text()) for path in self.results.glob("sites/[!.]*/site.json")]
        return [outcome for outcome in found if outcome["replica"] == replica]


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
    """Six sites, of which one is to be measured on two machines."""
    mirror = SmallMirror(open_to_all)
    urls = [f"http://s{number}.test/" for number in range(CANDIDATES)]
    for url in urls:
        mirror.add(url, f"<!doctype html><title>small</title>{ICON}<p>One small document: {url}")
    mirror.finish(*urls)
    twice, once = split_by(lambda page: to_be_measured_twice(open_to_all, page), urls)
    (open_to_all / "small.pages").write_text("".join(f"{url}\n" for url in sorted((*twice[:1], *once[:SITES - 1]))))
    with ExitStack() as stack:
        yield Sweep(open_to_all, stack)


def split_by(rule: Callable[[str], bool], urls: list[str]) -> tuple[list[str], list[str]]:
    holds = {url: rule(url) for url in urls}
    return [url for url in urls if holds[url]], [url for url in urls if not holds[url]]


def to_be_measured_twice(folder: Path, url: str) -> bool:
    """Tell whether a site will be measured on two machines: that depends on its recording, as a sweep cuts it out."""
    source = PageFiles(folder, "small")
    candidates = SweepFolder(folder, "candidates")
    candidates.make()
    page = next(page for page in read_pages(source.pages) if page.url == url)
    digest = record_site(candidates, page, source).digest
    return Unit(url, digest, UnitSettings((0.0,)), Versions("", "")).wants_second


def test_nothing_is_lost_or_doubled_whoever_dies(sweep: Sweep) -> None:
    """A worker dies in the middle of a load, and is started again; the scheduler dies once, the driver once."""
    port = free_port()
    serve = ("./sweep.py", "--serve", str(port))
    scheduler = sweep.start("scheduler", *serve)
    sweep.wait_until(lambda: "dashboard" in sweep.said("scheduler"), "no scheduler")
    for machine in ("1", "2"):
        sweep.start_worker(machine, port)
    ask = ("./sweep.py", "--pages", str(sweep.folder / "small.pages"), "--dir", str(sweep.folder), "--scheduler",
           f"tcp://127.0.0.1:{port}", *OPTIONS)
    driver = sweep.start("driver", *ask)

    sweep.wait_until(measuring, "no worker measures")
    killed = measuring()
    assert killed
    os.kill(killed, signal.SIGKILL)

    sweep.wait_until(lambda: len(sweep.outcomes(0)) >= 1, "nothing was measured after a worker had died")
    os.kill(child_of(scheduler), signal.SIGKILL)
    scheduler.wait(20)
    sweep.start("scheduler", *serve)

    sweep.wait_until(lambda: len(sweep.outcomes(0)) >= 3, "nothing was measured after the scheduler had died")
    driver.kill()
    driver.wait(20)
    before = len(sweep.outcomes(0))
    assert 3 <= before <= SITES
    again = sweep.start("again", *ask)
    sweep.wait_until(lambda: again.poll() is not None, "the second driver does not end")

    assert again.returncode == 0, sweep.said("again")
    assert f"{SITES} sites to measure, {before} of them measured already" in sweep.said("again")
    assert sweep.said("again").count(": measured on ") == SITES - before, "second ones are 'measured a second time on'"
    check_results(sweep)


def check_results(sweep: Sweep) -> None:
    """Every site has been measured once, in whole, and one of them once more on the other machine."""
    assert not list(sweep.results.glob("sites/.*"))
    first, [second] = sweep.outcomes(0), sweep.outcomes(1)
    assert {outcome["status"] for outcome in (*first, second)} == {"measured"}
    assert len(first) == SITES
    on = {outcome["url"]: outcome["machine"]["id"] for outcome in first}
    assert len(on) == SITES
    assert second["machine"]["id"] != on[second["url"]]
    with (sweep.results / "loads.csv").open(newline="") as table:
        loads = list(csv.DictReader(table))
    counted = Counter((load["url"], load["second"], load["run"], load["tfo"]) for load in loads)
    assert len(counted) == (SITES + 1) * LOADS
    assert set(counted.values()) == {1}
    assert {load["valid"] for load in loads} == {"true"}
    assert "measured on two machines each" in (sweep.results / "report.html").read_text()


def free_port() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


