"""A real sweep of a small site on this machine, whose driver is killed in the middle of a load.

What becomes of many sites, and of those whose worker is killed: tests/sweep/test_driver.py.
"""

import json
import signal
import subprocess
from collections import Counter
from functools import partial
from pathlib import Path

import pyarrow.parquet
import pytest

from harness.system.processes import descendants, is_running
from tests.support.faults import command_of, name_of
from tests.support.project_copy import copy_project, typed
from tests.support.ran import ran
from tests.support.recording import one_document
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.root, pytest.mark.chrome, pytest.mark.slow]

URL = "http://one.test/"
LOADS = 4
"""Run 0 and run 1, without and with TFO."""
WORDS = ("--delays", "0", "--testruns", "2", "--quiet", "0.1", "--retries", "9", "--patience", "0", "--wait", "600")


def measures(driver: int) -> bool:
    """Tell whether a worker's tfo.py runs Chrome."""
    return any("tfo.py" in " ".join(command_of(pid)) and "chromedriver" in map(name_of, descendants(pid))
               for pid in descendants(driver))


def test_nothing_is_lost_or_doubled_when_the_driver_is_killed(open_to_all: Path) -> None:
    project, results = copy_project(one_document(open_to_all) / "project"), open_to_all / "sweep-small"
    sweep = partial(typed, project, "./sweep.py", "--dir", str(open_to_all))
    with subprocess.Popen(sweep("--pages", str(open_to_all / "small.pages"), *WORDS),
                          stdout=subprocess.DEVNULL) as driver:
        wait_until(lambda: driver.poll() is not None or measures(driver.pid))
        below = descendants(driver.pid)
        driver.kill()
    assert driver.returncode == -signal.SIGKILL, "it ended before"
    wait_until(lambda: not any(map(is_running, below)))
    ran(*sweep("--resume", "small", *WORDS[-4:]), status=0)
    asked = ran(*sweep("--status", "small"), status=0)
    assert asked.stdout.startswith("1 of 1 sites measured")

    [outcome] = [json.loads(path.read_text()) for path in results.glob("sites/*/site.json")]
    assert (outcome["url"], outcome["status"]) == (URL, "measured")
    loads = pyarrow.parquet.read_table(results / "loads.parquet").to_pylist()
    counted = Counter((load["url"], load["run"], load["tfo"]) for load in loads)
    assert (len(counted), set(counted.values())) == (LOADS, {1})
    assert {load["valid"] for load in loads} == {True}
    assert all((results / name).is_file() for name in ("sites.csv", "report.html"))
