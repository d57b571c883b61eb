"""The machine: what a result was measured on, which is saved with it since it cannot be found out later, and what else
the machine does.

Before anything is measured it is looked whether a program keeps the machine busy. Time that the hypervisor took, work
for other programs and suspends are counts since the machine was started: read them before and after, and take the
difference.
"""

import os
import platform
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from harness.bootstrap import ROOT
from harness.errors import ExperimentError, printable
from harness.system.contained import machines_proc, started_as
from harness.system.namespaces import inside
from harness.system.processes import descendants, run
from harness.system.tcp import prefer_cubic

SYSCTLS = (
    "tcp_fastopen", "tcp_congestion_control", "tcp_no_metrics_save", "tcp_syn_retries", "tcp_rmem", "tcp_wmem",
    "tcp_slow_start_after_idle", "tcp_fastopen_blackhole_timeout_sec", "tcp_timestamps", "tcp_sack",
    "tcp_autocorking",
)
"""Settings under /proc/sys/net/ipv4 that shape a load."""


def sysctls(pid: int) -> dict[str, str]:
    """Return the settings of SYSCTLS in the network namespace of `pid`; those it does not have are left out."""
    with inside(pid):
        files = [path for path in (Path("/proc/sys/net/ipv4", name) for name in SYSCTLS) if path.exists()]
        return {f"net.ipv4.{path.name}": " ".join(path.read_text().split()) for path in files}


def server_congestion_control(pid: int) -> str:
    """Return what the replay servers in the network namespace of `pid` control congestion by, whatever its default."""
    with inside(pid), socket.socket() as as_theirs:
        return prefer_cubic(as_theirs)


def machine() -> dict[str, Any]:
    """Return the machine, its kernel and the state of this program."""
    return {"kernel": platform.release(), "machine": platform.machine(), "cpus": os.cpu_count(),
            "python": platform.python_version(), "git": git_state()}


def print_machine() -> None:
    """Print when and on what the numbers below are measured. A high load average means that they are disturbed."""
    facts = machine()
    loads = ", ".join(f"{load:.2f}" for load in os.getloadavg())
    print(f"# {time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime())}; {facts['cpus']} x {_processor()}; "
          f"Linux {facts['kernel']}; Python {facts['python']}; commit {facts['git'] or 'unknown'}")
    print(f"# load average before: {loads} (1, 5, 15 minutes)", flush=True)


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return " ".join(line.partition(":")[2].split())
    return "processor of unknown model"


@cache
def git_state() -> str:
    """Return the commit this program is, with ``-dirty`` when files differ; "" outside a checkout."""
    # No optional locks: else root would rewrite the user's index (as git-describe --dirty does regardless).
    git = ["git", "--no-optional-locks", "-c", f"safe.directory={ROOT}", "-c", "core.fsmonitor=false",
           "-C", str(ROOT)]
    try:
        commit = run([*git, "rev-parse", "--short", "HEAD"], "naming the commit").strip()
        changes = run([*git, "status", "--porcelain", "--untracked-files=no"], "looking for changes").strip()
    except ExperimentError:
        return ""
    return f"{commit}-dirty" if changes else commit


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
Used = tuple[str, float]
"""What a process is called, and its processor time in ms."""


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


def busy_with() -> list[str]:
    """Look for a second; return in words what keeps the machine busy, the busiest first, [] when nothing does.

    This program and its children are left out.
    """
    ours = {started_as(), *descendants(started_as(), machines_proc())}
    before, pressure, began_s = processor_times(), read_pressure(), time.monotonic()
    time.sleep(LOOK_S)
    after, spent_ms = processor_times(), (time.monotonic() - began_s) * 1000
    steal = (read_pressure()["steal"] - pressure["steal"]) / spent_ms
    busy = busiest(before, {pid: used for pid, used in after.items() if pid not in ours}, spent_ms)
    return [*busy, *([f"the hypervisor takes {steal:.0%} of a core for other machines"] if steal > STEAL_SHARE else [])]


def busiest(before: Mapping[int, Used], after: Mapping[int, Used], spent_ms: float) -> list[str]:
    """Return the processes that used over BUSY_SHARE of a core in `spent_ms`, in words, the busiest first."""
    shares = {pid: (used_ms - before[pid][1]) / spent_ms for pid, (_, used_ms) in after.items() if pid in before}
    found = sorted(((share, pid) for pid, share in shares.items() if share > BUSY_SHARE), reverse=True)
    return [f"{printable(after[pid][0])} (pid {pid}) uses {share:.0%} of a core" for share, pid in found]


def processor_times() -> dict[int, Used]:
    """Return what every process is called, and what it has used so far (proc(5), stat: utime and stime)."""
    times = {}
    for entry in machines_proc().glob("[0-9]*"):
        with suppress(OSError):     # it has ended
            head, _, tail = (entry / "stat").read_text(errors="replace").rpartition(")")
            fields = tail.split()
            times[int(entry.name)] = head.partition("(")[2], (int(fields[11]) + int(fields[12])) * MS_PER_TICK
    return times


def wait_for_quiet(patience_s: float) -> list[str]:
    """Wait until nothing else keeps the machine busy, `patience_s` at most; say what does.

    Return what still does then: [] when the machine is quiet.
    """
    deadline_s = time.monotonic() + patience_s
    told = False
    while busy := busy_with():
        if time.monotonic() >= deadline_s:
            print(f"the machine is still busy ({'; '.join(busy)}): loads may be late and have to be measured again",
                  flush=True)
            break
        if not told:
            print(f"the machine is busy: {'; '.join(busy)}; waiting for quiet, up to {patience_s:g} s", flush=True)
            told = True
        time.sleep(min(PAUSE_S, max(0.0, deadline_s - time.monotonic())))
    return busy
