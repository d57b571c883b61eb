"""A driver with Dask itself, in a process of its own, since Dask leaves threads behind. The workers only sleep, or die.

    python -m tests.support.swept FOLDER SITES WORKERS TASK...

runs a sweep with each task in the place of a measurement. Prints a line of JSON for each: how many sites there are of
each status, or the name of the error that ended it.
"""

import json
import os
import signal
import sys
import time
from collections import Counter
from contextlib import redirect_stdout
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import dask
from distributed import Client, LocalCluster, Security

from harness.errors import ExperimentError
from harness.files.pages import PageFiles, sanitise
from harness.sweep import driver
from harness.sweep.cluster import SETTINGS
from harness.sweep.driver import Driver
from harness.sweep.folder import SweepFolder
from harness.sweep.measuring import SITE, Contents, NotMeasuredError, Patience
from harness.sweep.plan import Unit, UnitOutcome, of_unit
from harness.system.progress import Steps
from tests.support.made_units import unit

Measured = tuple[UnitOutcome, Contents]
MARKS = PageFiles(Path(), SITE).pages.name
"""The file of a recording that names the folder for marks."""


def is_first(mark: Path, who: str = "") -> bool:
    """Tell whether nobody left this mark before, or `who` did."""
    try:
        mark.symlink_to(who or "x")         # only one can make it, and its name is there at once
    except FileExistsError:
        return str(mark.readlink()) == who
    return True


def measure(task: str, of: Unit, recording: Contents, _: Patience) -> Measured:
    """Measure a site, but the second one as `task` says; a disk is full in all workers, or in the first that asks."""
    marks = Path(os.fsdecode(recording[MARKS]))
    if task == "full_disk" or (task == "one_has_a_full_disk" and is_first(marks / "full", f"{os.getpid()}")):
        return of_unit(of, "unfit", "no room"), {}
    if of.url == unit(1).url and (not task.endswith("once") or is_first(marks / of.key)):
        if "dies" in task:
            os.kill(os.getpid(), signal.SIGKILL)
        if "fails" in task:
            raise NotMeasuredError((of_unit(of, "failed", "busy"), {"console.log": b"x" * 10**5}))
        if task == "is_wrong":
            return of_unit(of, "failed", "no page"), {}
    time.sleep(0.05)
    return replace(of_unit(of, "measured"), machine=f"{os.getpid()}"), {"client/x": b"1"}


def run(client: Any, base: Path, count: int, task: str) -> dict[str, int] | str:
    """Run a driver with `task` in place of a measurement; return how sites ended, or how it did."""
    folder = SweepFolder(base, task)
    folder.make()
    vars(driver)["measure"] = partial(measure, task)
    units = [*map(unit, range(count))]
    for made in units:      # a recording whose only content is where marks may be left
        marked = folder.recordings / sanitise(made.url)
        marked.mkdir()
        (marked / MARKS).write_bytes(os.fsencode(folder.path))
    counts: Counter[str] = Counter()
    try:
        with redirect_stdout(sys.stderr):
            Driver(client, folder, (0, 0), Steps(count), counts).run(units)
    except ExperimentError as error:
        print(error, file=sys.stderr)
        return type(error).__name__
    assert counts == folder.statuses(made.key for made in units)
    return dict(counts)


def main() -> None:
    """Run what was asked for."""
    base, count, workers, *tasks = sys.argv[1:]
    vars(driver)["NOBODY_S"] = 600.0 if workers == "2" else 2.0
    vars(driver)["RESULT_S"] = 5.0
    dask.config.set(SETTINGS)
    security = Security.temporary()
    with LocalCluster(n_workers=int(workers), threads_per_worker=1, security=security, dashboard_address=":0",
                      memory_limit=0, silence_logs=50) as cluster, Client(cluster, security=security) as client:
        for task in tasks:
            sites = int(count)
            if task == "measured_until_the_scheduler_ends":
                sites = 2000
                cluster.loop.call_later(4, cluster.scheduler.close)
            print(json.dumps(run(client, Path(base), sites, task)), flush=True)


if __name__ == "__main__":
    main()
