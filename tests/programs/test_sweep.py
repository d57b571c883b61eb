"""A real sweep of small sites on this machine, whose worker is killed in the middle of a load, and then the driver."""

import csv
import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet
import pytest

from harness.system.processes import children_by_parent, descendants
from tests.support.project_copy import copy_project, typed
from tests.support.ran import ran
from tests.support.small_mirror import ICON, SmallMirror

pytestmark = [pytest.mark.root, pytest.mark.chrome, pytest.mark.slow]

SITES = 3
LOADS = 4
"""Of each site: run 0 and run 1, without and with TFO."""
WORDS = ("--delays", "0", "--testruns", "2", "--quiet", "0.1", "--retries", "9", "--patience", "0", "--wait", "600")
DEADLINE_S = 500.0


def wait_until(what: Callable[[], object], log: Path) -> None:
    """Wait until something is so. When it does not come, say what the program said."""
    end_s = time.monotonic() + DEADLINE_S
    while not what():
        assert time.monotonic() < end_s, log.read_text(errors="replace")
        time.sleep(0.1)


def measuring(program: "subprocess.Popen[bytes]") -> int | None:
    """Return the worker of a sweep whose tfo.py runs Chrome, by its process id: the parent of that tfo.py."""
    parents = children_by_parent()
    ours = {program.pid, *descendants(program.pid)}
    return next((parent for parent in ours for child in parents.get(parent, ())
                 if is_tfo(child) and "chromedriver" in map(name_of, descendants(child))), None)


def is_tfo(pid: int) -> bool:
    """Tell whether a process is tfo.py."""
    try:
        return b"tfo.py" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def killed(worker: int | None) -> bool:
    """Kill a worker, if there is one; tell whether there was."""
    if worker:
        os.kill(worker, signal.SIGKILL)
    return bool(worker)


def name_of(pid: int) -> str:
    """Return a process's name, "" when it has ended."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def test_nothing_is_lost_or_doubled_whoever_dies(open_to_all: Path) -> None:
    mirror = SmallMirror(open_to_all)
    urls = [f"http://s{number}.test/" for number in range(SITES)]
    for url in urls:
        mirror.add(url, f"<!doctype html><title>small</title>{ICON}<p>One small document: {url}")
    mirror.finish(*urls)
    (open_to_all / "small.pages").write_text("".join(f"{url}\n" for url in urls))
    project, results, log = copy_project(open_to_all / "project"), open_to_all / "sweep-small", open_to_all / "log"
    sites = results / "sites"
    command = typed(project, "./sweep.py", "--pages", str(open_to_all / "small.pages"), "--dir", str(open_to_all),
                    *WORDS)

    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as driver:
        wait_until(lambda: killed(measuring(driver)), log)
        wait_until(lambda: list(sites.glob("[!.]*")), log)
        os.kill(driver.pid, signal.SIGKILL)
    wait_until(lambda: not children_by_parent().get(driver.pid), log)
    before = len(list(sites.glob("[!.]*")))
    ran(*typed(project, "./sweep.py", "--resume", "small", "--dir", str(open_to_all), *WORDS[-4:]), status=0)
    assert 1 <= before <= SITES

    outcomes = [json.loads(path.read_text()) for path in sites.glob("*/site.json")]
    assert Counter(outcome["url"] for outcome in outcomes) == dict.fromkeys(urls, 1)
    assert {outcome["status"] for outcome in outcomes} == {"measured"}
    loads = pyarrow.parquet.read_table(results / "loads.parquet").to_pylist()
    counted = Counter((load["url"], load["run"], load["tfo"]) for load in loads)
    assert (len(counted), set(counted.values())) == (SITES * LOADS, {1})
    assert {load["valid"] for load in loads} == {True}
    with (results / "sites.csv").open(newline="") as table:
        assert [row["url"] for row in csv.DictReader(table)] == urls
    assert (results / "report.html").is_file()
