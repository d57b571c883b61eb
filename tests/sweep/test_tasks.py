"""What a worker does for a driver besides measuring: it calibrates its machine again when that is due."""

import json
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from harness.errors import InputError
from harness.sweep import tasks
from harness.sweep.calibration import FRESH_S
from harness.sweep.measuring import Bed, GoOn
from harness.sweep.outcome import Calibration, UnitOutcome, of_unit
from harness.sweep.plan import Unit
from tests.support.made_units import machine, unit

FIT = Calibration(1.0, 0.5, 1.0, 200.0)


class Worker:
    """A worker without a test bed. It is `wanted` while its driver waits for the result; `found` is its calibration."""

    def __init__(self) -> None:
        self.wanted = True
        self.found: Calibration | Exception = replace(FIT, began_s=time.time())
        self.beds: list[Bed] = []

    def calibrate(self, _bed: Bed, _go_on: GoOn) -> Calibration:
        if isinstance(self.found, Exception):
            raise self.found
        return self.found

    def measure(self, bed: Bed, wanted: Unit, _parcel: bytes, _go_on: GoOn) -> tuple[UnitOutcome, bytes]:
        self.beds.append(bed)
        return of_unit(wanted, "measured"), b"results"

    def go_on(self) -> bool:
        return self.wanted


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Iterator[Worker]:
    made = Worker()
    monkeypatch.setattr(tasks, "calibrate_machine", made.calibrate)
    monkeypatch.setattr(tasks, "measure_unit", made.measure)
    monkeypatch.setattr(tasks, "_still_wanted", lambda: made.go_on)
    yield made
    vars(tasks)["_here"]["bed"] = None


def calibrated(ago_s: float) -> Bed:
    return Bed(machine("a"), 0, 0, replace(FIT, began_s=time.time() - ago_s))


def test_a_calibration_that_is_too_old_is_renewed_before_the_next_unit(worker: Worker) -> None:
    tasks.set_bed(calibrated(FRESH_S + 1))
    for _ in range(2):
        assert tasks.measure(unit().to_json(), b"") == b"results"
    assert [bed.calibration for bed in worker.beds] == [worker.found, worker.found]


@pytest.mark.parametrize("bed", [calibrated(FRESH_S / 2), Bed(machine("a"), 0, 0)])
def test_one_that_is_fresh_or_not_wanted_at_all_is_not(worker: Worker, bed: Bed) -> None:
    tasks.set_bed(bed)
    tasks.measure(unit().to_json(), b"")
    assert worker.beds == [bed]


def test_a_calibration_that_was_cut_short_says_nothing_of_the_machine(worker: Worker) -> None:
    old = calibrated(FRESH_S + 1)
    tasks.set_bed(old)
    worker.wanted, worker.found = False, Calibration(time.time(), fault="its calibration page cannot be measured")
    tasks.measure(unit().to_json(), b"")
    assert tasks.own_bed() == old


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), InputError("another experiment runs")])
def test_a_machine_that_cannot_be_calibrated_is_not_fit(worker: Worker, error: Exception) -> None:
    tasks.set_bed(calibrated(0))
    worker.found = error
    assert str(error) in json.loads(tasks.calibrate())["calibration"]["fault"]
