"""What is under way on TCP connections: at this host, as ss(8) of iproute2, which Mininet needs, has it of the kernel.

Silence alone cannot tell a page that is complete from one that waits: a lost SYN is sent again after a second. And a
server notes a connection that sent nothing when it ends. Chrome closes its last connections as it ends, and the news
takes half an RTT to the servers: until then their logs do not tell all of the load.
"""

import ipaddress
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from harness.system.commands import run
from harness.system.tcp import without_port

CONNECTING = ("SYN-SENT", "SYN-RECV")
UNACKNOWLEDGED_END = ("FIN-WAIT-1", "CLOSING", "LAST-ACK")
"""States in which a FIN of ours has not been acknowledged."""
THIS_HOST = (ipaddress.ip_address("127.0.0.1"), ipaddress.ip_address("::1"))
OVER = ("TIME-WAIT", "LISTEN", "UNCONN")
ROUND_TRIPS = 1.5
"""For so long after what came last more may come: who has sent all that they may waits for an acknowledgement."""

POLL_S = 0.01
CLOSING_LIMIT_S = 2.0
"""How long servers may take to close what has been closed on the other side, besides the RTT."""


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


def open_sockets(pids: Iterable[int]) -> int:
    """Return how many TCP sockets there are in the namespaces of the processes `pids`, listening ones included.

    That is "inuse" of /proc/net/sockstat (proc(5)), which leaves out those in TIME_WAIT. About 0.1 ms a namespace.
    """
    return sum(parse_sockstat(Path(f"/proc/{pid}/net/sockstat").read_text()) for pid in pids)


def parse_sockstat(text: str) -> int:
    """Return "inuse" of the line ``TCP: inuse 3 orphan 0 tw 0 alloc 5 mem 0``."""
    for line in text.splitlines():
        name, *fields = line.split()
        if name == "TCP:":
            return int(fields[fields.index("inuse") + 1])
    raise ValueError("no line for TCP in sockstat")


def wait_for_close(count: Callable[[], int], before: int, rtt_ms: float) -> bool:
    """Wait until `count()` is not over `before`; tell whether it was so before the limit.

    The limit is CLOSING_LIMIT_S and 2 RTTs: half of one for the client's FIN, one for the server's and its
    acknowledgement. It is met only by a server that hangs.
    """
    deadline = time.monotonic() + CLOSING_LIMIT_S + 2 * rtt_ms / 1000
    while count() > before:
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return True
