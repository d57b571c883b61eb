"""The rate of user's link and the room before it, each way, as a burst of packets finds them.

More packets than the buffer holds are sent at once. They arrive one after the other, as fast as the link is, and those
that found no room never do: how fast and how many tells both. What goes down is sent from the switch's own port: from
a server packets would come no faster than its link lets them, and meanwhile the buffer would empty. When each arrived
is the kernel's word: the first are read only when the last has been sent, and where that takes a while, as on a busy
machine, the link would look faster than it is.
"""

import errno
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace

from harness.errors import ExperimentError
from harness.network.arrivals import ETH_P_IP, STAMP_BYTES, stamps_s, wait_for_stamps
from harness.network.star import Host, LinkSpeeds, Star
from harness.network.syn import checksum
from harness.system.delay_queue import SO_TIMESTAMPNS
from harness.system.namespaces import inside

TOLERANCE_RATIO = 0.05
"""How far a measured rate or buffer may be off the wanted one."""
ROUNDING_KB = 1.5
"""A buffer holds whole packets."""
PACKET_BYTES, ETHERNET_BYTES, IP_BYTES = 1442, 14, 20
"""Bytes of a burst's packet as the queues count it, and of its first headers among them."""
TOO_MANY = 1.5
"""A burst has so many times the bytes that the buffer holds."""
FEWEST = 60
"""Packets that show a rate where no buffer was asked for; all of them find room in a queue of 1000."""
SEND_BUFFER_BYTES = 2**25
"""Room for a whole burst at either socket: 32 MiB."""
SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33
"""asm-generic/socket.h; Python has no names for them."""
SILENCE_S = 1.5
"""Nothing for so long: that was all. A full packet takes 0.12 s at the slowest rate, and the first one a round trip, of
under 1 s (harness.system.tcp, SYN_AGAIN_MS)."""
PORT = 9
"""The port of the discard protocol (RFC 863), bound by the receiver alone."""


@dataclass(frozen=True)
class Transfer:
    """What came of a burst: the rate in Mbit/s and the bytes that found room, headers included.

    Those that the link carried while the burst was sent are left out.
    """

    rate_mbit: float
    bytes: int


def check_home_link(star: Star, speeds: LinkSpeeds) -> str:
    """Send a burst between user and a server each way in which user's link is narrow; return in words what was found.

    The other way packets queue before the servers' links, and nothing tells what user's is like. Raises
    ExperimentError when a rate or a buffer is off by more than 5%, three times: a moment's work of another program
    makes what came last look late.
    """
    server = next(iter(star.servers.values()))
    port = replace(server, interface=star.user.port, pid=star.switch_pid)
    packets = max(FEWEST, round(TOO_MANY * (speeds.buffer_kb or 0) * 1000 / PACKET_BYTES))
    found = []
    for way, sender, receiver, rate_mbit in (("down", port, star.user, speeds.bw_home_mbit),
                                             ("up", star.user, server, speeds.up_mbit)):
        if rate_mbit >= speeds.bw_net_mbit:
            found.append(f"{way} wider than the servers', which fill up first")
            continue
        for last in (False, False, True):
            transfer = burst(sender, receiver, packets)
            problems = [*_off(f"rate {way}", transfer.rate_mbit, rate_mbit, "Mbit/s"),
                        *_off(f"buffer {way}", transfer.bytes / 1000, speeds.buffer_kb, "kB", ROUNDING_KB)]
            if not problems:
                break
            if last:
                raise ExperimentError(f"user's link: {'; '.join(problems)}: nothing was measured; end other programs "
                                      "and try again")
        behind = "" if speeds.buffer_kb is None else f" behind {transfer.bytes / 1000:.0f} kB"
        found.append(f"{transfer.rate_mbit:.3g} Mbit/s {way}{behind} measured")
    return f"user's link: {', '.join(found)}"


def burst(sender: Host, receiver: Host, packets: int) -> Transfer:
    """Send `packets` at once by the interface of one host to another. Raises ExperimentError when hardly any arrive."""
    with ExitStack() as stack:
        with inside(receiver.pid):
            receiving = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            receiving.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
            wait_for_stamps()
            receiving.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, SEND_BUFFER_BYTES)
        with inside(sender.pid):
            sending = stack.enter_context(socket.socket(socket.AF_PACKET, socket.SOCK_RAW))     # receives nothing
            sending.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, SEND_BUFFER_BYTES)
        receiving.bind((receiver.address, PORT))
        receiving.settimeout(SILENCE_S)
        packet, began_s = _packet(sender, receiver), time.monotonic()
        for _ in range(packets):
            send_if_there_is_room(sending, packet, sender.interface)
        sent_in_s = time.monotonic() - began_s
        arrived_s = _arrivals_s(receiving)
    if len(arrived_s) < 2:
        raise ExperimentError(f"{sender.name}: of {packets} packets to {receiver.name} only {len(arrived_s)} arrived")
    rate_mbit = (len(arrived_s) - 1) * PACKET_BYTES * 8 / (arrived_s[-1] - arrived_s[0]) / 1e6
    return Transfer(rate_mbit, round(len(arrived_s) * PACKET_BYTES - rate_mbit * 1e6 / 8 * sent_in_s))


def send_if_there_is_room(sending: socket.socket, packet: bytes, interface: str) -> None:
    """Send a packet, or leave it where there is no room for it in the queue."""
    try:
        sending.sendto(packet, (interface, ETH_P_IP))
    except OSError as error:
        if error.errno != errno.ENOBUFS:
            raise


def _packet(sender: Host, receiver: Host) -> bytes:
    """Return a packet of a burst with its headers: Ethernet's, IP's (RFC 791), UDP's (RFC 768, without a checksum)."""
    ip_bytes, udp_bytes = PACKET_BYTES - ETHERNET_BYTES, PACKET_BYTES - ETHERNET_BYTES - IP_BYTES
    ip = struct.pack("!BxH4xBB2x4s4s", 0x45, ip_bytes, 64, socket.IPPROTO_UDP, socket.inet_aton(sender.address),
                     socket.inet_aton(receiver.address))
    ethernet = bytes.fromhex((receiver.mac + sender.mac).replace(":", "")) + struct.pack("!H", ETH_P_IP)
    udp = struct.pack("!HHHxx", PORT, PORT, udp_bytes)
    return (ethernet + ip[:10] + checksum(ip) + ip[12:] + udp).ljust(PACKET_BYTES, b"\0")


def _arrivals_s(receiving: socket.socket) -> list[float]:
    arrived_s: list[float] = []
    with suppress(TimeoutError):
        while True:
            _, extra, _, _ = receiving.recvmsg(PACKET_BYTES, socket.CMSG_SPACE(STAMP_BYTES))
            arrived_s += stamps_s(extra)
    return arrived_s


def _off(what: str, found: float, wanted: float | None, unit: str, rounding: float = 0.0) -> Iterator[str]:
    if wanted is not None and abs(found - wanted) > TOLERANCE_RATIO * wanted + rounding:
        yield f"{what} is {found:.3g} {unit}, not {wanted:g} +- {TOLERANCE_RATIO:.0%}"
