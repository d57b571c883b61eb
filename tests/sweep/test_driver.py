"""A sweep's driver with Dask itself: every site has one outcome, whoever dies, and every sweep ends."""

import json
import sys
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from harness.sweep.folder import SweepFolder
from tests.support.made_units import unit
from tests.support.ran import ran

SITES = 5
MOST_SITES = 2000
"""Of the sweep whose scheduler ends."""
LOST = {"measured": SITES - 1, "failed": 1}
ENDED = "ExperimentError"


def sweeps(folder: Path, sites: int, workers: int, *tasks: str) -> list[object]:
    """Run sweeps (tests.support.swept); return how each ended."""
    done = ran(sys.executable, "-m", "tests.support.swept", folder, sites, workers, *tasks, status=0,
               cwd=ROOT)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_every_site_has_one_outcome_whoever_dies(tmp_path: Path) -> None:
    """A worker that dies, cannot measure, or once says that it was busy, costs nothing; the rest is a row.

    A sweep ends with its scheduler, and keeps what it has.
    """
    ended = {"measured": {"measured": SITES}, "dies_once": {"measured": SITES}, "fails_once": {"measured": SITES},
             "always_fails": LOST, "is_wrong": LOST, "always_dies": LOST, "one_has_a_full_disk": {"measured": SITES}}
    last = "measured_until_the_scheduler_ends"
    assert sweeps(tmp_path, SITES, 2, *ended, last) == [*ended.values(), ENDED]
    assert 1 < len(list(SweepFolder(tmp_path, last).sites.iterdir())) < MOST_SITES
    for task in ended:
        folder = SweepFolder(tmp_path, task)
        assert len(list(folder.sites.iterdir())) == SITES
        assert (folder.results(unit(0).key) / "client" / "x").read_bytes() == b"1"


@pytest.mark.parametrize(("workers", "task"), [(1, "full_disk"), (0, "measured")])
def test_a_sweep_without_a_worker_that_can_measure_ends(tmp_path: Path, workers: int, task: str) -> None:
    assert sweeps(tmp_path, 2, workers, task) == [ENDED]
    assert not list(SweepFolder(tmp_path, task).sites.iterdir()), "another machine may measure them"
