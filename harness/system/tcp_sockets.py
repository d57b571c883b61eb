"""What is under way on this host's TCP connections, as ss(8) of iproute2, which Mininet needs, has it of the kernel.

Silence alone cannot tell a page that is complete from one that waits: a lost SYN is sent again after a second.
"""

import ipaddress
from dataclasses import dataclass

from harness.system.commands import run
from harness.system.tcp import without_port

CONNECTING = ("SYN-SENT", "SYN-RECV")
UNACKNOWLEDGED_END = ("FIN-WAIT-1", "CLOSING", "LAST-ACK")
"""States in which a FIN of ours has not been acknowledged."""
THIS_HOST = (ipaddress.ip_address("127.0.0.1"), ipaddress.ip_address("::1"))
OVER = ("TIME-WAIT", "LISTEN", "UNCONN")
ROUND_TRIPS = 1.5
"""For so long after what came last more may come: who has sent all that they may waits for an acknowledgement."""


@dataclass(frozen=True)
class TcpSocket:
    """A TCP socket: its state, its peer's address, and what ss's ``-i`` says of it as {name: number}."""

    state: str
    peer: str
    info: dict[str, float]

    def waits(self) -> bool:
        """Tell whether something is to come: an acknowledgement, the answer to what was sent last, or the rest of one.

        With times in ms since data last came and went. A connection that never sent anything, as Chrome's spare ones,
        waits for nothing.
        """
        if self.state in OVER:
            return False
        if self.state in (*CONNECTING, *UNACKNOWLEDGED_END) or self.info.get("unacked") or self.info.get("notsent"):
            return True
        if self.state != "ESTAB" or not self.info.get("bytes_sent"):
            return False
        if not self.info.get("bytes_received") or self.info.get("lastsnd", 0) <= self.info.get("lastrcv", 0):
            return True
        return self.info.get("lastrcv", 0) <= ROUND_TRIPS * self.info.get("minrtt", 0)


def under_way() -> bool:
    """Tell whether on a connection of this network namespace to another host something is under way. About 5 ms.

    Loopback addresses other than the usual one count as other hosts: those of experiments/localhost.py are there.
    """
    return any(socket.waits() for socket in parse_ss(run(["ss", "-OtinH", "state", "all"], "looking at sockets")))


def connected() -> bool:
    """Tell whether a TCP or UDP socket of this network namespace is connected to another host."""
    return any(socket.state == "ESTAB" for kind in ("t", "u")
               for socket in parse_ss(run(["ss", f"-O{kind}nH", "state", "all"], "looking at sockets")))


def parse_ss(text: str) -> list[TcpSocket]:
    """Return the sockets of ss's output, one a line, but for those of this host with itself, as chromedriver's are."""
    return [socket for line in text.splitlines() if (socket := _parse(line)) and not _is_local(socket.peer)]


def _parse(line: str) -> TcpSocket | None:
    state, *fields = line.split()
    if len(fields) < 4:
        return None
    info = {}
    for field in fields[4:]:
        name, _, value = field.partition(":")
        try:
            info[name] = float(value)
        except ValueError:
            continue                    # rtt:100.2/0.1, cubic
    return TcpSocket(state, without_port(fields[3]).partition("%")[0], info)


def _is_local(address: str) -> bool:
    try:
        return ipaddress.ip_address(address) in THIS_HOST
    except ValueError:                  # "*": it has no peer
        return True
