"""Single processors: what one had to do, and which one handles the packets that reach a network interface."""

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from harness.system.environment import MS_PER_TICK, STAT, STEAL_FIELD
from harness.system.namespaces import inside
from harness.system.processes import run

IDLE_FIELDS = (3, 4)
"""idle and iowait among the numbers of a line of /proc/stat (proc(5)), which the kernel counts exactly; of user, system
and interrupts it only samples who runs at its ticks, and what a timer wakes up runs between them."""
STEER = ('mount -t sysfs sysfs /sys && for queue in /sys/class/net/"$1"/queues/rx-*; do '
         'echo "$2" >"$queue/rps_cpus"; done')
"""/sys shows the network of whoever mounted it: so it is mounted once more, in a mount namespace that ends with it."""


@dataclass(frozen=True)
class CoreTimes:
    """How long a processor had nothing to do so far, and what a hypervisor took of it, in ms, and when that was."""

    idle_ms: float
    steal_ms: float
    at_ms: float

    def busy_since(self, before: "CoreTimes") -> float:
        """Return the share of the time since `before` was read in which it was busy, without what was stolen."""
        ours_ms = self.at_ms - before.at_ms - (self.steal_ms - before.steal_ms)
        return min(max(1 - (self.idle_ms - before.idle_ms) / ours_ms, 0.0), 1.0) if ours_ms > 0 else 0.0


def read_core(core: int) -> CoreTimes:
    """Return the times of processor `core` from /proc/stat."""
    lines, at_ms = STAT.read_text().splitlines(), time.monotonic() * 1000
    [line] = [line for line in lines if line.startswith(f"cpu{core} ")]
    ticks = [int(word) for word in line.split()[1:]]
    return CoreTimes(sum(ticks[field] for field in IDLE_FIELDS) * MS_PER_TICK, ticks[STEAL_FIELD] * MS_PER_TICK, at_ms)


def steer_packets(pid: int, interface: str, core: int) -> None:
    """Have `core` handle what arrives at an interface in the namespace of `pid` (receive packet steering).

    Left to itself, the kernel handles a packet that crosses a veth link on the processor of whoever sent it. Source:
    Linux Documentation/networking/scaling.rst. Raises ExperimentError.
    """
    with inside(pid):
        run(["unshare", "--mount", "sh", "-c", STEER, "sh", interface, f"{1 << core:x}"], "steering packets")


def wake_ups(pid: int) -> int:
    """Return how often the threads of a process went to sleep by themselves, and were woken up again (proc(5), status).

    The process's own status tells of its first thread alone. Those that have ended are left out.
    """
    found = 0
    for status in Path(f"/proc/{pid}/task").glob("*/status"):
        with suppress(FileNotFoundError, ProcessLookupError):       # it ends just now
            words = status.read_text(errors="replace").split()
            found += int(words[words.index("voluntary_ctxt_switches:") + 1])
    return found
