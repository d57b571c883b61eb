"""What a result was measured on: saved with it, because it cannot be found out later."""

import os
import platform
import socket
import time
from functools import cache
from pathlib import Path
from typing import Any

from harness.bootstrap import ROOT
from harness.errors import ExperimentError
from harness.system.commands import run
from harness.system.netns import inside
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
def git_state(checkout: Path = ROOT) -> str:
    """Return the commit this program is, with ``-dirty`` when files differ; "" outside a checkout."""
    # No optional locks: else root would rewrite the user's index (as git-describe --dirty does regardless).
    git = [*_as_owner(checkout), "git", "--no-optional-locks", "-c", f"safe.directory={checkout}", "-C", str(checkout)]
    try:
        commit = run([*git, "rev-parse", "--short", "HEAD"], "naming the commit").strip()
        changes = run([*git, "status", "--porcelain", "--untracked-files=no"], "looking for changes").strip()
    except ExperimentError:
        return ""
    return f"{commit}-dirty" if changes else commit


def _as_owner(checkout: Path) -> list[str]:
    """Return what has root run a command as the owner of `checkout`: git starts programs that its settings name."""
    owner = checkout.stat()
    if os.geteuid() != 0 or owner.st_uid == 0:
        return []
    return ["setpriv", f"--reuid={owner.st_uid}", f"--regid={owner.st_gid}", "--clear-groups", "--"]


def load_average() -> float:
    """Return the number of runnable processes, averaged over the last minute."""
    return os.getloadavg()[0]
