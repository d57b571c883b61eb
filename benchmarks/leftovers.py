"""What is left of a star that was taken down: nothing, or the benchmark ends."""

import os
import re
import time
from pathlib import Path

from harness.errors import ExperimentError
from harness.network.star import Star
from harness.system.processes import descendants

GONE_WITHIN_S = 2.0
"""How long processes that were told to end may take to be gone."""


def namespaces_of(star: Star) -> set[str]:
    """Return the names the kernel gives the network namespaces of all hosts and of the switch."""
    return {str(Path(f"/proc/{pid}/ns/net").readlink()) for pid in [*star.pids, star.switch_pid]}


def check_nothing_left(known: set[int], namespaces: set[str]) -> None:
    """Raise ExperimentError if children, namespaces or interfaces of the star are still there after a while."""
    deadline = time.monotonic() + GONE_WITHIN_S
    while left := _left_over(known, namespaces):
        if time.monotonic() > deadline:
            raise ExperimentError(f"left after the star was taken down: {', '.join(left)}")
        time.sleep(0.02)


def _left_over(known: set[int], namespaces: set[str]) -> list[str]:
    """Return what is left in words: processes of ours that are not in `known`, namespaces, interfaces."""
    running = [f"process {pid}" for pid in descendants(os.getpid()) - known if not _has_ended(pid)]
    held = namespaces & {str(link) for link in map(_network_of, Path("/proc").glob("[0-9]*")) if link}
    interfaces = [path.name for path in Path("/sys/class/net").iterdir()
                  if re.fullmatch(r"(user|server\d+|s0)-eth\d+|s0", path.name)]
    return [*running, *sorted(held), *interfaces]


def _has_ended(pid: int) -> bool:
    """Tell whether a process is gone, or only waits for us to notice its end (state Z, proc(5))."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def _network_of(process: Path) -> str | None:
    """Return the name of the network namespace of a process by its directory in /proc, None when it is gone."""
    try:
        return str((process / "ns" / "net").readlink())
    except OSError:
        return None
