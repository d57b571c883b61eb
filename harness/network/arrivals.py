"""When the servers' packets reached `user`, by the kernel's own clock: what Chrome reads late did not come late.

A packet socket on the interface of `user` keeps the first bytes of every packet that comes in, stamped by the kernel on
its arrival (packet(7), socket(7)). Nobody reads it while a page loads, so it takes no processor from the page.
"""

import socket
import struct
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field

from harness.network.star import Host
from harness.system.delay_queue import SO_TIMESTAMPNS
from harness.system.netns import inside

ETH_P_IP = 0x0800
SOL_PACKET, PACKET_STATISTICS = 263, 6
SO_RCVBUFFORCE = 33
"""linux/if_packet.h and asm-generic/socket.h; Python has no names for them."""
BUFFER_BYTES = 2**26
"""Room for a page of some 25 MB: the kernel counts a whole packet and its own bookkeeping, whatever is kept of it."""
HEADERS_BYTES = 120
"""The longest IP and TCP headers together (RFC 791, RFC 9293)."""
SYN = 0x02
NS_PER_S = 1_000_000_000


@dataclass
class Arrivals:
    """When something of a server's own came in, in s since the epoch: payload or a SYN-ACK, bare acknowledgements not.

    `at_s` by the server's address, in order. `lost`: the buffer was too small, so that they are not all of them.
    """

    at_s: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    lost: bool = False


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
        packets.bind((host.interface, ETH_P_IP))
    return packets


def _drain(packets: socket.socket, arrivals: Arrivals) -> None:
    room = socket.CMSG_SPACE(16)
    with suppress(BlockingIOError):
        while True:
            headers, extra, _, _ = packets.recvmsg(HEADERS_BYTES, room)
            address = sender(headers)
            if address:
                arrivals.at_s[address] += [_stamp_s(data) for _, kind, data in extra if kind == SO_TIMESTAMPNS]


def _stamp_s(data: bytes) -> float:
    seconds, nanoseconds = struct.unpack("qq", data[:16])
    return float(seconds + nanoseconds / NS_PER_S)


def sender(headers: bytes) -> str:
    """Return who sent a packet, if TCP payload or a SYN is in it, by its first bytes from the IP header on; else ""."""
    if len(headers) < 40 or headers[0] >> 4 != 4 or headers[9] != socket.IPPROTO_TCP:
        return ""
    ip_bytes, packet_bytes = (headers[0] & 0x0F) * 4, int.from_bytes(headers[2:4], "big")
    tcp = headers[ip_bytes:]
    if len(tcp) < 14:
        return ""
    payload_bytes = packet_bytes - ip_bytes - (tcp[12] >> 4) * 4
    return socket.inet_ntoa(headers[12:16]) if payload_bytes > 0 or tcp[13] & SYN else ""
