"""Packets made for tests."""

from socket import inet_aton
from struct import pack

SERVER, USER = "10.0.0.7", "10.0.0.1"
SYN, ACK = 0x02, 0x10
COOKIE = pack("!BB8s", 34, 10, b"cookie..")
"""The TCP option of RFC 7413 with a cookie of 8 bytes."""


def packet(payload: bytes = b"", flags: int = ACK, protocol: int = 6, options: bytes = b"") -> bytes:
    """Return an IPv4 packet (RFC 791) of SERVER's with a TCP segment (RFC 9293), without checksums.

    Its options are padded by NOPs.
    """
    options += b"\x01" * (-len(options) % 4)
    tcp = pack("!HHIIBBHHH", 8000, 40000, 1, 0, (20 + len(options)) // 4 << 4, flags, 65535, 0, 0) + options + payload
    ip = pack("!BBHHHBBH", 0x45, 0, 20 + len(tcp), 7, 0, 64, protocol, 0) + inet_aton(SERVER) + inet_aton(USER)
    return ip + tcp
