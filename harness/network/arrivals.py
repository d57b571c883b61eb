"""When the servers' packets reached `user`, by the kernel's own clock: what Chrome reads late did not come late.

A packet socket on the interface of `user` keeps the first bytes of every packet that comes in, stamped by the kernel on
its arrival (packet(7), socket(7)). Nobody reads it while a page loads, so it takes no processor from the page. The
delay line holds a packet only after that, for `Delay.held_ms` of its sender (harness.network.links).
"""

import socket
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum

from harness.errors import ExperimentError
from harness.network.star import Host
from harness.network.tcp_packet import TcpPacket
from harness.system.delay_queue import SO_TIMESTAMPNS
from harness.system.namespaces import inside

ETH_P_IP = 0x0800
SOL_PACKET, PACKET_STATISTICS = 263, 6
SO_RCVBUFFORCE = 33
"""linux/if_packet.h and asm-generic/socket.h; Python has no names for them."""
BUFFER_BYTES = 2**26
"""Room for a page of some 25 MB: the kernel counts a whole packet and its own bookkeeping, whatever is kept of it."""
HEADERS_BYTES = 120
"""The longest IP and TCP headers together (RFC 791, RFC 9293)."""
NS_PER_S = 1_000_000_000
STAMP_BYTES = 16
"""A struct timespec."""
STAMPS_S, LOOK_S = 5.0, 0.001
"""How long it may take until packets are stamped, and how long each look takes."""


class Said(Enum):
    """What a packet says."""

    NOTHING = "a bare acknowledgement, or neither TCP nor UDP"
    ANSWER = "payload, or any datagram: an acknowledgement of QUIC's comes from the server's program, too"
    CONNECTED = "a SYN-ACK"
    COOKIE = "a SYN-ACK with a TFO cookie: no request came with the SYN, it is sent only now"


@dataclass
class Arrivals:
    """When something of a server's own came in, in s since the epoch, in order, by its address and what it said.

    `lost`: the buffer was too small, so that they are not all of them.
    """

    at_s: dict[str, dict[Said, list[float]]] = field(default_factory=dict)
    lost: bool = False

    def of(self, address: str, *, connecting: bool) -> list[float]:
        """Return when something came of the server at `address` that ends the wait for an answer, or for a connect.

        A SYN-ACK ends only the wait for a connect: the kernel sends it also while the server's program stands still.
        With a cookie it ends both, since the request that waited for it had not been sent.
        """
        kinds = (Said.ANSWER, Said.COOKIE, *([Said.CONNECTED] if connecting else []))
        return sorted(at_s for kind in kinds for at_s in self.at_s.get(address, {}).get(kind, ()))

    def note(self, address: str, said: Said, at_s: Sequence[float]) -> None:
        """Note when what came in."""
        self.at_s.setdefault(address, {}).setdefault(said, []).extend(at_s)


@contextmanager
def noting_arrivals(host: Host) -> Iterator[Arrivals]:
    """Note what arrives at `host` while this lasts; at its end the arrivals are complete. Needs root."""
    arrivals = Arrivals()
    with closing(_open(host)) as packets:
        try:
            yield arrivals
        finally:
            _, dropped = struct.unpack("II", packets.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))
            arrivals.lost = dropped > 0
            _drain(packets, arrivals)


def _open(host: Host) -> socket.socket:
    with inside(host.pid):
        packets = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        packets.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
        packets.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        wait_for_stamps()
        packets.bind((host.interface, ETH_P_IP))        # now: those that were waited for are nobody's answers
    return packets


def wait_for_stamps() -> None:
    """Wait until the kernel stamps what arrives: it begins to a moment after it is asked, and until then gives a packet
    the time at which it is read (Linux's net/core/dev.c, net_enable_timestamp, leaves that to a work queue).
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as looks:
        looks.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        looks.bind(("127.0.0.1", 0))
        looks.settimeout(STAMPS_S)
        deadline_s = time.monotonic() + STAMPS_S
        while time.monotonic() < deadline_s:
            looks.sendto(b"?", looks.getsockname())
            time.sleep(LOOK_S)
            read_s = time.time()
            _, extra, _, _ = looks.recvmsg(1, socket.CMSG_SPACE(STAMP_BYTES))
            if any(at_s < read_s for at_s in stamps_s(extra)):
                return
    raise ExperimentError(f"the kernel did not begin to stamp packets in {STAMPS_S:g} s: the machine is too busy; end "
                          "other programs and try again")


def _drain(packets: socket.socket, arrivals: Arrivals) -> None:
    room = socket.CMSG_SPACE(STAMP_BYTES)
    with suppress(BlockingIOError):
        while True:
            headers, extra, _, _ = packets.recvmsg(HEADERS_BYTES, room)
            address, said = read_packet(headers)
            if said is not Said.NOTHING:
                arrivals.note(address, said, stamps_s(extra))


def stamps_s(extra: Sequence[tuple[int, int, bytes]]) -> list[float]:
    """Return when a packet arrived, in s since the epoch, of what recvmsg() gave with it; nothing without a stamp."""
    stamps = [struct.unpack("qq", data[:STAMP_BYTES]) for _, kind, data in extra if kind == SO_TIMESTAMPNS]
    return [seconds + nanoseconds / NS_PER_S for seconds, nanoseconds in stamps]


def read_packet(headers: bytes) -> tuple[str, Said]:
    """Return who sent a packet and what it says, by its first bytes from the IP header on."""
    if len(headers) < 28 or headers[0] >> 4 != 4 or headers[9] not in (socket.IPPROTO_TCP, socket.IPPROTO_UDP):
        return "", Said.NOTHING
    address = socket.inet_ntoa(headers[12:16])
    if headers[9] == socket.IPPROTO_UDP:
        return address, Said.ANSWER
    try:
        packet = TcpPacket(headers)
    except IndexError:
        return "", Said.NOTHING
    if packet.is_syn:
        return address, Said.COOKIE if packet.has_fastopen else Said.CONNECTED
    return address, Said.ANSWER if packet.data_bytes > 0 else Said.NOTHING
