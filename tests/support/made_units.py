"""Units and outcomes for tests, as a driver and its workers would make them."""

from dataclasses import replace

from harness.sweep.plan import Status, Unit, UnitOutcome, Versions, of_unit

VERSIONS = Versions("this program", "this Chrome")


def unit(number: int = 0, **changes: object) -> Unit:
    """Return a unit of its own for each number."""
    made = Unit(f"http://s{number}.test/", f"recording {number}", ("--delays=10", "--http=1.1"), VERSIONS)
    return replace(made, **changes)     # type: ignore[arg-type]


def outcome(of: Unit, status: Status = "measured", *why: str, by: str = "lab") -> UnitOutcome:
    """Return an outcome of a unit."""
    return replace(of_unit(of, status, *why), machine=by)
