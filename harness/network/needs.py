"""What the simulated network needs: programs, and parts of the kernel, tried in a namespace that is gone afterwards."""

import shutil
import subprocess

from harness.errors import MachineError
from harness.system.fastopen import kernel_has_fastopen
from harness.system.privileges import as_root
from harness.system.processes import TIMEOUT_S

PROGRAMS = {"mnexec": "mininet", "ip": "iproute2", "tc": "iproute2", "iptables": "iptables",
            "unshare": "util-linux", "ifconfig": "net-tools"}
"""Programs the network is made with, and the distribution packages they come in."""

NEW_NAMESPACE = ("mnexec", "-n")
"""Mininet's own program, with which it makes each host. Not unshare(1): a profile of AppArmor's for that one
(unshare-userns-restrict; Ubuntu 25.04 had it) takes the rights of whatever it starts, also from root."""
SETTING = "echo 1 >/proc/sys/net/ipv4/tcp_no_metrics_save"
"""What is not allowed in a container that is not privileged, even if it may make namespaces."""
NEEDED = {
    "veth links (module veth)": "ip link add probe0 type veth peer name probe1",
    "bridges (module bridge)": "ip link add probe0 type bridge",
    "HTB rates (module sch_htb)": "tc qdisc add dev lo root handle 5: htb default 1",
}
"""Parts of every star, each with a command that fails where the kernel does not have it."""
NFQUEUE = "iptables -w -t mangle -A PREROUTING -i lo -j NFQUEUE --queue-num 1"
"""What the delay line (tfo-test/delay_line.py) needs."""
NETEM = "tc qdisc add dev lo root netem delay 1ms"
TIMED_OUT = 124
"""What timeout(1) exits with when it had to end the command."""


ADVICE = ("boot the distribution's own kernel (on Ubuntu: sudo apt-get install linux-modules-extra-$(uname -r)); "
          "docs/install.md says more")


def check_programs(*, pcap: bool = False) -> None:
    """Raise MachineError when a program (`pcap`: tcpdump, too) or TFO itself is missing on this machine."""
    needed = PROGRAMS | ({"tcpdump": "tcpdump"} if pcap else {})
    missing = sorted({package for program, package in needed.items() if not shutil.which(program)})
    if missing:
        raise MachineError(f"not installed: {', '.join(missing)}; run: sudo ./scripts/setup.sh")
    if not kernel_has_fastopen():
        raise MachineError("/proc/sys/net/ipv4/tcp_fastopen: this kernel has no TCP Fast Open; use Linux 4.15 or newer")


def check_kernel(*, delay_line: bool) -> None:
    """Raise MachineError when no star can be built here, or `delay_line` is to delay its packets and cannot."""
    problem = _try(SETTING)
    if problem:
        raise MachineError(f"no network namespace can be set up here ({problem}); start a container with --privileged: "
                         "docs/install.md")
    for part, command in NEEDED.items():
        problem = _try(command)
        if problem:
            raise MachineError(f"this kernel has no {part}: {problem}; {ADVICE}")
    problem = _try(NFQUEUE) if delay_line else ""
    if problem:
        raise MachineError("this kernel can delay packets neither by netem (module sch_netem) nor by NFQUEUE "
                         f"(module xt_NFQUEUE): {problem}; {ADVICE}")


def real_time_allowed() -> bool:
    """Say whether the delay line gets real-time priority (sched(7), SCHED_FIFO)."""
    return not _try("chrt --fifo 50 true")


def kernel_has_netem() -> bool:
    """Try netem in a scratch network namespace (after loading its module where it is one)."""
    return not _try(f"modprobe --quiet sch_netem; {NETEM}")


def _try(command: str) -> str:
    """Run `command` in a new network namespace; return what it said in one line if it failed, otherwise nothing."""
    with as_root():
        trial = subprocess.run([*NEW_NAMESPACE, "timeout", f"{TIMEOUT_S:g}", "sh", "-c", command], capture_output=True,
                               text=True, check=False)
    if trial.returncode == TIMED_OUT:       # iptables waits for a lock that all namespaces share (/run/xtables.lock)
        return f"`{command}` did not end in {TIMEOUT_S:g} s"
    if trial.returncode == 0:
        return ""
    return "; ".join((trial.stderr or trial.stdout).strip().splitlines()) or f"exit status {trial.returncode}"
