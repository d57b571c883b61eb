"""TCP Fast Open in the kernel: the switch in each network namespace, and the counters that prove what happened."""

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from harness.errors import ExperimentError
from harness.system.netns import inside

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
    with inside(pid):
        values = parse_netstat(Path("/proc/thread-self/net/netstat").read_text())
        values[OF_UDP] = parse_netstat(Path("/proc/thread-self/net/snmp").read_text(), "Udp:").get("RcvbufErrors", 0)
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
