"""Hands units to workers, and keeps what comes back.

Nothing is lost when this process ends: results are in the sweep's folder as soon as they arrive, and the next driver
measures what is missing. When the scheduler is gone, this one connects again, and hands out again what had no result.
"""

import asyncio
import contextlib
import itertools
import math
import queue
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from harness.errors import ExperimentError, printable
from harness.sweep import tasks
from harness.sweep.folder import SweepFolder
from harness.sweep.outcome import UnitOutcome, of_unit
from harness.sweep.plan import Unit, UnitTask, Versions
from harness.sweep.replicas import Replicas
from harness.sweep.tally import Tally
from harness.sweep.workers import RESULT_S, Events, Say, Workers

LOOK_S = 1.0
"""The longest turn: how long a driver waits for something to happen."""
PROGRESS_EVERY_S = 1.0
"""How often it writes down how far the sweep is, for --status."""
NOT_RESULTS = 3
"""How often a unit is handed out again after what came back was no result, or did not come in time."""
NOBODY_S = 120.0
"""How long a worker that is fit may stay away: one that was killed is started again, and calibrates its machine."""
COMING_S, DESCRIBED_S = 6.0, 60.0
"""How long workers may take to come, and to describe their machines, when there is nothing but second measurements."""
MANY_WORKERS = 20
"""From so many workers on each gets its next unit ahead of time (`Driver._hand_out`)."""
MOST_BYTES = 50 * 10**6
"""Bytes of recordings that are handed out in one turn: Dask's client has some copies of each until it is sent."""
MOST_AT_ONCE = 50
"""Results that are in memory at a time."""


class Cluster(Protocol):
    """Connects to a scheduler, and again to the next one when that is gone (harness.sweep.cluster)."""

    @property
    def many(self) -> bool:
        """Whether workers may be on several machines."""

    def connect(self) -> Any:
        """Return Dask's client for the scheduler."""

    def check(self) -> None:
        """Raise ExperimentError when there is no point in going on."""


@dataclass
class _Running:
    job: UnitTask
    future: Any
    address: str = ""       # of the one worker that may do it, for a second measurement


class Driver:
    """One run of a sweep on a cluster."""

    def __init__(self, folder: SweepFolder, cluster: Cluster, versions: Versions, say: Say, done: Say) -> None:
        """Hand out nothing yet. `say` prints a line, `done` prints the line for a site that is finished."""
        self.folder, self._cluster, self._say, self._done = folder, cluster, say, done
        self._events: Events = queue.SimpleQueue()
        self._workers = Workers(versions, say, self._events)
        self.tally = Tally(dismissed=self._workers.dismissed)
        self._client: Any = None
        self._waiting: deque[UnitTask] = deque()
        self._replicas = Replicas()
        self._running: dict[str, _Running] = {}
        self._told_s = self._began_s = self._nobody_since_s = 0.0
        self._connected_s = math.inf
        self._no_results: Counter[str] = Counter()
        self._failed: dict[str, str] = {}       # units that failed once, with the name of the machine
        self._there_already = 0

    def run(self, jobs: list[UnitTask]) -> Tally:
        """Have all jobs measured that have no result yet; return how many were measured, and how many failed."""
        self.tally.total = len(jobs)
        self._began_s = time.monotonic()
        for job in jobs:
            outcome = self.folder.outcome(job.unit.key)
            if outcome is None:
                self._waiting.append(job)
            else:
                self.tally.add(outcome)
                self._want_replica(job, outcome)
        self._there_already = self.tally.done
        try:
            while self._waiting or self._running or any(self._possible_replicas()) or self._replicas_may_come():
                self._cluster.check()
                self._stay_connected()
                self._look_at_workers()
                self._hand_out()
                self._handle_events()
                self._tell()
        finally:
            self._leave()
        self.tally.seconds_left = len(self._replicas)
        return self.tally

    def _leave(self) -> None:
        """Leave the scheduler. Then the workers stop measuring, since nobody waits for their results."""
        self._tell(now=True)
        if self._client is not None:
            self._client.close(timeout=5)
            self._client = None

    def _stay_connected(self) -> None:
        if self._client is not None and self._client.status == "running":
            return
        if self._client is not None:
            self._say("the scheduler is gone; connecting again")
            self._client.close(timeout=1)
        while not self._events.empty():
            self._events.get()
        for running in self._running.values():
            self._again(running)
        self._running.clear()
        self._client = self._cluster.connect()
        self._workers.connected(self._client)
        self._connected_s = self._nobody_since_s = time.monotonic()

    def _again(self, running: _Running, *, at_the_end: bool = False) -> None:
        """Put back a unit that has no result, so that it is handed out again."""
        if running.address:
            first = self.folder.outcome(replace(running.job.unit, replica=0).key)
            self._replicas.add(running.job, first.machine.id if first else "")
        elif at_the_end:
            self._waiting.append(running.job)
        else:
            self._waiting.appendleft(running.job)

    def _look_at_workers(self) -> None:
        """See who has come and who has left; put back the units that only a worker that has left was to measure."""
        left = self._workers.look()
        if left is None:
            return
        for key in [key for key, running in self._running.items() if running.address in left]:
            running = self._running.pop(key)
            running.future.cancel()
            self._again(running)
        if self._workers.by_address:
            self._nobody_since_s = time.monotonic()
        elif self.tally.dismissed and time.monotonic() >= self._nobody_since_s + NOBODY_S:
            raise ExperimentError("no worker is left that is fit; mend one and go on with ./sweep.py --resume "
                                  f"{self.folder.name}")

    def _hand_out(self) -> None:
        """Hand out a unit for each worker and some more, but not all: with each unit its recording is sent.

        A few workers get two units more. Of MANY_WORKERS each gets its next unit while it measures one, or it would
        stand still for a turn of this driver, which has more to do the more workers there are; but for the last units,
        which whoever is free first shall have. Several are handed out at a time then: for the scheduler many small
        messages are more work than few large ones. While the client has recordings that it could not send yet, it gets
        no more.
        """
        workers = len(self._workers.by_address)
        ahead = min(workers, 2 + len(self._waiting) // 4) if workers >= MANY_WORKERS else 2 * bool(workers)
        room = workers + ahead - len(self._running)
        stream = self._client.scheduler_comm        # None while Dask connects again
        if room <= workers // 16 or stream is None or stream.buffer:
            return
        self.folder.check_room()
        jobs = [self._waiting.popleft() for _ in range(min(room, len(self._waiting)))]
        handed = self._submit([job for job in jobs if job.unit.key not in self._failed])
        for job in jobs:
            if job.unit.key in self._failed:
                handed += self._submit([job], others=self._others(self._failed[job.unit.key]))
        for key, address in list(itertools.islice(self._possible_replicas(), room - len(jobs))):
            if handed < MOST_BYTES:
                handed += self._submit([self._replicas.take(key)], address)

    def _others(self, name: str) -> list[str]:
        """Return the addresses of all workers but those of that name."""
        return [address for address, worker in self._workers.by_address.items() if worker.name != name]

    def _submit(self, jobs: list[UnitTask], address: str = "", others: Sequence[str] = ()) -> int:
        """Hand units to whoever is free, or to the worker at `address` alone; return the size of their recordings.

        With `others` they go to one of these workers for as long as any of them is there. Those beyond MOST_BYTES wait
        for the next turn.
        """
        ready: list[tuple[UnitTask, bytes]] = []
        size = 0
        for number, job in enumerate(jobs):
            if size >= MOST_BYTES:
                self._waiting.extendleft(reversed(jobs[number:]))
                break
            try:
                ready.append((job, job.parcel()))
                size += len(ready[-1][1])
            except (OSError, ValueError) as error:
                self._finished(job, self.folder.store_failure(of_unit(job.unit, "failed", f"its recording: {error}")))
        if not ready:
            return 0
        where = {"workers": [address], "allow_other_workers": False} if address else \
            {"workers": [*others], "allow_other_workers": True} if others else {}
        futures = self._client.map(tasks.measure, [job.unit.to_json() for job, _ in ready],
                                   [parcel for _, parcel in ready], key=[job.unit.key for job, _ in ready], pure=False,
                                   resources={"bed": 1}, **where)
        for (job, _), future in zip(ready, futures, strict=True):
            self._running[job.unit.key] = _Running(job, future, address)
            future.add_done_callback(lambda done, key=job.unit.key: self._events.put(("unit", key, done)))
        return size

    def _possible_replicas(self) -> Iterator[tuple[str, str]]:
        """Give each site that waits for a second machine, if there is one: the site's key, and a worker's address."""
        return self._replicas.possible(self._workers.by_address,
                                       (running.address for running in self._running.values()))

    def _replicas_may_come(self) -> bool:
        """Tell whether it is too early to say that no second machine is there for those sites that wait for one."""
        unknown = any(worker.machine is None for worker in self._workers.by_address.values())
        patience_s = DESCRIBED_S if unknown else COMING_S
        return bool(self._replicas) and self._cluster.many and time.monotonic() < self._connected_s + patience_s

    def _handle_events(self) -> None:
        """Take what has happened since the last turn, waiting a moment when nothing has."""
        try:
            events = [self._events.get(timeout=LOOK_S)]
        except queue.Empty:
            return
        with contextlib.suppress(queue.Empty):
            while len(events) < MOST_AT_ONCE:
                events.append(self._events.get_nowait())
        ended = []
        for what, key, future in events:
            if what == "unit":
                running = self._running.get(key)
                if running is not None and running.future is future:
                    ended.append(self._running.pop(key))
            else:
                self._workers.answered(what, key, future)
        for running, parcel in zip(ended, self._results(ended), strict=True):
            self._ended(running, parcel)

    def _results(self, ended: list[_Running]) -> list[bytes | None]:
        """Return what came back, None where nothing did.

        All is fetched at once, which is cheaper for the scheduler; but alone what did not come in time before, or one
        that is too large for its machine's network would keep the others from coming, too.
        """
        finished = [running for running in ended if running.future.status == "finished"]
        alone = [running for running in finished if running.job.unit.key in self._no_results]
        together = [running for running in finished if running.job.unit.key not in self._no_results]
        came: dict[str, bytes] = {}
        for group in [together, *([running] for running in alone)]:
            keys = [running.job.unit.key for running in group]
            try:
                came |= zip(keys, self._gather([running.future for running in group]) if group else [], strict=True)
            except Exception as error:      # noqa: BLE001  # Dask's, when a worker or the scheduler went away meanwhile
                self._say(f"results of {len(group)} sites did not come ({type(error).__name__}); again")
                if isinstance(error, TimeoutError | asyncio.TimeoutError):
                    self._no_results.update(keys)
        return [came.get(running.job.unit.key) for running in ended]

    def _gather(self, finished: list[Any]) -> list[bytes]:
        """Fetch results. Left to itself Dask would wait until whatever was lost with its worker is measured again."""
        fetch = partial(self._client.gather, finished, asynchronous=True)
        return list(self._client.sync(fetch, callback_timeout=RESULT_S))

    def _ended(self, running: _Running, parcel: bytes | None) -> None:
        """Take what came of a unit: it is done, or it is measured again, at once or at the end."""
        outcome = self._outcome(running, parcel)
        if outcome is None or (outcome.status == "refused" and outcome.why == ("stopped",)):
            self._again(running)
        elif outcome.status == "refused":
            self._workers.dismiss_called(outcome.machine.name, "; ".join(outcome.why))
            self._again(running)
        elif self._by_dismissed(outcome):
            self._again(running)
        elif not self._is_final(outcome):
            self._failed[outcome.key] = outcome.machine.name
            why = "; ".join(outcome.why)
            where = f" on {outcome.machine.name}" if outcome.machine.name else ""
            self._say(printable(f"{outcome.url}: failed{where} ({why}); once more, at the end"))
            self._workers.watch_streak(outcome)
            self._again(running, at_the_end=True)
        else:
            self._finished(running.job, outcome)

    def _is_final(self, outcome: UnitOutcome) -> bool:
        """Tell whether this outcome is final.

        A unit that failed is tried once more, unless the page is to blame, and so is one that was cut short.
        """
        if self._by_dismissed(outcome):
            return False
        failed = outcome.status == "failed" and not outcome.of_the_page
        return not (failed or outcome.cut_short) or outcome.key in self._failed

    def _by_dismissed(self, outcome: UnitOutcome) -> bool:
        """Tell whether a worker has measured this that was sent away meanwhile: nothing that it does counts then."""
        return outcome.machine.name in self.tally.dismissed

    def _outcome(self, running: _Running, parcel: bytes | None) -> UnitOutcome | None:
        """Return a unit's outcome, None when it has to be measured again. Final outcomes are kept in the folder."""
        unit = running.job.unit
        if running.future.status == "error":
            why = repr(running.future.exception(timeout=RESULT_S))
            died = "KilledWorker" in why
            return self._failure(unit, "every worker that measured it died" if died else f"Dask: {why[:200]}")
        if parcel is None:
            if running.future.status != "finished" or self._no_results[unit.key] < NOT_RESULTS:
                return None
            return self._failure(unit, f"its results did not come within {RESULT_S} s")
        try:
            return self.folder.store(unit, bytes(parcel), self._is_final)
        except (ValueError, TypeError) as error:
            self._no_results[unit.key] += 1
            if self._no_results[unit.key] < NOT_RESULTS:
                return None
            return self._failure(unit, f"what came back is no result: {error}")

    def _failure(self, unit: Unit, why: str) -> UnitOutcome:
        """Return the outcome of a unit that no worker sent one of; as any other it is kept if it is final."""
        outcome = of_unit(unit, "failed", why)
        return self.folder.store_failure(outcome) if self._is_final(outcome) else outcome

    def _finished(self, job: UnitTask, outcome: UnitOutcome) -> None:
        where = f"on {outcome.machine.name} in {outcome.took_s:.0f} s" if outcome.machine.name else "nowhere"
        how = "measured" if outcome.status == "measured" else outcome.status.upper()
        why = f": {outcome.why[0]}" if outcome.why else ""
        again = " a second time" if job.unit.replica else ""
        settings = f" ({job.unit.settings})" if job.unit.settings.options else ""
        line = printable(f"{job.unit.url}{settings}: {how}{again} {where}{why}")
        if job.unit.replica:
            self._say(line)
        else:
            self.tally.add(outcome)
            self._done(line)
            self._want_replica(job, outcome)
        self._workers.watch_streak(outcome)

    def _want_replica(self, job: UnitTask, outcome: UnitOutcome) -> None:
        """Have a site measured on another machine, too, if it was chosen for that (Unit.wants_second)."""
        second = job.second
        if job.unit.wants_second and outcome.status == "measured" and self.folder.outcome(second.unit.key) is None:
            self._replicas.add(second, outcome.machine.id)

    def _tell(self, now: bool = False) -> None:
        """Note how far the sweep is, for --status."""
        if not now and time.monotonic() < self._told_s + PROGRESS_EVERY_S:
            return
        self._told_s = time.monotonic()
        self.folder.write_progress(self.progress())

    def progress(self) -> Mapping[str, Any]:
        """Return how far the sweep is."""
        new = self.tally.done - self._there_already
        spent_s = time.monotonic() - self._began_s
        left_s = spent_s / new * (self.tally.total - self.tally.done) if new else None
        return {"sites": self.tally.total, "done": self.tally.done, "failed": self.tally.failed,
                "partly": self.tally.partly, "left_s": None if left_s is None else round(left_s),
                "workers": sorted(worker.name for worker in self._workers.by_address.values()),
                "dismissed": self.tally.dismissed}
