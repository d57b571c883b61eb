"""A real sweep of a small site on this machine, whose worker is killed in the middle of a load, and then the driver.

What becomes of many sites is in tests/sweep/test_driver.py.
"""

import csv
import json
import os
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pyarrow.parquet
import pytest

from harness.system.processes import children_by_parent, descendants
from tests.support.faults import command_of, name_of
from tests.support.project_copy import copy_project, typed
from tests.support.ran import ran
from tests.support.recording import ICON, MadeRecording
from tests.support.waiting import POLL_S, wait_until

pytestmark = [pytest.mark.root, pytest.mark.chrome, pytest.mark.slow]

URL = "http://s.test/"
LOADS = 4
"""Run 0 and run 1, without and with TFO."""
WORDS = ("--delays", "0", "--testruns", "2", "--quiet", "0.1", "--retries", "9", "--patience", "0", "--wait", "600")


def worker_in_a_load(driver: "subprocess.Popen[bytes]", besides: int = 0) -> int:
    """Wait for a worker of a sweep whose tfo.py runs Chrome, `besides` one; return it, the parent of that tfo.py."""
    while driver.poll() is None:
        parents = children_by_parent()
        for parent in (driver.pid, *descendants(driver.pid)):
            for child in parents.get(parent, ()):
                if parent != besides and "tfo.py" in " ".join(command_of(child)) and "chromedriver" in map(
                        name_of, descendants(child)):
                    return parent
        time.sleep(POLL_S)
    pytest.fail("it ended before")


def test_nothing_is_lost_or_doubled_whoever_dies(open_to_all: Path) -> None:
    mirror = MadeRecording(open_to_all, "small", har=False)
    mirror.add(URL, f"<!doctype html><title>small</title>{ICON}<p>One small document.")
    mirror.finish(URL)
    project, results = copy_project(open_to_all / "project"), open_to_all / "sweep-small"
    command = typed(project, "./sweep.py", "--pages", str(open_to_all / "small.pages"), "--dir", str(open_to_all),
                    *WORDS)

    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as driver:
        killed = worker_in_a_load(driver)
        os.kill(killed, signal.SIGKILL)
        worker_in_a_load(driver, besides=killed)
        os.kill(driver.pid, signal.SIGKILL)
    wait_until(lambda: not children_by_parent().get(driver.pid))
    ran(*typed(project, "./sweep.py", "--resume", "small", "--dir", str(open_to_all), *WORDS[-4:]), status=0)
    asked = ran(*typed(project, "./sweep.py", "--status", "small", "--dir", str(open_to_all)), status=0)
    assert asked.stdout.startswith("1 of 1 sites measured")

    [outcome] = [json.loads(path.read_text()) for path in results.glob("sites/*/site.json")]
    assert (outcome["url"], outcome["status"]) == (URL, "measured")
    loads = pyarrow.parquet.read_table(results / "loads.parquet").to_pylist()
    counted = Counter((load["url"], load["run"], load["tfo"]) for load in loads)
    assert (len(counted), set(counted.values())) == (LOADS, {1})
    assert {load["valid"] for load in loads} == {True}
    with (results / "sites.csv").open(newline="") as table:
        assert [row["url"] for row in csv.DictReader(table)] == [URL]
    assert (results / "report.html").is_file()
