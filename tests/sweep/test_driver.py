"""A sweep's driver with Dask itself: every site has one outcome, whoever dies, and every sweep ends."""

import sys
from pathlib import Path

from harness.bootstrap import ROOT
from harness.sweep.folder import SweepFolder
from tests.support.ran import ran
from tests.support.swept import FATES, SWEEPS, units


def test_every_site_has_one_outcome_whoever_dies_and_every_sweep_ends(tmp_path: Path) -> None:
    """A worker that dies, cannot measure, or once says that it was busy, costs nothing; the rest is a row.

    A sweep ends without a worker that can measure, or with its scheduler; then it keeps what it has.
    """
    done = ran(sys.executable, "-m", "tests.support.swept", tmp_path, status=0, cwd=ROOT)
    assert done.stdout.splitlines() == ["ExperimentError", "done", "ExperimentError"]
    nobody, fates, ended = (SweepFolder(tmp_path, sweep) for sweep in SWEEPS)
    assert not [*nobody.sites.iterdir()], "another machine may measure them"
    outcomes = [fates.outcome(made.key) for made in units("fates")]
    assert [outcome and outcome.status for outcome in outcomes] == [
        "failed" if fate in ("fails", "is wrong", "dies") else "measured" for fate in FATES]
    assert (fates.results(units("fates")[0].key) / "client" / "x").read_bytes() == b"1"
    assert 1 < len([*ended.sites.iterdir()]) < len(SWEEPS["the scheduler ends"])
