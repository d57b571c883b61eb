"""TCP: the options of a replay server's sockets, what an accepted one tells, how an end of one is written, and what is
under way on all connections of a network, as ss(8) of iproute2, which Mininet needs, has it of the kernel.

Silence alone cannot tell a page that is complete from one that waits: a lost SYN is sent again after a second. And a
server notes a connection that sent nothing when it ends. Chrome closes its last connections as it ends, and the news
takes half an RTT to the servers: until then their logs do not tell all of the load.
"""

import re
import socket
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from harness.system.processes import run

QUEUE = 1024
"""Connections that may wait for accept(), and TFO connections whose handshake is not complete."""
TCPI_OPTIONS_OFFSET = 5
"""Byte of tcpi_options in struct tcp_info (linux/tcp.h)."""
TCPI_OPT_SYN_DATA = 32
"""linux/tcp.h: the SYN's data was acknowledged with the SYN-ACK."""
TCP_FASTOPEN_KEY = 33
"""linux/tcp.h; Python has no name for it."""
FRAME_BYTES = 1514
"""Of a full packet on the link."""
SYN_AGAIN_MS = 1000.0
"""A SYN that was not answered for so long is sent again (RFC 6298, section 2.1), and no load with such a SYN counts."""


def listen(address: str, port: int, queue: int = QUEUE, cookie_key: bytes | None = None) -> socket.socket:
    """Return a socket that listens with TCP Fast Open allowed (the sysctl decides) and room for `queue` connections.

    Accepted sockets inherit TCP_NODELAY, and CUBIC where the kernel has it: the host's default may be another, and the
    sysctl cannot always be set in a namespace. With a `cookie_key` of its own (16 bytes) it may share its port with
    others, and the kernel gives each connection to one of them by its addresses and ports (SO_REUSEPORT, socket(7)).
    Raises OSError.
    """
    listener = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        prefer_cubic(listener)
        if cookie_key is not None:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            listener.setsockopt(socket.IPPROTO_TCP, TCP_FASTOPEN_KEY, cookie_key)
        listener.bind((address, port))
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, queue)
        listener.listen(queue)
    except OSError:
        listener.close()
        raise
    return listener


def listen_to_datagrams(address: str, port: int) -> socket.socket:
    """Return a socket for UDP that is bound there. Raises OSError."""
    receiver = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
    try:
        receiver.bind((address, port))
        receiver.setblocking(False)
    except OSError:
        receiver.close()
        raise
    return receiver


def prefer_cubic(tcp_socket: socket.socket) -> str:
    """Have a TCP socket control congestion by CUBIC if the kernel lets it; return what it uses from now on."""
    with suppress(OSError):
        tcp_socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
    return tcp_socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode()


def carried_data_in_syn(connection: socket.socket) -> bool:
    """Say whether the accepted `connection`'s SYN carried data that was taken: TCP Fast Open worked."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCPI_OPTIONS_OFFSET + 1)
    return bool(info[TCPI_OPTIONS_OFFSET] & TCPI_OPT_SYN_DATA)


def without_port(address: str) -> str:
    """Return the IP address of ``10.0.0.2:8000`` or ``[fc00::2]:8000``."""
    return address.rpartition(":")[0].strip("[]")


CONNECTING = ("SYN-SENT", "SYN-RECV")
UNACKNOWLEDGED_END = ("FIN-WAIT-1", "CLOSING", "LAST-ACK")
"""States in which a FIN of ours has not been acknowledged."""
THIS_HOST, NO_PEER = ("127.0.0.1", "::1"), "*"
NUMBER = re.compile(r"\d+(\.\d+)?")
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
    found = []
    for state, *fields in map(str.split, text.splitlines()):
        peer = without_port(fields[3]).partition("%")[0] if len(fields) > 3 else NO_PEER
        if peer not in (*THIS_HOST, NO_PEER):
            told = (field.partition(":") for field in fields[4:])       # rtt:100.2/0.1 and cubic are no numbers
            info = {name: float(value) for name, _, value in told if NUMBER.fullmatch(value)}
            found.append(TcpSocket(state, peer, info))
    return found


def open_sockets(pids: Iterable[int]) -> int:
    """Return how many TCP sockets there are in the namespaces of the processes `pids`, listening ones included.

    That is "inuse" of /proc/net/sockstat (proc(5)), which leaves out those in TIME_WAIT. About 0.1 ms a namespace.
    """
    texts = (Path(f"/proc/{pid}/net/sockstat").read_text() for pid in pids)
    return sum(int(number) for text in texts for number in re.findall(r"^TCP: inuse (\d+)", text, re.MULTILINE))


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
