"""What the kernels of the star's hosts counted: the proof of what a strategy did, whatever it says itself."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from harness.system.fastopen import parse_netstat
from harness.system.netns import inside


@dataclass(frozen=True)
class Counts:
    """Since the hosts began. Differences of two are what happened between.

    sockets: TCP connections the client began (Tcp ActiveOpens). sent_bytes: what left the client's interface, with
    Ethernet headers and questions to the name server. half_open: connections that servers were told to drop before
    their handshake was complete (TcpExt EmbryonicRsts). accepted: connections whose handshake completed at a server
    (Tcp PassiveOpens). fast_open: SYNs whose data a server accepted and gave its program (TcpExt TCPFastOpenPassive).
    Sources: Linux Documentation/networking/snmp_counter.rst.
    """

    sockets: int
    sent_bytes: int
    half_open: int
    accepted: int
    fast_open: int

    def __sub__(self, before: "Counts") -> "Counts":
        return Counts(self.sockets - before.sockets, self.sent_bytes - before.sent_bytes,
                      self.half_open - before.half_open, self.accepted - before.accepted,
                      self.fast_open - before.fast_open)


def read_counts(client_pid: int, client_interface: str, site_pids: Iterable[int]) -> Counts:
    """Read the counters of the client (a process in its namespace, and its interface) and of all sites. Needs root."""
    with inside(client_pid):
        active = _tcp("ActiveOpens")
        sent = _sent_bytes(client_interface)
    half_open = accepted = fast_open = 0
    for pid in site_pids:
        with inside(pid):
            half_open += _extended("EmbryonicRsts")
            accepted += _tcp("PassiveOpens")
            fast_open += _extended("TCPFastOpenPassive")
    return Counts(active, sent, half_open, accepted, fast_open)


def _tcp(name: str) -> int:
    """Return one counter of /proc/net/snmp's two Tcp lines."""
    lines = Path("/proc/thread-self/net/snmp").read_text(encoding="ascii").splitlines()
    names, values = (line.split() for line in lines if line.startswith("Tcp:"))
    return int(values[names.index(name)])


def _extended(name: str) -> int:
    return parse_netstat(Path("/proc/thread-self/net/netstat").read_text(encoding="ascii")).get(name, 0)


def _sent_bytes(interface: str) -> int:
    for line in Path("/proc/thread-self/net/dev").read_text(encoding="ascii").splitlines():
        name, _, numbers = line.partition(":")
        if name.strip() == interface:
            return int(numbers.split()[8])
    raise ValueError(f"{interface}: no such interface")
