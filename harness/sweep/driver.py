"""Hands units to Dask, and keeps what comes back.

Nothing is lost when this process ends: results are in the sweep's folder as soon as they arrive, and the next driver
measures what is missing. When the scheduler is gone this one ends with a line. When a worker dies Dask gives its unit
to another one, or to the one that Dask starts in its place.
"""

import asyncio
import math
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any

from harness.errors import ExperimentError, printable
from harness.sweep.folder import SweepFolder
from harness.sweep.measuring import (
    Contents,
    NotMeasuredError,
    Patience,
    UnfitError,
    measure,
    take_part,
)
from harness.sweep.outcome import UnitOutcome, of_unit
from harness.sweep.plan import Versions, in_words
from harness.sweep.recordings import Job

LOOK_S = 1.0
"""The longest turn: how long a driver waits for something to happen."""
RETRIES = 1
"""How often Dask tries a unit again that failed through no fault of its page, on any worker that is free."""
AHEAD = 2
"""Units that are handed out for each worker: one is measured, and its next one is there when it is done."""
NOBODY_S = 120.0
"""How long a sweep goes on without a worker that can measure."""
RESULT_S = 120.0
"""How long a result may take to come. Dask waits for ever when its worker has died meanwhile."""
LOST = (TimeoutError, asyncio.TimeoutError, CancelledError)
"""What Dask says of a result that did not come. (Two classes of timeouts before Python 3.11.)"""
Say = Callable[[str], None]


class Driver:
    """One run of a sweep on a cluster of Dask's."""

    def __init__(self, client: Any, folder: SweepFolder, versions: Versions, patience: Patience, *, say: Say,
                 done: Say, counts: Counter[str]) -> None:
        """Hand out nothing yet. `say` prints a line, `done` prints the line for a site that is finished.

        `counts` has the sites that were finished before by their status, and in the end all.
        """
        self._client, self._folder, self._versions, self._patience = client, folder, versions, patience
        self._say, self._done = say, done
        self._waiting: deque[Job] = deque()
        self._running: dict[Any, Job] = {}      # by Dask's future
        self._workers: set[str] = set()         # addresses of those that can measure
        self._unfit: set[str] = set()
        self.counts = counts
        self._began_s, self._new = time.monotonic(), 0
        self._nobody_since_s: float | None = None
        self._noted_s = -math.inf

    def run(self, jobs: Iterable[Job]) -> None:
        """Have all jobs measured.

        Raises ExperimentError when the scheduler is gone, or no worker that can measure is there for NOBODY_S.
        """
        self._waiting.extend(jobs)
        try:
            while self._waiting or self._running:
                self._turn()
        except (OSError, RuntimeError):
            self._check_scheduler()
            raise

    def _turn(self) -> None:
        self._check_scheduler()
        self._look_at_workers()
        self._check_somebody_works()
        self._hand_out()
        for future in self._ended():
            self._take(future, self._running.pop(future))
        self._note()

    def _check_scheduler(self) -> None:
        """Raise ExperimentError when the scheduler is gone."""
        if self._client.status != "running":
            raise ExperimentError(f"the scheduler is gone; go on with ./sweep.py --resume {self._folder.name}")

    def _look_at_workers(self) -> None:
        """See who has come and who has left. A worker gets units once it has shown that it can measure them."""
        there = set(self._client.scheduler_info(n_workers=-1)["workers"])
        for address in self._workers - there:
            self._say(f"{address} has left")
        self._workers &= there
        new = there - self._workers - self._unfit
        if not new:
            return
        answers = self._client.run(take_part, self._versions, workers=list(new), on_error="return")
        for address, why in answers.items():
            if why:
                self._dismiss(address, str(why))
            else:
                self._workers.add(address)
                self._say(f"{address} works")

    def _check_somebody_works(self) -> None:
        """Say at once when no worker can measure.

        Raises ExperimentError when none could for NOBODY_S, and at once when those that were there are all dismissed.
        """
        if self._workers:
            self._nobody_since_s = None
        elif self._unfit:
            raise ExperimentError("no worker is left that can measure; mend one and go on with ./sweep.py --resume "
                                  f"{self._folder.name}")
        elif self._nobody_since_s is None:
            self._nobody_since_s = time.monotonic()
            self._say(f"no worker that can measure is there; waiting for one, {NOBODY_S:g} s at most")
        elif time.monotonic() > self._nobody_since_s + NOBODY_S:
            raise ExperimentError(f"no worker that can measure came within {NOBODY_S:g} s; start one and go on with "
                                  f"./sweep.py --resume {self._folder.name}")

    def _dismiss(self, address: str, why: str) -> None:
        """Send a worker away whose machine cannot measure, and say so."""
        self._unfit.add(address)
        self._workers.discard(address)
        self._say(printable(f"{address} is dismissed: {why}"))
        self._client.retire_workers([address], close_workers=True)

    def _hand_out(self) -> None:
        """Give Dask some units for each worker, but not all: each brings its recording along."""
        while self._waiting and len(self._running) < AHEAD * len(self._workers):
            self._folder.check_room()
            job = self._waiting.popleft()
            try:
                files = job.site.files()
            except ExperimentError as error:
                self._finished(of_unit(job.unit, "failed", f"its recording: {error}"), {})
                continue
            future = self._client.submit(measure, job.unit, files, self._patience, key=job.unit.key, pure=False,
                                         retries=RETRIES)
            self._running[future] = job

    def _ended(self) -> list[Any]:
        """Return the futures that have ended, at once when one does."""
        from distributed import wait

        if not self._running:
            time.sleep(LOOK_S)
        else:
            with suppress(*LOST):
                wait([*self._running], timeout=LOOK_S, return_when="FIRST_COMPLETED")
        return [future for future in self._running if future.done()]

    def _take(self, future: Any, job: Job) -> None:
        """Keep what came of a unit; what an unfit machine refused, or was lost on its way, is handed out again."""
        result: tuple[UnitOutcome, Contents] | None = None
        try:
            error = future.exception(timeout=RESULT_S)
            result = None if error else future.result(timeout=RESULT_S)
        except (*LOST, OSError):
            error = None
        if isinstance(error, UnfitError):
            if error.args[0] not in self._unfit:
                self._dismiss(*error.args)
        elif isinstance(error, NotMeasuredError):
            result = error.args[0]
        elif isinstance(error, Exception) and not isinstance(error, CancelledError):
            result = of_unit(job.unit, "failed", f"the machine: {error!r}"), {}
        if result:
            self._finished(*result)
        else:
            self._waiting.appendleft(job)

    def _finished(self, outcome: UnitOutcome, files: Contents) -> None:
        self._folder.store(outcome, files)
        self.counts[outcome.status] += 1
        self._new += 1
        settings = f" ({in_words(outcome.options)})" if outcome.options else ""
        where = f" on {outcome.machine.name} in {outcome.took_s:.0f} s" if outcome.machine.name else ""
        why = f": {outcome.why[0]}" if outcome.why else ""
        failed = f"; {self.counts['failed']} failed so far" if self.counts["failed"] else ""
        self._done(printable(f"{outcome.url}{settings}: {outcome.status}{where}{why}{failed}"))

    def _note(self) -> None:
        """Note how far the sweep is, for --status."""
        if time.monotonic() < self._noted_s + LOOK_S and (self._waiting or self._running):
            return
        self._noted_s = time.monotonic()
        left = len(self._waiting) + len(self._running)
        left_s = round((time.monotonic() - self._began_s) / self._new * left) if self._new else None
        self._folder.write("progress.json", {
            "sites": self.counts.total() + left, "done": self.counts.total(), **self.counts, "left_s": left_s,
            "workers": sorted(self._workers)})
