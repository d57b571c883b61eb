"""The six ways in which a page's connections begin: what TCP Fast Open was to save, and what took its place.

Each has a cost in round trips, from the start of a new connection to the first byte of the answer:

    tcp          TCP's handshake, TLS 1.3's, the request (RFC 9293, RFC 8446)            3
    tfo          the ClientHello travels in the SYN (RFC 7413)                           2
    early        the request travels beside the ClientHello (RFC 8446, section 2.3)      2
    tfo-early    ClientHello and request travel in the SYN                               1
    quic         one handshake for both (RFC 9000, RFC 9001)                             2
    quic-early   the request travels in the first datagrams (0-RTT)                      1
"""

from enum import Enum


class Transport(str, Enum):
    """How a load's connections begin; its value is what stands in records and in names of folders."""

    TCP = "tcp"
    TFO = "tfo"
    EARLY = "early"
    TFO_EARLY = "tfo-early"
    QUIC = "quic"
    QUIC_EARLY = "quic-early"

    @property
    def tfo(self) -> int:
        """Whether TCP Fast Open is on (1) or off (0) in the kernels."""
        return int(self in (Transport.TFO, Transport.TFO_EARLY))

    @property
    def early(self) -> bool:
        """Whether Chrome sends early data (0-RTT) where it can resume a session."""
        return self in (Transport.EARLY, Transport.TFO_EARLY, Transport.QUIC_EARLY)

    @property
    def quic(self) -> bool:
        """Whether Chrome speaks HTTP/3 over QUIC, over UDP, instead of HTTP/2 over TCP."""
        return self in (Transport.QUIC, Transport.QUIC_EARLY)

    @property
    def round_trips(self) -> int:
        """Round trips from the start of a connection to the first byte of the answer, over TLS 1.3."""
        return (2 if self.quic else 3) - self.tfo - self.early

    @property
    def words(self) -> str:
        """What it is called in tables and figures."""
        return _WORDS[self]


_WORDS = {
    Transport.TCP: "TCP + TLS 1.3", Transport.TFO: "TFO + TLS 1.3", Transport.EARLY: "TLS 1.3 early data",
    Transport.TFO_EARLY: "TFO + early data in the SYN", Transport.QUIC: "QUIC", Transport.QUIC_EARLY: "QUIC 0-RTT",
}


def of_tfo(tfo: int) -> Transport:
    """Return what an experiment that compares TFO off (0) and on (1) measures."""
    return Transport.TFO if tfo else Transport.TCP
