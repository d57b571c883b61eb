"""A real sweep of small sites on this machine, whose worker is killed in the middle of a load, and then the driver."""

import csv
import json
import os
import signal
import subprocess
from collections import Counter
from pathlib import Path

import pyarrow.parquet
import pytest

from harness.system.processes import children_by_parent, descendants
from tests.support.faults import command_of, name_of
from tests.support.project_copy import copy_project, typed
from tests.support.ran import ran
from tests.support.small_mirror import ICON, SmallMirror
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.root, pytest.mark.chrome, pytest.mark.slow]

SITES = 2
LOADS = 4
"""Of each site: run 0 and run 1, without and with TFO."""
WORDS = ("--delays", "0", "--testruns", "2", "--quiet", "0.1", "--retries", "9", "--patience", "0", "--wait", "600")


def kills_a_worker(driver: "subprocess.Popen[bytes]") -> bool:
    """Kill the worker of a sweep whose tfo.py runs Chrome, the parent of that tfo.py; tell whether there was one."""
    assert driver.poll() is None
    parents = children_by_parent()
    for parent in (driver.pid, *descendants(driver.pid)):
        for child in parents.get(parent, ()):
            if "tfo.py" in " ".join(command_of(child)) and "chromedriver" in map(name_of, descendants(child)):
                os.kill(parent, signal.SIGKILL)
                return True
    return False


def test_nothing_is_lost_or_doubled_whoever_dies(open_to_all: Path) -> None:
    mirror = SmallMirror(open_to_all)
    urls = [f"http://s{number}.test/" for number in range(SITES)]
    for url in urls:
        mirror.add(url, f"<!doctype html><title>small</title>{ICON}<p>One small document: {url}")
    mirror.finish(*urls)
    project, results = copy_project(open_to_all / "project"), open_to_all / "sweep-small"
    sites = results / "sites"
    command = typed(project, "./sweep.py", "--pages", str(open_to_all / "small.pages"), "--dir", str(open_to_all),
                    *WORDS)

    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as driver:
        wait_until(lambda: kills_a_worker(driver))
        wait_until(lambda: list(sites.glob("[!.]*")))
        os.kill(driver.pid, signal.SIGKILL)
    wait_until(lambda: not children_by_parent().get(driver.pid))
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
