"""A driver with Dask itself, in a process of its own, since Dask leaves threads behind. The workers only sleep, or die.

    python -m tests.support.swept FOLDER

runs the sweeps of SWEEPS one after the other on one cluster, and prints a line for each: "done", or the name of the
error that ended it.
"""

import os
import signal
import sys
import threading
import time
from collections import Counter
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import dask
from distributed import Client, LocalCluster, Security

from harness.errors import ExperimentError
from harness.sweep import driver
from harness.sweep.cluster import SETTINGS
from harness.sweep.folder import SweepFolder
from harness.sweep.measuring import Contents, NotMeasuredError, Patience
from harness.sweep.plan import Unit, UnitOutcome, of_unit
from harness.system.progress import Steps
from tests.support.made_units import unit
from tests.support.waiting import wait_until

MEASURED = "is measured"
FATES = [MEASURED, "dies once", "fails once", "full disk once", "fails", "is wrong", "dies", MEASURED]
SWEEPS = {"no worker can measure": ["full disk"] * 2, "fates": FATES, "the scheduler ends": [MEASURED] * 1000}
"""By their names, what becomes of their sites. The workers of the first are sent away, so that nobody is left."""
MARKS = "TFO_LAB_MARKS"
"""The variable of the environment that names the folder for marks, to workers, too."""


def units(sweep: str) -> list[Unit]:
    """Return the sites of a sweep; what becomes of one stands in the place of its recording's digest."""
    return [unit(number, recording=fate) for number, fate in enumerate(SWEEPS[sweep])]


def measure(of: Unit, _recording: Contents, _: Patience) -> tuple[UnitOutcome, Contents]:
    """Meet a site's fate in the place of measuring it; after a fate that is met once it is measured."""
    mark = Path(os.environ[MARKS], of.key)
    fate = of.recording.removesuffix(" once")
    if fate != of.recording and mark.exists():
        fate = MEASURED
    mark.touch()
    if fate == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    if fate == "fails":
        raise NotMeasuredError((of_unit(of, "failed", "busy"), {"console.log": b"x" * 10**5}))
    if fate == "full disk":
        return of_unit(of, "unfit", "no room"), {}
    time.sleep(0.05)
    return of_unit(of, "measured" if fate == MEASURED else "failed"), {"client/x": b"1"}


def run(client: Any, base: Path, sweep: str) -> str:
    """Run a driver with `measure` in place of a measurement; return how it ended."""
    folder = SweepFolder(base, sweep)
    folder.make()
    if sweep == "the scheduler ends":
        threading.Thread(target=_end_scheduler, args=(client.cluster, folder)).start()
    counts: Counter[str] = Counter()
    try:
        with redirect_stdout(sys.stderr):
            driver.Driver(client, folder, (0, 0), Steps(len(SWEEPS[sweep])), counts).run(units(sweep))
    except ExperimentError as error:
        print(error, file=sys.stderr)
        return type(error).__name__
    assert counts == folder.statuses(made.key for made in units(sweep))
    return "done"


def _end_scheduler(cluster: Any, folder: SweepFolder) -> None:
    wait_until(lambda: len([*folder.sites.iterdir()]) > 1)
    cluster.loop.add_callback(cluster.scheduler.close)


def main() -> None:
    """Run all sweeps."""
    os.environ[MARKS] = sys.argv[1]
    vars(driver).update(measure=measure, NOBODY_S=1.0, RESULT_S=5.0)
    dask.config.set(SETTINGS)
    security = Security.temporary()
    cluster = LocalCluster(n_workers=1, threads_per_worker=1, security=security, dashboard_address=":0",
                           memory_limit=0, silence_logs=50, local_directory=sys.argv[1])
    client = Client(cluster, security=security)
    for sweep in SWEEPS:
        print(run(client, Path(sys.argv[1]), sweep), flush=True)
        vars(driver)["NOBODY_S"] = 600.0        # from here on two more workers are there, or soon come back
        cluster.scale(3)
    os._exit(0)     # with which its workers end, too; to close a cluster without a scheduler takes Dask 7 s


if __name__ == "__main__":
    main()
