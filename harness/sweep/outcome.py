"""The outcome of one unit, ``site.json`` beside its loads: this module is its only reader and writer.

A worker writes it, and the driver reads it as data: nothing that comes from a worker is run.
"""

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import msgspec

from harness.files.load_record import format_version, in_words
from harness.sweep.plan import Unit
from harness.system.untrusted import parse_json

FORMAT = 1
FILE = "site.json"
Status = Literal["measured", "partly", "failed", "refused"]
LONGEST_WHY = 1000
"""Characters of a reason."""


@dataclass(frozen=True)
class Machine:
    """Which machine it was: `id` is the same for all workers on it."""

    id: str
    name: str
    kernel: str = ""
    cpus: int = 0
    processor: str = ""
    browser: str = ""
    tfo_lab: str = ""


@dataclass(frozen=True)
class Calibration:
    """What a machine measured on the pages that are known (harness.sweep.calibration). None: not known.

    `rtt_error_percent` is how far the RTT was off, `saved_rtts` how many round trips TFO saved for each handshake that
    it should save, `page_ms` the time of the page that computes, without a network. `fault` says why the machine is not
    fit for a sweep, "" when it is.
    """

    began_s: float = 0.0
    rtt_error_percent: float | None = None
    saved_rtts: float | None = None
    page_ms: float | None = None
    fault: str = ""


@dataclass(frozen=True)
class UnitOutcome:
    """The outcome of one unit. `why` says in words what went wrong.

    `status` is "measured" when every load counts, "partly" when some loads count and give an improvement, "failed" when
    no improvement is known, "refused" when this worker does not measure the unit, and another one should. Times in s:
    `began_s` since 1970, `took_s` from the first to the last load.
    """

    key: str
    url: str
    status: Status
    why: tuple[str, ...] = ()
    machine: Machine = Machine("", "")
    calibration: Calibration | None = None
    began_s: float = 0.0
    took_s: float = 0.0
    replica: int = 0
    options: tuple[str, ...] = ()
    delays: tuple[float, ...] = ()
    exits: dict[str, int] = field(default_factory=dict)

    @property
    def of_the_page(self) -> bool:
        """Whether tfo.py said that the page or its recording is to blame. On another machine it would say so, too."""
        return 2 in self.exits.values()

    @property
    def cut_short(self) -> bool:
        """Whether tfo.py was killed, by a kernel without memory, say: what it had still to do is missing."""
        return not set(self.exits.values()) <= {0, 1, 2}

    def is_of(self, unit: Unit) -> bool:
        """Tell whether it says so of every part of `unit` that it names."""
        return (self.key, self.url, self.replica, self.options, self.delays) == \
            (unit.key, unit.url, unit.replica, unit.settings.options, unit.settings.delays)

    def to_json(self) -> str:
        """Return it as it stands in its file."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1) + "\n"


def of_unit(unit: Unit, status: Status, *why: str, **more: Any) -> UnitOutcome:
    """Return the outcome of `unit`."""
    return UnitOutcome(key=unit.key, url=unit.url, status=status, why=tuple(text[:LONGEST_WHY] for text in why),
                       replica=unit.replica, options=unit.settings.options, delays=unit.settings.delays, **more)


def read_outcome(text: str | bytes) -> UnitOutcome:
    """Return what a site.json says. Raises ValueError for anything else."""
    found = parse_json(text.decode() if isinstance(text, bytes) else text)
    if format_version(found) > FORMAT:
        raise ValueError(f"format {found['format']} is newer than the {FORMAT} known here; update TFO Lab")
    try:
        return msgspec.convert(found, UnitOutcome)
    except msgspec.ValidationError as error:
        raise ValueError(in_words(error)) from None
