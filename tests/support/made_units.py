"""Units, outcomes and parcels for tests, as a driver and its workers would make them."""

from dataclasses import replace
from pathlib import Path

from harness.sweep.outcome import FILE, Machine, Status, UnitOutcome, of_unit
from harness.sweep.parcel import pack
from harness.sweep.plan import Unit, UnitSettings, Versions

VERSIONS = Versions("this program", "this Chrome")


def unit(number: int = 0, **changes: object) -> Unit:
    """Return a unit of its own for each number."""
    made = Unit(f"http://s{number}.test/", f"recording {number}", UnitSettings((10.0,), ("--http=1.1",)), VERSIONS)
    return replace(made, **changes)     # type: ignore[arg-type]


def machine(name: str, on: str = "") -> Machine:
    """Return a worker's machine; two workers are on the same one when `on` is."""
    return Machine(on or f"id of {name}", name, tfo_lab=VERSIONS.tfo_lab, browser=VERSIONS.browser)


def outcome(of: Unit, status: Status = "measured", *why: str, by: str = "lab", on: str = "") -> UnitOutcome:
    """Return an outcome of a unit."""
    return of_unit(of, status, *why, machine=machine(by, on))


def result(folder: Path, of: UnitOutcome, **files: str) -> bytes:
    """Return what a worker sends: the outcome, and some files in client/."""
    (folder / "client").mkdir(parents=True, exist_ok=True)
    (folder / FILE).write_text(of.to_json())
    for name, content in files.items():
        (folder / "client" / name).write_text(content)
    return pack(folder, (FILE, "client"))
