"""A scheduler and its workers in one process, as far as harness.sweep.driver knows Dask's: tasks end at once."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from harness.sweep import tasks
from harness.sweep.outcome import Calibration, Machine, Status, UnitOutcome, of_unit
from harness.sweep.plan import Unit
from tests.support.made_units import result

Judge = Callable[[Unit], tuple[Status, str] | None]


class FakeFuture:
    """One that is over."""

    def __init__(self, value: object, status: str) -> None:
        self.value, self.status = value, status

    def add_done_callback(self, call: Callable[["FakeFuture"], None]) -> None:
        call(self)

    def result(self, **_: object) -> Any:
        return self.value

    exception = result

    def cancel(self) -> None:
        self.status = "cancelled"


class FakeWorker:
    """A worker; `judge` decides what comes of each unit, None being that it kills its worker."""

    def __init__(self, machine: Machine, judge: Judge, calibration: Calibration | None = None) -> None:
        self.machine, self.judge, self.calibration = machine, judge, calibration
        self.measured: list[Unit] = []
        self.told: list[str] = []


class FakeClient:
    """Dask's client. `drop` is how many units its scheduler still answers before it is gone (None: it stays)."""

    def __init__(self, workers: dict[str, FakeWorker], scratch: Path, drop: int | None = None) -> None:
        self.workers, self.scratch, self.drop = workers, scratch, drop
        self.status = "running"
        self.turn = 0
        self.scheduler_comm = SimpleNamespace(buffer=[])

    def scheduler_info(self) -> dict[str, Any]:
        return {"workers": {address: {"name": worker.machine.name} for address, worker in self.workers.items()}}

    def close(self, **_: object) -> None:
        self.status = "closed"

    def gather(self, futures: list[FakeFuture], *, asynchronous: bool) -> list[Any]:
        assert asynchronous, "only sync() has a timeout"
        return [future.value for future in futures]

    def sync(self, function: Callable[[], list[Any]], *, callback_timeout: float) -> list[Any]:
        assert callback_timeout
        return function()

    def map(self, task: Callable[..., Any], units: list[str], parcels: list[bytes], key: list[str],
            workers: list[str] | None = None, **_: object) -> list[FakeFuture]:
        assert task is tasks.measure
        assert len(units) == len(parcels) == len(key)
        return [self._measure(Unit.from_json(unit), workers) for unit in units]

    def submit(self, task: Callable[..., Any], *arguments: Any, workers: list[str] | None = None, **_: object,
               ) -> FakeFuture:
        assert workers
        worker = self.workers[workers[0]]
        worker.told.append(task.__name__)
        if task is tasks.dismiss:
            del self.workers[workers[0]]
            return FakeFuture(arguments[0], "finished")
        return FakeFuture(json.dumps({"machine": asdict(worker.machine), "calibration": asdict(worker.calibration)
                                      if worker.calibration else None}), "finished")

    def _measure(self, unit: Unit, workers: list[str] | None) -> FakeFuture:
        if self.drop is not None:
            if self.drop == 0:
                self.status = "connecting"
                return FakeFuture(None, "cancelled")
            self.drop -= 1
        able = workers or sorted(self.workers)
        self.turn += 1
        worker = self.workers[able[self.turn % len(able)]]
        worker.measured.append(unit)
        judged = worker.judge(unit)
        if judged is None:
            return FakeFuture(Exception("b'...KilledWorker...'"), "error")
        status, why = judged
        exits = {"10": {"its own fault": 2, "killed": -9}.get(why, 1)}
        of: UnitOutcome = of_unit(unit, status, *([why] if why else []), machine=worker.machine,
                                  calibration=worker.calibration, exits=exits)
        return FakeFuture(result(self.scratch, of), "finished")


class FakeCluster:
    """Gives one client after the other; without any it may not be asked."""

    def __init__(self, *clients: FakeClient) -> None:
        self.clients, self.many = list(clients), bool(clients)

    def connect(self) -> FakeClient:
        return self.clients.pop(0)

    def check(self) -> None:
        assert self.clients is not None
