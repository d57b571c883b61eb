"""What the machine had to do besides an experiment: time that the hypervisor took, work for other programs, suspends.

All are counts since the machine was started: read them before and after, and take the difference.
"""

import os
import time
from pathlib import Path

STAT = Path("/proc/stat")
MS_PER_TICK = 1000 / os.sysconf("SC_CLK_TCK")
BUSY_FIELDS, STEAL_FIELD = (0, 2), 7
"""Among the numbers of /proc/stat's first line (proc(5)): user and system; steal. "nice" programs take only what the
others leave; interrupts carry the experiment's own packets."""


def read_pressure() -> dict[str, float]:
    """Return the counts of now in ms, by name.

    "steal" is the time that a hypervisor gave to others, "busy" the time that processors worked for programs of
    ordinary priority, as important as an experiment's, both summed over all processors. "suspended" is how long the
    machine was suspended.
    """
    return {**parse_stat(STAT.read_text()), "suspended": suspended_ms()}


def suspended_ms() -> float:
    """Return how long the machine has been suspended: CLOCK_BOOTTIME goes on then, CLOCK_MONOTONIC does not."""
    return (time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)) * 1000


def parse_stat(text: str) -> dict[str, float]:
    """Return "steal" and "busy" in ms from /proc/stat; a kernel that does not count the first has 0."""
    fields = [int(field) * MS_PER_TICK for field in text.split("\n", 1)[0].split()[1:]]
    return {"steal": fields[STEAL_FIELD] if len(fields) > STEAL_FIELD else 0.0,
            "busy": sum(fields[place] for place in BUSY_FIELDS)}
