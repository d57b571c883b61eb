"""What lies where in Chrome's own file: for what Chrome 156 has no switch and no policy, and the preloaded shim does.

**Its ClientHello** has to be made smaller for an experiment with TCP Fast Open. A SYN carries what fits into one
packet: 1420 bytes at most, of the server's MSS of 1460. Today's ClientHello holds a post-quantum key share
(X25519MLKEM768, 1216 bytes) and has 1920 to 1990. Its end waits for the SYN-ACK, the server can answer only then, and
TFO saves nothing (measured at an RTT of 100 ms, three connections in a row: 1.11 s with and without). So the shim
replaces the table of key exchange groups in Chrome's memory by one without post-quantum groups, as it was before Chrome
124: 740 bytes, which a SYN carries (1.14 s without, 0.87 s with TFO).

**How many connections it opens to one host**: over HTTP/1 six (RFC 9112, section 9.4, leaves the number to the client).
"""

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path

from harness.system.options import Whole


def find_once(binary: str | Path, content: bytes) -> int | None:
    """Return where `content` stands in the file, in bytes from its start; None when it is not there exactly once.

    Raises OSError.
    """
    with Path(binary).open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as whole:
        first = whole.find(content)
        return first if first >= 0 and whole.find(content, first + 1) < 0 else None


GROUPS = bytes.fromhex("ec110100 1d000100 17000000 18000000")
"""kDefaultSSLSupportedGroups in Chromium's net/ssl/ssl_config_service.cc, as it lies in the file: X25519MLKEM768 and
X25519 with their keys, P-256, P-384 (IANA's numbers of TLS supported groups, little-endian)."""


CHROMES_OWN = 6
PER_HOST = Whole(1, 255)
"""What may be asked for: Chrome opens 256 connections at most to all hosts together."""
SOCKET_LIMITS = struct.pack("<4q", 256, 256, CHROMES_OWN, 255)
"""As they lie in the file of Chromium 156 (net/socket/client_socket_pool_manager.cc): sockets for all hosts together,
of pages and of WebSockets, then for one host, of pages and of WebSockets."""


@dataclass(frozen=True)
class ConnectionLimit:
    """So many connections `per_host`; `place` is where Chrome's own limits stand in its file."""

    per_host: int
    place: int
