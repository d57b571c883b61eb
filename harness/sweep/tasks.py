"""The functions that workers run for a driver, and the only ones (harness.sweep.trust): JSON and bytes in and out."""

import io
import json
import tarfile
import time
from dataclasses import asdict, replace
from typing import Any

from harness.sweep.calibration import FRESH_S
from harness.sweep.calibration import calibrate as calibrate_machine
from harness.sweep.measuring import Bed, GoOn, measure_unit
from harness.sweep.outcome import FILE, Calibration, UnitOutcome, of_unit
from harness.sweep.plan import Unit

_here: dict[str, Any] = {"bed": None, "dismissed": ""}
"""This worker's own state, set by harness.sweep.worker before it serves."""


def set_bed(bed: Bed) -> None:
    """Set what this machine is."""
    _here["bed"] = bed


def own_bed() -> Bed:
    """Return what this machine is."""
    bed = _here["bed"]
    assert isinstance(bed, Bed)     # a worker sets it before it serves
    return bed


def dismissed() -> str:
    """Return why a driver has sent this worker away, "" if none has."""
    return str(_here["dismissed"])


def describe() -> str:
    """Return this machine and its calibration as JSON."""
    bed = own_bed()
    return json.dumps({"machine": asdict(bed.machine),
                       "calibration": asdict(bed.calibration) if bed.calibration else None})


def measure(unit: str, parcel: bytes) -> bytes:
    """Measure a unit (its JSON, and its recording as a parcel); return the parcel of its results.

    A calibration that is too old is renewed first. Whatever goes wrong on this machine, a full disk say, is an outcome
    with its name: then the driver sees who fails.
    """
    wanted, still_wanted = Unit.from_json(unit), _still_wanted()
    bed = own_bed()
    if bed.calibration and time.time() - bed.calibration.began_s > FRESH_S:
        bed = _calibrated(bed, still_wanted)
    try:
        return measure_unit(bed, wanted, parcel, still_wanted)[1]
    except Exception as error:          # noqa: BLE001  # whatever it is, another machine may not have it
        return _parcel_of(of_unit(wanted, "failed", _of_the_machine(error), machine=bed.machine,
                                  calibration=bed.calibration))


def calibrate() -> str:
    """Calibrate this machine again, after failures; return what `describe` does."""
    _calibrated(own_bed(), _still_wanted())
    return describe()


def dismiss(why: str) -> str:
    """End this worker: the driver has no use for it."""
    _here["dismissed"] = why
    return why


def _calibrated(bed: Bed, still_wanted: GoOn) -> Bed:
    """Calibrate this machine and keep what was found, unless nobody waits for it any more: then it was cut short."""
    try:
        found = calibrate_machine(bed, still_wanted)
    except Exception as error:          # noqa: BLE001  # a machine that cannot be calibrated is not fit
        found = Calibration(time.time(), fault=_of_the_machine(error))
    if still_wanted():
        bed = replace(bed, calibration=found)
        set_bed(bed)
    return bed


def _of_the_machine(error: Exception) -> str:
    return f"the machine: {str(error) or repr(error)}"


def _parcel_of(outcome: UnitOutcome) -> bytes:
    """Return a parcel (harness.sweep.parcel) of this outcome alone, without touching the disk."""
    content, written = outcome.to_json().encode(), io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:gz") as tar:
        member = tarfile.TarInfo(FILE)
        member.size = len(content)
        tar.addfile(member, io.BytesIO(content))
    return written.getvalue()


def _still_wanted() -> GoOn:
    """Return a function that tells whether Dask still wants the running task.

    It does not when the task was cancelled, or when the worker is closing.
    """
    from distributed import Status, get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def wanted() -> bool:
        task = worker.state.tasks.get(key)
        return worker.status is Status.running and task is not None and task.state == "executing"
    return wanted
