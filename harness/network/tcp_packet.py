"""A TCP packet over IPv4 as bytes, and how to take the Fast Open option or the data out of it (RFC 791, 9293, 7413)."""

from collections.abc import Iterator
from ipaddress import IPv4Address
from struct import pack, pack_into, unpack_from

END, NOTHING, FASTOPEN, EXPERIMENTAL = 0, 1, 34, 254
"""TCP options (RFC 9293, section 3.1); FASTOPEN asks for a cookie or brings one (RFC 7413, section 4.1.1)."""
EXPERIMENTAL_FASTOPEN = b"\xf9\x89"
"""The option before it had a number of its own: kind 254 and this (RFC 7413, appendix B; RFC 6994)."""
TOTAL_LENGTH_AT, IP_CHECKSUM_AT, DESTINATION_AT, ADDRESSES = 2, 10, 16, slice(12, 20)
TCP_LENGTH_AT, FLAGS_AT, TCP_CHECKSUM_AT, TCP_HEAD_BYTES = 12, 13, 16, 20
SYN = 0x02


class TcpPacket:
    """What can be seen of a packet's headers."""

    def __init__(self, packet: bytes) -> None:
        """Take the packet from its IP header on. Raises IndexError where TCP's flags are not there."""
        self._packet = packet
        self._ip_bytes = (packet[0] & 15) * 4
        self._tcp_bytes = (packet[self._ip_bytes + TCP_LENGTH_AT] >> 4) * 4
        self.is_syn = bool(packet[self._ip_bytes + FLAGS_AT] & SYN)

    @property
    def destination(self) -> IPv4Address:
        """To whom it goes."""
        return IPv4Address(self._packet[DESTINATION_AT:DESTINATION_AT + 4])

    @property
    def has_fastopen(self) -> bool:
        """Whether it asks for a cookie or brings one."""
        return bool(self._fastopen_options())

    @property
    def data_bytes(self) -> int:
        """How much data it carries."""
        total, = unpack_from("!H", self._packet, TOTAL_LENGTH_AT)
        return int(total) - self._ip_bytes - self._tcp_bytes

    def without_fastopen(self) -> bytes:
        """Return it with NOPs in the place of the option; its data stays."""
        packet = bytearray(self._packet)
        for start, end in self._fastopen_options():
            packet[start:end] = bytes([NOTHING]) * (end - start)
        return self._summed(packet)

    def without_data(self) -> bytes:
        """Return its headers only."""
        packet = bytearray(self._packet[:self._ip_bytes + self._tcp_bytes])
        pack_into("!H", packet, TOTAL_LENGTH_AT, len(packet))
        return self._summed(packet)

    def _fastopen_options(self) -> list[tuple[int, int]]:
        """Return where each Fast Open option begins and ends."""
        first = self._ip_bytes + TCP_HEAD_BYTES
        options = self._packet[first:self._ip_bytes + self._tcp_bytes]
        return [(first + start, first + end) for kind, start, end in tcp_options(options) if kind == FASTOPEN or (
            kind == EXPERIMENTAL and options[start + 2:start + 4] == EXPERIMENTAL_FASTOPEN)]

    def _summed(self, packet: bytearray) -> bytes:
        """Return the packet with the checksums that its bytes ask for."""
        tcp = self._ip_bytes + TCP_CHECKSUM_AT
        packet[IP_CHECKSUM_AT:IP_CHECKSUM_AT + 2] = packet[tcp:tcp + 2] = b"\0\0"
        packet[IP_CHECKSUM_AT:IP_CHECKSUM_AT + 2] = checksum(packet[:self._ip_bytes])
        segment = packet[self._ip_bytes:]
        packet[tcp:tcp + 2] = checksum(packet[ADDRESSES] + pack("!BBH", 0, 6, len(segment)) + segment)
        return bytes(packet)


def tcp_options(options: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield kind, begin and end of each of a TCP header's options (RFC 9293, section 3.1); as far as they are there."""
    place, end = 0, len(options)
    while place < end and options[place] != END:
        length = 1 if options[place] == NOTHING else options[place + 1] if place + 1 < end else 0
        yield options[place], place, min(place + length, end)
        if length < 1:
            return
        place += length


def checksum(words: bytes | bytearray) -> bytes:
    """Return the Internet checksum (RFC 1071) of these bytes: of a sum in ones' complement, so modulo 0xFFFF."""
    padded = bytes(words) + bytes(len(words) % 2)
    return pack("!H", -sum(unpack_from(f"!{len(padded) // 2}H", padded)) % 0xFFFF)
