"""What the machine has to do besides an experiment, and which program does it.

Before anything is measured it is looked whether a program keeps the machine busy. Time that the hypervisor took, work
for other programs and suspends are counts since the machine was started: read them before and after, and take the
difference.
"""

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from harness.errors import printable
from harness.system.contained import machines_proc, started_as
from harness.system.processes import descendants

STAT = Path("/proc/stat")
MS_PER_TICK = 1000 / os.sysconf("SC_CLK_TCK")
BUSY_FIELDS, STEAL_FIELD = (0, 2), 7
"""Among the numbers of /proc/stat's first line (proc(5)): user and system; steal. "nice" programs take only what the
others leave; interrupts carry the experiment's own packets."""

BUSY_SHARE = 0.2
"""Of one core: a program that uses more of it makes loads late."""
STEAL_SHARE = 0.05
"""Of one core's time, taken by the hypervisor for other machines."""
LOOK_S = 1.0
"""How long one look takes."""
PAUSE_S = 1.0


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


class Used(NamedTuple):
    """What a process had used at one moment: its name, and its processor time in ms."""

    name: str
    cpu_ms: float


def busy_with(look_s: float = LOOK_S) -> list[str]:
    """Look for `look_s` seconds; return in words what keeps the machine busy, the busiest first, [] when nothing does.

    This program and its children are left out.
    """
    ours = {started_as(), *descendants(started_as(), machines_proc())}
    before, pressure, began_s = processor_times(), read_pressure(), time.monotonic()
    time.sleep(look_s)
    after, spent_ms = processor_times(), (time.monotonic() - began_s) * 1000
    steal = (read_pressure()["steal"] - pressure["steal"]) / spent_ms
    busy = busiest(before, {pid: used for pid, used in after.items() if pid not in ours}, spent_ms)
    return [*busy, *([f"the hypervisor takes {steal:.0%} of a core for other machines"] if steal > STEAL_SHARE else [])]


def busiest(before: Mapping[int, Used], after: Mapping[int, Used], spent_ms: float) -> list[str]:
    """Return the processes that used over BUSY_SHARE of a core in `spent_ms`, in words, the busiest first."""
    shares = {pid: (used.cpu_ms - before[pid].cpu_ms) / spent_ms for pid, used in after.items() if pid in before}
    found = sorted(((share, pid) for pid, share in shares.items() if share > BUSY_SHARE), reverse=True)
    return [f"{printable(after[pid].name)} (pid {pid}) uses {share:.0%} of a core" for share, pid in found]


def processor_times() -> dict[int, Used]:
    """Return what every process has used so far (proc(5), stat: utime and stime)."""
    times = {}
    for entry in machines_proc().glob("[0-9]*"):
        try:
            head, _, tail = (entry / "stat").read_text(errors="replace").rpartition(")")
        except OSError:
            continue                # it has ended
        fields = tail.split()
        times[int(entry.name)] = Used(head.partition("(")[2], (int(fields[11]) + int(fields[12])) * MS_PER_TICK)
    return times


def wait_for_quiet(patience_s: float, look: Callable[[], list[str]] = busy_with) -> list[str]:
    """Wait until nothing else keeps the machine busy, `patience_s` at most; say what does.

    Return what still does then: [] when the machine is quiet.
    """
    deadline_s = time.monotonic() + patience_s
    told: list[str] = []
    while busy := look():
        if time.monotonic() >= deadline_s:
            print(f"the machine is still busy ({'; '.join(busy)}): loads may be late and have to be measured again",
                  flush=True)
            return busy
        if not told:
            print(f"the machine is busy: {'; '.join(busy)}; waiting for quiet, up to {patience_s:g} s", flush=True)
            told = busy
        time.sleep(min(PAUSE_S, max(0.0, deadline_s - time.monotonic())))
    return []
