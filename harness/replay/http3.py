"""A connection that speaks HTTP/3 (RFC 9114): many requests at once, answered from the recording by its port's thread.

aioquic speaks QUIC and HTTP/3; here is what it leaves open: which answer's bytes go next, and when. It takes whatever
it is given and sends all answers in turns, so it is given no more than it may send now. The most urgent answer's bytes
are always next (RFC 9218), as over HTTP/2.

A port where QUIC is spoken (RFC 9000), over UDP beside the TCP port of the same number: one thread with aioquic.

So that a comparison with TCP tells what the handshakes do, and nothing else, it sends as Linux's TCP does: packets as
large as the link takes, CUBIC, an initial window of ten packets, and without pacing (RFC 9002, section 7.7, wants it,
or a limit for bursts; 100 kB take 524 ms with aioquic's at a round trip of 100 ms, 415 ms without it and over HTTP/2).

Python 3.10 has only aioquic 1.3, which knows no duplicates and takes each probe for congestion: it has no QUIC here.
"""

import asyncio
import os
import socket
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from aioquic._buffer import Buffer
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.asyncio.server import QuicServer
from aioquic.h3.connection import H3_ALPN, H3Connection, Setting
from aioquic.h3.events import DataReceived, H3Event, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import (
    ConnectionTerminated,
    HandshakeCompleted,
    ProtocolNegotiated,
    QuicEvent,
    StopSendingReceived,
    StreamReset,
)
from aioquic.quic.recovery import QuicPacketPacer
from aioquic.tls import SessionTicket, load_pem_private_key, load_pem_x509_certificates, push_new_session_ticket

from harness.files.exchange import H3
from harness.files.server_log import Early
from harness.replay.answering import FRAME, Streams
from harness.replay.connection import IDLE_LIMIT_S, LARGEST_HEAD, Connection
from harness.replay.heads import Field
from harness.replay.turns import Outgoing

TICKET_BYTES = 64


class _Http3(H3Connection):
    """What aioquic makes of a connection's streams."""

    def _get_local_settings(self) -> dict[int, int]:
        """Offer no WebSockets (RFC 9220): Chrome opens a TCP connection for each, as to most sites."""
        settings = super()._get_local_settings()
        del settings[Setting.ENABLE_CONNECT_PROTOCOL]
        return settings


class Http3Connection(QuicConnectionProtocol, Streams):
    """Serves one connection to its end."""

    _http: _Http3
    """Once it is known that HTTP/3 is spoken."""

    def __init__(self, quic: QuicConnection, stream_handler: None = None, *, connect: Callable[[], Connection]) -> None:
        super().__init__(quic, stream_handler)
        Streams.__init__(self, connect())
        self._handshaken = False
        self._link = _Link(quic)

    def quic_event_received(self, event: QuicEvent) -> None:
        """Take what happened; aioquic calls it, and sends what there is to be sent afterwards."""
        connection = self._connection
        if isinstance(event, ProtocolNegotiated):
            self._http = _Http3(self._quic)
            connection.protocol, connection.resumed = H3, self._link.begin(early=connection.may_be_early)
        elif isinstance(event, HandshakeCompleted):
            self._handshaken = True
        elif isinstance(event, (StreamReset, StopSendingReceived)):
            self._forget(event.stream_id)
        elif isinstance(event, ConnectionTerminated):
            self._finish_all()
        if connection.protocol == H3:
            for each in self._http.handle_event(event):
                self._take(each)

    def transmit(self) -> None:
        """Decide what goes next, and send it."""
        self._fill()
        super().transmit()

    def _take(self, event: H3Event) -> None:
        if isinstance(event, HeadersReceived):
            if sum(len(name) + len(value) for name, value in event.headers) <= LARGEST_HEAD:
                self._begin(event.stream_id, [(name.decode("latin-1"), value.decode("latin-1"))
                                              for name, value in event.headers])
        elif isinstance(event, DataReceived) and event.stream_id in self._coming:
            self._coming[event.stream_id].take(event.data)
        if isinstance(event, (HeadersReceived, DataReceived)) and event.stream_ended:
            self._end(event.stream_id, Early.NO if self._handshaken else Early.DATA)

    def _wake(self, at_s: float, stream: int) -> None:
        self._loop.call_at(at_s, self._go_on, stream)

    def _go_on(self, stream: int) -> None:
        self._go_on_with(stream)
        self.transmit()

    def _send_head(self, stream: int, fields: list[Field], *, ends: bool = False) -> None:
        head = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in fields]
        self._http.send_headers(stream, head, end_stream=ends)

    def _takes_more(self) -> bool:
        return self._link.room() > 0

    def _room(self, answer: Outgoing) -> int:
        return min(self._link.room(), FRAME, self._link.window(answer.stream))

    def _write_piece(self, answer: Outgoing, piece: bytes) -> None:
        self._http.send_data(answer.stream, piece, end_stream=answer.is_over)


class _Unpaced(QuicPacketPacer):
    """Lets every packet go at once."""

    def update_rate(self, congestion_window: int, smoothed_rtt: float) -> None:
        """Set no rate."""


class _Link:
    """What aioquic keeps to itself about a connection. requirements/run.txt pins its version: this is 1.7's."""

    def __init__(self, quic: QuicConnection) -> None:
        self._quic = quic
        quic._loss._pacer = _Unpaced(max_datagram_size=quic.configuration.max_datagram_size)

    def begin(self, *, early: bool) -> bool:
        """Take note of the ClientHello, before anything is answered; say whether it took up an earlier session.

        Its address counts then as validated, as by a token of that session (RFC 9000, section 8.1.3), which aioquic
        does not give: else an answer of more than three times what came would wait for a round trip more. Without
        `early` the session that is made now can be taken up without early data only.
        """
        resumed = self._quic.tls.session_resumed
        if resumed:
            self._quic._network_paths[0].is_validated = True
        tls = self._quic.tls
        if not early:
            tls._max_early_data = None
        handle_finished = tls._server_handle_finished

        def with_another_ticket(finished: Buffer, answer: Buffer) -> None:
            """Give two tickets, as OpenSSL does: Chrome keeps those of a host's last connection only, for two."""
            handle_finished(finished, answer)
            if tls._new_session_ticket is not None and tls.new_session_ticket_cb is not None:
                another = replace(tls._new_session_ticket, ticket_nonce=b"2", ticket=os.urandom(TICKET_BYTES))
                push_new_session_ticket(answer, another)
                tls.new_session_ticket_cb(tls._build_session_ticket(another, tls.handshake_extensions))

        tls._server_handle_finished = with_another_ticket      # type: ignore[method-assign, assignment]
        return resumed

    def room(self) -> int:
        """Return how many bytes may be given to QUIC: what the congestion window has left, or a whole packet where that
        is little, less what it has not sent yet.
        """
        loss = self._quic._loss
        left = loss.congestion_window - loss.bytes_in_flight
        return max(left, self._quic.configuration.max_datagram_size) - self._unsent()

    def window(self, stream: int) -> int:
        """Return how many bytes the client takes now; flow control counts a stream's and the connection's."""
        state = self._quic._streams.get(stream)
        if state is None:
            return 0
        of_all = self._quic._remote_max_data - self._quic._remote_max_data_used - self._unsent()
        return min(state.max_stream_data_remote - state.sender._buffer_stop, of_all)

    def _unsent(self) -> int:
        return sum(stream.sender._buffer_stop - stream.sender.highest_offset
                   for stream in self._quic._streams_queue if not stream.sender.buffer_is_empty)


DATAGRAM = 1472
"""Bytes of UDP's payload that fill a packet of 1,500 over IPv4: what Chrome takes, too (max_udp_payload_size)."""
INITIAL_RTT_S = 0.333
"""What a round trip is taken for before one was measured (RFC 9002, section 6.2.2): probes begin after twice that.
aioquic's own 0.1 s would send each first flight twice where a round trip takes 200 ms."""
UPLOAD_WINDOW = 16 * 1024 * 1024
"""Bytes that a client may send, on a stream and on all, before it is told that they came."""
MOST_TICKETS = 256
"""Sessions that can be taken up again, the latest; those of earlier loads nobody has any more."""


def serve_datagrams(bound: socket.socket, configuration: QuicConfiguration, connect: Callable[[], Connection]) -> None:
    """Serve over a socket in a thread until the process ends. `connect` makes what is noted of a new connection."""
    tickets: dict[bytes, SessionTicket] = {}
    """Which a client may use as often as it likes, as nginx's."""

    def keep(ticket: SessionTicket) -> None:
        tickets[ticket.ticket] = ticket
        while len(tickets) > MOST_TICKETS:
            del tickets[next(iter(tickets))]

    server = partial(QuicServer, configuration=configuration, session_ticket_fetcher=tickets.get,
                     session_ticket_handler=keep,
                     create_protocol=partial(Http3Connection, connect=connect))

    async def serve() -> None:
        await asyncio.get_running_loop().create_datagram_endpoint(server, sock=bound)
        await asyncio.Event().wait()

    threading.Thread(target=asyncio.run, args=(serve(),), daemon=True).start()


def configuration_of(pems: bytes) -> QuicConfiguration:
    """Return how a server speaks that has this key and chain of certificates, in PEM, the key first."""
    at = pems.index(b"-----BEGIN CERTIFICATE")
    own, *others = load_pem_x509_certificates(pems[at:])
    return QuicConfiguration(
        is_client=False, alpn_protocols=H3_ALPN, certificate=own, certificate_chain=others,
        private_key=load_pem_private_key(pems[:at]), max_datagram_size=DATAGRAM, congestion_control_algorithm="cubic",
        initial_rtt=INITIAL_RTT_S, idle_timeout=IDLE_LIMIT_S, max_data=UPLOAD_WINDOW, max_stream_data=UPLOAD_WINDOW)
