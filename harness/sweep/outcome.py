"""The outcome of one unit, ``site.json`` beside its loads: this module is its only reader and writer."""

import json
from dataclasses import asdict, dataclass
from typing import Literal

from harness.files.load_record import converted, of_this_tool
from harness.sweep.plan import Unit
from harness.system.untrusted import parse_json

FORMAT = 3
FILE = "site.json"
Status = Literal["measured", "partly", "failed", "unfit"]
LONGEST_WHY = 1000
"""Characters of a reason."""


@dataclass(frozen=True)
class UnitOutcome:
    """The outcome of one unit. `why` says in words what went wrong.

    `status` is "measured" when every load counts, "partly" when some loads count and give an improvement, "failed" when
    no improvement is known; "unfit" when the machine can measure no page, which is kept nowhere. `machine` is its host
    name, and `worker` its address in Dask. `took_s`: from the first to the last load, in s.
    """

    key: str
    url: str
    status: Status
    why: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    machine: str = ""
    worker: str = ""
    took_s: float = 0.0

    def to_json(self) -> str:
        """Return it as it stands in its file."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1) + "\n"


def of_unit(unit: Unit, status: Status, *why: str) -> UnitOutcome:
    """Return the outcome of `unit`."""
    return UnitOutcome(unit.key, unit.url, status, tuple(text[:LONGEST_WHY] for text in why), unit.options)


def read_outcome(text: str | bytes) -> UnitOutcome:
    """Return what a site.json says. Raises ValueError for anything else."""
    found = of_this_tool(parse_json(text.decode() if isinstance(text, bytes) else text))
    if found["format"] > FORMAT:
        raise ValueError(f"format {found['format']} is newer than the {FORMAT} known here; update TFO Lab")
    return converted(found, UnitOutcome)
