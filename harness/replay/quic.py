"""A port where QUIC is spoken (RFC 9000), over UDP beside the TCP port of the same number: one thread with aioquic.

So that a comparison with TCP tells what the handshakes do, and nothing else, it sends as Linux's TCP does: packets as
large as the link takes, CUBIC, an initial window of ten packets, and without pacing (RFC 9002, section 7.7, wants it,
or a limit for bursts; 100 kB take 524 ms with aioquic's at a round trip of 100 ms, 415 ms without it and over HTTP/2).

Python 3.10 has only aioquic 1.3, which knows no duplicates and takes each probe for congestion: it has no QUIC here.
"""

import asyncio
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from aioquic.asyncio.server import QuicServer
from aioquic.h3.connection import H3_ALPN
from aioquic.quic.configuration import QuicConfiguration
from aioquic.tls import SessionTicket, load_pem_private_key, load_pem_x509_certificates

from harness.replay.connection import IDLE_LIMIT_S, LARGEST_UPLOAD, Connection
from harness.replay.http3 import Http3Connection

DATAGRAM = 1472
"""Bytes of UDP's payload that fill a packet of 1,500 over IPv4: what Chrome takes, too (max_udp_payload_size)."""
INITIAL_RTT_S = 0.333
"""What a round trip is taken for before one was measured (RFC 9002, section 6.2.2): probes begin after twice that.
aioquic's own 0.1 s would send each first flight twice where a round trip takes 200 ms."""
MOST_TICKETS = 256
"""Sessions that can be taken up again, the latest; those of earlier loads nobody has any more."""


@dataclass(frozen=True, eq=False)
class QuicPort:
    """A bound socket, and a server's certificate with its key, as PEM."""

    socket: socket.socket
    configuration: QuicConfiguration

    def start(self, connect: Callable[[], Connection], *, early: Callable[[], bool]) -> None:
        """Serve in a thread until the process ends. `connect` makes what is noted of a new connection.

        `early` says whether a client may send early data (0-RTT) when it takes up the session that is made now.
        """
        tickets: dict[bytes, SessionTicket] = {}
        """Which a client may use as often as it likes, as nginx's."""

        def keep(ticket: SessionTicket) -> None:
            tickets[ticket.ticket] = ticket
            while len(tickets) > MOST_TICKETS:
                del tickets[next(iter(tickets))]

        server = partial(QuicServer, configuration=self.configuration, session_ticket_fetcher=tickets.get,
                         session_ticket_handler=keep,
                         create_protocol=partial(Http3Connection, connect=connect, early=early))

        async def serve() -> None:
            await asyncio.get_running_loop().create_datagram_endpoint(server, sock=self.socket)
            await asyncio.Event().wait()

        threading.Thread(target=asyncio.run, args=(serve(),), daemon=True).start()


def configuration_of(pems: bytes) -> QuicConfiguration:
    """Return how a server speaks that has this key and chain of certificates, in PEM, the key first."""
    at = pems.index(b"-----BEGIN CERTIFICATE")
    own, *others = load_pem_x509_certificates(pems[at:])
    return QuicConfiguration(
        is_client=False, alpn_protocols=H3_ALPN, certificate=own, certificate_chain=others,
        private_key=load_pem_private_key(pems[:at]), max_datagram_size=DATAGRAM, congestion_control_algorithm="cubic",
        initial_rtt=INITIAL_RTT_S, idle_timeout=IDLE_LIMIT_S, max_data=LARGEST_UPLOAD, max_stream_data=LARGEST_UPLOAD)
