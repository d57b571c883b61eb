"""The six ways in which a page's connections begin: what TCP Fast Open was to save, and what took its place.

Each has a cost in round trips, from the start of a new connection to the first byte of the answer:

    TCP           TCP's handshake, TLS 1.3's, the request (RFC 9293, RFC 8446)            3
    TFO           the ClientHello travels in the SYN (RFC 7413)                           2
    EARLY         the request travels beside the ClientHello (RFC 8446, section 2.3)      2
    TFO_EARLY     ClientHello and request travel in the SYN                               1
    QUIC          one handshake for both (RFC 9000, RFC 9001)                             2
    QUIC_EARLY    the request travels in the first datagrams (0-RTT)                      1
"""

from enum import IntEnum

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
