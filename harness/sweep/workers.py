"""A sweep's workers as its driver knows them: who is there, what their machines are, and who is dismissed."""

import json
import queue
import time
from collections.abc import Callable
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import Any

import msgspec

from harness.sweep import tasks
from harness.sweep.outcome import Calibration, Machine, UnitOutcome
from harness.sweep.plan import Versions

WORKERS_EVERY_S = 2.0
"""How often the scheduler is asked who is there."""
MANY = 50
"""When there are more workers than these, the scheduler is asked less often."""
STREAK = 3
"""Failures in a row after which a worker has to show that it is not to blame."""
RESULT_S = 120
"""How long a result may take to come by the network."""
URGENT = 10
"""The priority (Dask's) of what a worker is asked about itself: before any unit."""
Say = Callable[[str], None]
Events = queue.SimpleQueue[tuple[str, str, Any]]
"""What has ended: what was asked, the worker's address or the unit's key, and Dask's future of it."""


@dataclass
class Worker:
    """One worker. `streak` counts its failures in a row; `machine` is known once the worker has described it."""

    name: str
    machine: Machine | None = None
    calibration: Calibration | None = None
    streak: int = 0


class Workers:
    """All workers of a scheduler, `by_address`. `dismissed` says by name why some were sent away."""

    def __init__(self, versions: Versions, say: Say, events: Events) -> None:
        """Nobody is there yet. A worker must have these `versions`; `say` prints a line."""
        self.by_address: dict[str, Worker] = {}
        self.dismissed: dict[str, str] = {}
        self._versions, self._say, self._events = versions, say, events
        self._client: Any = None
        self._asked: dict[str, Any] = {}        # futures of what is asked of workers
        self._dismissing: set[str] = set()
        self._looked_s = 0.0

    def connected(self, client: Any) -> None:
        """Forget the workers of an earlier scheduler; `client` is Dask's for the new one."""
        self._client = client
        self._asked.clear()
        self.by_address.clear()
        self._dismissing.clear()
        self._looked_s = 0.0

    def look(self) -> list[str] | None:
        """Ask the scheduler who is there, and the new ones what they are; return the addresses of those that have left.

        None when it is too early to ask again, or when the scheduler does not answer.
        """
        if time.monotonic() < self._looked_s + max(WORKERS_EVERY_S, WORKERS_EVERY_S * len(self.by_address) / MANY):
            return None
        self._looked_s = time.monotonic()
        try:
            there = self._client.scheduler_info()["workers"]
        except (OSError, RuntimeError, TimeoutError):
            return None
        left = [address for address in self.by_address if address not in there]
        for address in left:
            self._say(f"{self.by_address.pop(address).name} has left")
        gone = self._dismissing.difference(there)       # they may have taken units along that only they were to measure
        self._dismissing -= gone
        for address in there:
            if address not in self.by_address and address not in self._dismissing:
                self._greet(address, Worker(str(there[address]["name"])))
        return [*left, *gone]

    def _greet(self, address: str, worker: Worker) -> None:
        """Ask a new worker what it is. One that was dismissed before, and did not hear of it, is sent away again.

        The scheduler, or the way to it, was gone before it had been told: nothing that it measures would ever count.
        """
        self.by_address[address] = worker
        if worker.name in self.dismissed:
            self.dismiss(address, self.dismissed[worker.name])
        else:
            self._ask(address, "describe", tasks.describe)

    def answered(self, what: str, address: str, future: Any) -> None:
        """Take what a worker answered to what it was asked: "describe", "calibrate" or "dismiss"."""
        if self._asked.get(f"{what} {address}") is future:
            del self._asked[f"{what} {address}"]
            if what in ("describe", "calibrate"):
                self._described(address, future)

    def dismiss(self, address: str, why: str) -> None:
        """Send a worker away, and say so."""
        worker = self.by_address.pop(address, None)
        if worker is None:
            return
        self._say(f"{worker.name} is dismissed: {why}")
        self.dismissed[worker.name] = why
        self._dismissing.add(address)
        self._ask(address, "dismiss", tasks.dismiss, why)

    def dismiss_called(self, name: str, why: str) -> None:
        """Send every worker of that name away."""
        for address in [address for address, worker in self.by_address.items() if worker.name == name]:
            self.dismiss(address, why)

    def watch_streak(self, outcome: UnitOutcome) -> None:
        """Have a worker measure the calibration's page again after STREAK failures in a row.

        A failure that is the page's fault does not count.
        """
        for address, worker in list(self.by_address.items()):
            if worker.name != outcome.machine.name or outcome.of_the_page:
                continue
            worker.streak = worker.streak + 1 if outcome.status == "failed" else 0
            if worker.streak >= STREAK and f"calibrate {address}" not in self._asked:
                if worker.calibration is None:
                    self.dismiss(address, f"{STREAK} failures in a row, the last: {'; '.join(outcome.why)}")
                else:
                    self._ask(address, "calibrate", tasks.calibrate)

    def _ask(self, address: str, what: str, task: Callable[..., Any], *arguments: str) -> None:
        future = self._client.submit(task, *arguments, key=f"{what}-{address}-{time.monotonic_ns()}", pure=False,
                                     workers=[address], allow_other_workers=False, priority=URGENT)
        self._asked[f"{what} {address}"] = future
        future.add_done_callback(lambda done: self._events.put((what, address, done)))

    def _described(self, address: str, future: Any) -> None:
        """Note what a worker says of its machine, and dismiss it when its numbers could not be used."""
        worker = self.by_address.get(address)
        if worker is None or future.status != "finished":
            return
        try:
            described = json.loads(future.result(timeout=RESULT_S))
            worker.machine = msgspec.convert(described["machine"], Machine)
            worker.calibration = msgspec.convert(described["calibration"], Calibration | None)
        except CancelledError:          # the scheduler is gone; the next one knows this worker anew
            return
        except (ValueError, KeyError, TypeError, OSError, TimeoutError) as error:
            self.dismiss(address, f"what it says of itself makes no sense ({error!r:.80})")
            return
        own = Versions(worker.machine.tfo_lab, worker.machine.browser)
        if worker.calibration and worker.calibration.fault:
            self.dismiss(address, worker.calibration.fault)
        elif own != self._versions:
            self.dismiss(address, f"it has {own}, and the sweep {self._versions}")
        elif worker.streak >= STREAK and worker.calibration is None:
            self.dismiss(address, f"{STREAK} failures in a row, and it is not calibrated")
        elif worker.streak >= STREAK:
            worker.streak = 0
            self._say(f"{worker.name}: {STREAK} failures in a row, but it measures the calibration's page as ever")
        else:
            self._say(f"{worker.name} works: {worker.machine.processor}, {_calibrated_in_words(worker.calibration)}")


def _calibrated_in_words(found: Calibration | None) -> str:
    if found is None:
        return "not calibrated"
    return f"RTT off by {found.rtt_error_percent:+.1f}%, {found.saved_rtts:.2f} round trips saved for each " \
           f"handshake, the page that computes takes {found.page_ms:.0f} ms"
