"""The six ways in which a page's connections begin: what TCP Fast Open was to save, and what took its place.

Each has a cost in round trips, from the start of a new connection to the first byte of the answer:

    TCP           TCP's handshake, TLS 1.3's, the request (RFC 9293, RFC 8446)            3
    TFO           the ClientHello travels in the SYN (RFC 7413)                           2
    EARLY         the request travels beside the ClientHello (RFC 8446, section 2.3)      2
    TFO_EARLY     ClientHello and request travel in the SYN                               1
    QUIC          one handshake for both (RFC 9000, RFC 9001)                             2
    QUIC_EARLY    the request travels in the first datagrams (0-RTT)                      1

Middleboxes that do not know TCP Fast Open, as they are typed: a kind, and the share of the paths they stand on.

    strip-option     cuts the option out of the SYN: no cookie is asked for, and data is not taken
    drop-option      drops SYNs with the option, with data or without
    drop-syn-data    drops SYNs with data
    trim-data        cuts the data off the SYN, and lets the handshake go on

Honda et al. (Is It Still Possible to Extend TCP?, IMC 2011) and others found each of them in the Internet.
"""

import argparse
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum

from harness.system.options import Decimal, plain, quoted

_EARLY, _QUIC = 2, 4


class Transport(IntEnum):
    """How a load's connections begin. TCP and TFO are 0 and 1, as TFO off and on have always been written."""

    TCP = 0
    TFO = 1
    EARLY = _EARLY
    TFO_EARLY = _EARLY + 1
    QUIC = _QUIC
    QUIC_EARLY = _QUIC + _EARLY

    @classmethod
    def of(cls, tfo: int, *, early: bool, quic: bool) -> "Transport":
        """Return the one of these; ValueError for TFO over QUIC, which has no SYN."""
        return cls(tfo + _EARLY * early + _QUIC * quic)

    @property
    def tfo(self) -> int:
        """Whether TCP Fast Open is on (1) or off (0) in the kernels."""
        return self & 1

    @property
    def early(self) -> bool:
        """Whether Chrome sends early data (0-RTT) where it can resume a session."""
        return bool(self & _EARLY)

    @property
    def quic(self) -> bool:
        """Whether Chrome speaks HTTP/3, over QUIC and UDP, instead of HTTP/2 over TCP."""
        return bool(self & _QUIC)

    @property
    def round_trips(self) -> int:
        """Round trips from the start of a new connection to the first byte of the answer, over TLS 1.3."""
        return (2 if self.quic else 3) - self.tfo - self.early

    @property
    def words(self) -> str:
        """What it is called in tables and figures."""
        return _WORDS[self]


_WORDS = ("TCP + TLS 1.3", "TFO + TLS 1.3", "TLS 1.3 early data", "TFO + early data in the SYN", "QUIC", "",
          "QUIC 0-RTT")

SHARE = Decimal(0.001, 1)


class Box(str, Enum):
    """What a middlebox does to a SYN."""

    STRIP_OPTION = "strip-option"
    DROP_OPTION = "drop-option"
    DROP_SYN_DATA = "drop-syn-data"
    TRIM_DATA = "trim-data"

    @property
    def drops(self) -> bool:
        """Whether a SYN that it touches is lost: the sender waits for a second (RFC 6298, section 2.1)."""
        return self in (Box.DROP_OPTION, Box.DROP_SYN_DATA)


@dataclass(frozen=True)
class Middlebox:
    """A kind of box on a share of the paths."""

    box: Box
    share: float = 1.0

    def __str__(self) -> str:
        return self.box.value if self.share == 1 else f"{self.box.value}:{plain(self.share)}"

    def on_paths_to(self, servers: Sequence[str], seed: int) -> list[str]:
        """Return the servers that it stands before: the share of them, rounded up, that `seed` chooses."""
        count = math.ceil(self.share * len(servers) - 1e-9)
        return sorted(random.Random(seed).sample(sorted(servers), count))


def read_middlebox(text: str) -> Middlebox:
    """Read ``drop-syn-data`` or, on a tenth of the paths, ``drop-syn-data:0.1``. Raises argparse.ArgumentTypeError."""
    kind, colon, share = text.partition(":")
    try:
        return Middlebox(Box(kind), SHARE(share) if colon else 1.0)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{quoted(kind)} is no middlebox: {', '.join(box.value for box in Box)}") \
            from None


def middlebox_in_words(text: str) -> str:
    """Return what was typed in the one form that it has. Raises argparse.ArgumentTypeError."""
    return str(read_middlebox(text))
