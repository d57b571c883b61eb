"""Hands units to Dask, and keeps what comes back.

Nothing is lost when this process ends: results are in the sweep's folder as soon as they arrive, and the next driver
measures what is missing. When the scheduler is gone this one ends with a line. When a worker dies Dask gives its unit
to another one, or to the one that Dask starts in its place.
"""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Iterable
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any

from harness.errors import ExperimentError
from harness.sweep.folder import SweepFolder
from harness.sweep.measuring import Contents, NotMeasuredError, Patience, measure
from harness.sweep.plan import Unit, UnitOutcome, of_unit
from harness.sweep.recordings import files_of
from harness.system.progress import Steps

LOOK_S = 1.0
"""The longest turn: how long a driver waits for something to happen."""
RETRIES = 1
"""How often Dask tries a unit again that failed through no fault of its page, on any worker that is free."""
NOBODY_S = 120.0
"""How long a sweep goes on without a worker."""
RESULT_S = 120.0
"""How long a result may take to come. Dask waits for ever when its worker has died meanwhile."""
LOST = (TimeoutError, asyncio.TimeoutError, CancelledError)
"""What Dask says of a result that did not come. (Two classes of timeouts before Python 3.11.)"""


class Driver:
    """One run of a sweep on a cluster of Dask's."""

    def __init__(self, client: Any, folder: SweepFolder, patience: Patience, progress: Steps,
                 counts: Counter[str]) -> None:
        """Hand out nothing yet.

        `counts` has the sites that were finished before by their status, and in the end all.
        """
        self._client, self._folder, self._patience = client, folder, patience
        self._progress, self._counts = progress, counts
        self._waiting: deque[Unit] = deque()
        self._running: dict[Any, Unit] = {}     # by Dask's future
        self._unfit: set[str] = set()           # addresses of workers that were sent away
        self._nobody_since_s: float | None = None

    def run(self, units: Iterable[Unit]) -> None:
        """Have all units measured.

        Raises ExperimentError when the scheduler is gone, no worker came for NOBODY_S, or none is left that can
        measure.
        """
        self._waiting.extend(units)
        try:
            while self._waiting or self._running:
                self._hand_out(self._count_workers())
                for future in self._ended():
                    self._take(future, self._running.pop(future))
        except (OSError, RuntimeError):
            self._check_scheduler()
            raise

    def _check_scheduler(self) -> None:
        if self._client.status != "running":
            raise self._ended_by("the scheduler is gone")

    def _ended_by(self, why: str) -> ExperimentError:
        return ExperimentError(f"{why}; go on with ./sweep.py --resume {self._folder.name}")

    def _count_workers(self) -> int:
        """Return how many workers there are. Without any, say so at once, and wait no longer than NOBODY_S."""
        self._check_scheduler()
        count = len({*self._client.scheduler_info(n_workers=-1)["workers"]} - self._unfit)
        if count:
            self._nobody_since_s = None
            return count
        if self._nobody_since_s is None:
            self._nobody_since_s = time.monotonic()
            self._progress.say(f"no worker that can measure is there; waiting for one, {NOBODY_S:g} s at most")
        elif time.monotonic() > self._nobody_since_s + NOBODY_S:
            raise self._ended_by(f"no worker that can measure came within {NOBODY_S:g} s; start or mend one")
        return count

    def _hand_out(self, workers: int) -> None:
        """Give Dask a unit for each worker, but not all: each brings its recording along.

        Dask blames all units of a worker that dies, also one that only waits there for its turn.
        """
        while self._waiting and len(self._running) < workers:
            unit = self._waiting.popleft()
            try:
                files = files_of(self._folder, unit)
            except ExperimentError as error:
                self._finished(of_unit(unit, "failed", f"its recording: {error}"), {})
                continue
            future = self._client.submit(measure, unit, files, self._patience, key=unit.key, pure=False,
                                         retries=RETRIES)
            self._running[future] = unit

    def _ended(self) -> list[Any]:
        """Return the futures that have ended, at once when one does."""
        from distributed import wait

        if not self._running:
            time.sleep(LOOK_S)
        else:
            with suppress(*LOST):
                wait([*self._running], timeout=LOOK_S, return_when="FIRST_COMPLETED")
        return [future for future in self._running if future.done()]

    def _take(self, future: Any, unit: Unit) -> None:
        """Keep what came of a unit; what an unfit machine refused, or was lost on its way, is handed out again."""
        result: tuple[UnitOutcome, Contents] | None = None
        try:
            error = future.exception(timeout=RESULT_S)
            result = None if error else future.result(timeout=RESULT_S)
            if result and result[0].status == "unfit":      # who has the result has made it
                self._dismiss(self._client.who_has([future])[future.key], result[0])
        except (*LOST, OSError):
            error = None
        future.release()        # else Dask would answer the next try with what came of this one
        if isinstance(error, NotMeasuredError):
            result = error.args[0]
        elif isinstance(error, Exception) and not isinstance(error, CancelledError):
            result = of_unit(unit, "failed", f"the machine: {error!r}"), {}
        if result and result[0].status != "unfit":
            self._finished(*result)
            return
        self._waiting.appendleft(unit)

    def _dismiss(self, workers: Iterable[str], outcome: UnitOutcome) -> None:
        """Send workers away whose machine cannot measure, and say so."""
        for worker in {*workers} - self._unfit:
            self._unfit.add(worker)
            self._progress.say(f"{outcome.machine} ({worker}) is dismissed: {outcome.why[0]}")
            self._client.retire_workers([worker], close_workers=True)

    def _finished(self, outcome: UnitOutcome, files: Contents) -> None:
        self._folder.store(outcome, files)
        self._counts[outcome.status] += 1
        settings = f" ({' '.join(outcome.options)})" if outcome.options else ""
        where = f" on {outcome.machine}" if outcome.machine else ""
        why = f": {outcome.why[0]}" if outcome.why else ""
        failed = f"; {self._counts['failed']} failed so far" if self._counts["failed"] else ""
        self._progress.done(f"{outcome.url}{settings}: {outcome.status}{where}{why}{failed}")
