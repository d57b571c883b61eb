"""TCP Fast Open in the kernel: the switch in each network namespace, and the counters that prove what happened.

And a network namespace in which one has that switch without root, a loopback alone (`enter_own_network`): in a user
namespace of one's own (user_namespaces(7)) an ordinary user may make one. Not everywhere: a container, or Ubuntu's
AppArmor, may forbid it.
"""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from harness.errors import ExperimentError
from harness.system.libc import call
from harness.system.namespaces import inside

SYSCTL = Path("/proc/sys/net/ipv4/tcp_fastopen")

CLIENT_BIT = 0x1
SERVER_BIT = 0x2
NO_COOKIE_NEEDED = 0x200
OFF = 0
ON = CLIENT_BIT | SERVER_BIT
"""Values of net.ipv4.tcp_fastopen (Linux Documentation/networking/ip-sysctl.rst)."""

COUNTERS = (
    "TCPFastOpenActive",
    "TCPFastOpenActiveFail",
    "TCPFastOpenPassive",
    "TCPFastOpenPassiveFail",
    "TCPFastOpenCookieReqd",
    "TCPFastOpenListenOverflow",
    "ListenOverflows",
    "ListenDrops",
    "TCPSynRetrans",
    "TCPTimeouts",
    "TCPRetransFail",
)
"""The lines of /proc/net/netstat (TcpExt) that tell whether a load is what it says it is."""

OF_ESTABLISHED = ("TCPSpuriousRTOs", "TCPLossProbes", "TCPFastRetrans", "TCPSlowStartRetrans")
"""Those that tell, with TCPTimeouts, whether established connections sent anything again, or feared they must."""

OF_UDP = "UdpRcvbufErrors"
"""Datagrams that found no room where a program was to read them (RcvbufErrors in /proc/net/snmp): QUIC lost them."""

KEPT = (*COUNTERS, *OF_ESTABLISHED, OF_UDP)


def kernel_has_fastopen() -> bool:
    """Tell whether this kernel knows TCP Fast Open at all."""
    return SYSCTL.exists()


def set_fastopen(pids: Iterable[int], value: int) -> None:
    """Write net.ipv4.tcp_fastopen = `value` in the namespace of every process in `pids`, and read it back.

    The setting is per namespace since Linux 4.15 and a new one starts with 1, so each host needs its own.
    Raises ExperimentError when a namespace does not take it.
    """
    for pid in pids:
        with inside(pid):
            SYSCTL.write_text(f"{value}\n")
            found = int(SYSCTL.read_text())
        if found != value:
            raise ExperimentError(f"net.ipv4.tcp_fastopen is {found} instead of {value} in the namespace of {pid}")


class FastOpenSwitch:
    """The kernel's TFO setting of the network namespace this was made in, cheap to read: the file stays open."""

    def __init__(self) -> None:
        self._file = Path(SYSCTL).open("rb", buffering=0)     # noqa: SIM115 (it stays open for as long as this is there)

    def server_enabled(self) -> bool:
        """Say whether servers accept data in a SYN now."""
        return bool(int(os.pread(self._file.fileno(), 16, 0)) & SERVER_BIT)


def read_counters(pid: int) -> dict[str, int]:
    """Return the counters of KEPT in the namespace of `pid`; one the kernel does not have is 0."""
    values = parse_netstat(Path(f"/proc/{pid}/net/netstat").read_text())
    values[OF_UDP] = parse_netstat(Path(f"/proc/{pid}/net/snmp").read_text(), "Udp:").get("RcvbufErrors", 0)
    return {name: values.get(name, 0) for name in KEPT}


def parse_netstat(text: str, wanted: str = "TcpExt:") -> dict[str, int]:
    """Parse /proc/net/netstat or snmp: pairs of lines, names then values, each starting with the same tag."""
    lines = text.splitlines()
    values: dict[str, int] = {}
    for names, numbers in zip(lines[::2], lines[1::2], strict=False):
        tag, *keys = names.split()
        if tag == wanted:
            values.update(zip(keys, map(int, numbers.split()[1:]), strict=False))
    return values


def difference(after: dict[str, int], before: dict[str, int]) -> dict[str, int]:
    """Return how much each counter grew."""
    return {name: after[name] - before[name] for name in after}


def total(counters: Iterable[dict[str, int]]) -> dict[str, int]:
    """Add counters of several hosts up."""
    sums = Counter(dict.fromkeys(KEPT, 0))
    for host in counters:
        sums.update(host)
    return dict(sums)


INSIDE = "TFO_LAB_OWN_NETWORK"
"""Environment variable: this program runs in a network namespace of its own already."""
MTU = 1500
"""Of the loopback there: the kernel's 65536 would let requests into a SYN that no Ethernet carries in one."""
PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
TRIAL_S = 10.0
FOR_ANYBODY = ("--user", "--map-current-user", "--keep-caps")


def enter_own_network() -> str:
    """Run this program from its beginning in a network namespace of its own; return "" when it is in one.

    Where none can be had return why, in words.
    """
    if os.environ.get(INSIDE) == str(os.getpid()):
        _keep_rights_to_ourselves()
        return ""
    enter = ["unshare", *([] if os.geteuid() == 0 else FOR_ANYBODY), "--net"]
    set_up = f"ip link set lo mtu {MTU} up"
    try:
        trial = subprocess.run([*enter, "sh", "-ec", f"{set_up}; echo {ON} >{SYSCTL}"], capture_output=True, text=True,
                               timeout=TRIAL_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if trial.returncode != 0:
        return "; ".join(trial.stderr.strip().splitlines()) or f"unshare exited with {trial.returncode}"
    os.environ[INSIDE] = str(os.getpid())       # exec keeps the number
    return os.execvp(enter[0], [*enter, "sh", "-ec", f'{set_up}; exec "$@"', "sh", *sys.orig_argv])


def _keep_rights_to_ourselves() -> None:
    """Have no program that this one starts inherit what it may do here: Chrome and the servers are to have no rights.

    (capabilities(7): the ambient set is what an ordinary user's programs inherit.)
    """
    call("prctl", PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
