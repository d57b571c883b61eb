"""What the machine had to do besides an experiment: time the hypervisor took, time tasks stood waiting, suspends.

All are counts since the machine was started: read them before and after, and take the difference.
"""

import os
import time
from dataclasses import dataclass
from pathlib import Path

STAT = Path("/proc/stat")
PRESSURE = Path("/proc/pressure")
MS_PER_TICK = 1000 / os.sysconf("SC_CLK_TCK")
BUSY_FIELDS = (0, 2)
"""user and system among the numbers of /proc/stat's first line (proc(5)): programs that are as important as an
experiment's. "nice" ones take only what the others leave; interrupts carry the experiment's own packets."""
STEAL_FIELD = 7


@dataclass(frozen=True)
class Pressure:
    """Counts in ms. Those of a kernel that does not keep them are 0.

    `steal_ms` is the time that a hypervisor gave to others, `busy_ms` the time that processors worked for programs of
    ordinary priority, both summed over all processors. For `cpu_ms` and `memory_ms` at least one task waited for it
    (PSI, "some"), for `io_ms` nothing could run because all waited for a disk ("full"; "some" would count what another
    program copies). `suspended_ms` is how long the machine was suspended.
    """

    steal_ms: float
    busy_ms: float
    cpu_ms: float
    memory_ms: float
    io_ms: float
    suspended_ms: float

    def since(self, before: "Pressure") -> "Pressure":
        """Return what was added after `before` was read."""
        return Pressure(*(getattr(self, name) - getattr(before, name) for name in self.__dataclass_fields__))


def read_pressure() -> Pressure:
    """Return the counts of now."""
    steal_ms, busy_ms = parse_stat(STAT.read_text())
    return Pressure(steal_ms, busy_ms, _stalled_ms("cpu", "some"), _stalled_ms("memory", "some"),
                    _stalled_ms("io", "full"), suspended_ms())


def suspended_ms() -> float:
    """Return how long the machine has been suspended: CLOCK_BOOTTIME goes on then, CLOCK_MONOTONIC does not."""
    return (time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)) * 1000


def parse_stat(text: str) -> tuple[float, float]:
    """Return (stolen, busy) in ms from /proc/stat."""
    fields = [int(field) for field in text.split("\n", 1)[0].split()[1:]]
    stolen = fields[STEAL_FIELD] if len(fields) > STEAL_FIELD else 0
    return stolen * MS_PER_TICK, sum(fields[place] for place in BUSY_FIELDS) * MS_PER_TICK


def parse_pressure(text: str, share: str) -> float:
    """Return the ms for which at least one task ("some") or all of them ("full") waited, from a file of /proc/pressure.

    Source: the kernel's Documentation/accounting/psi.rst.
    """
    for line in text.splitlines():
        kind, *pairs = line.split()
        if kind == share:
            return int(dict(pair.split("=") for pair in pairs)["total"]) / 1000
    return 0.0


def _stalled_ms(what: str, share: str) -> float:
    try:
        return parse_pressure((PRESSURE / what).read_text(), share)
    except OSError:     # a kernel without PSI, or with it switched off
        return 0.0
