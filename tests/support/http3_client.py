"""Asks a replay server over HTTP/3, with aioquic's own client."""

import asyncio
import ssl
from typing import Any

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import HandshakeCompleted, QuicEvent, StreamReset
from aioquic.tls import SessionTicket

from tests.support.recording import HOST
from tests.support.replay_process import Running
from tests.support.secure_replay import Answer


class Visit(QuicConnectionProtocol):
    """One connection: its answers in the order of the requests, and the session that it left behind."""

    def __init__(self, quic: QuicConnection, stream_handler: None = None) -> None:
        super().__init__(quic, stream_handler)
        self.http = H3Connection(quic)
        self.answers: list[Answer] = []
        self.hints = 0
        """How many interim heads (103) came."""
        self.came: list[int] = []
        """How many bytes of all bodies had come when the first answer ended, the second, and so on."""
        self.tickets: list[SessionTicket] = []
        self.early = self.resumed = False
        self.open: dict[int, Answer] = {}
        self.done = asyncio.Event()
        self.leaves_after = 0

    def quic_event_received(self, event: QuicEvent) -> None:
        if isinstance(event, HandshakeCompleted):
            self.early, self.resumed = event.early_data_accepted, event.session_resumed
        if isinstance(event, StreamReset):
            self._ended(event.stream_id)
        for got in self.http.handle_event(event):
            if not isinstance(got, (HeadersReceived, DataReceived)) or got.stream_id not in self.open:
                continue
            answer = self.open[got.stream_id]
            if isinstance(got, HeadersReceived):
                self.hints += (b":status", b"103") in got.headers
                answer.headers = got.headers
            else:
                answer.body += got.data
            if 0 < self.leaves_after <= len(answer.body):
                self._quic.stop_stream(got.stream_id, 0x10c)
                self._ended(got.stream_id)
            elif got.stream_ended:
                answer.ended = len(self.answers) - len(self.open)
                self.came.append(sum(len(each.body) for each in self.answers))
                self._ended(got.stream_id)

    def _ended(self, stream: int) -> None:
        self.open.pop(stream, None)
        if not self.open:
            self.done.set()

    def ask(self, path: str, method: str = "GET", *headers: tuple[str, str]) -> None:
        stream, body = self._quic.get_next_available_stream_id(), bytes(int(dict(headers).get("content-length", 0)))
        fields = [(":method", method), (":scheme", "https"), (":authority", HOST), (":path", path), *headers]
        self.http.send_headers(stream, [(name.encode(), value.encode()) for name, value in fields],
                               end_stream=not body)
        if body:
            self.http.send_data(stream, body, end_stream=True)
        self.open[stream] = Answer()
        self.answers.append(self.open[stream])


def ask_over_http3(server: Running, *asked: tuple[Any, ...], session: SessionTicket | None = None,
                   leaves_after: int = 0) -> Visit:
    """Ask for all of it at once over one connection: path, method ("GET" if none), headers.

    With a `session` in early data where that allows it. Where `leaves_after` is not 0 the client takes so many bytes of
    each answer, and no more.
    """
    configuration = QuicConfiguration(
        alpn_protocols=H3_ALPN, server_name=HOST, cafile=str(server.directory / "authority" / "ca.pem"),
        session_ticket=session, verify_mode=ssl.CERT_REQUIRED, max_datagram_size=1472,
        max_stream_data=6 * 2**20, max_data=15 * 2**20)       # Chrome's: no answer here waits for a window
    tickets: list[SessionTicket] = []

    async def visited() -> Visit:
        async with connect("127.0.0.1", server.tls_port, configuration=configuration, create_protocol=Visit,
                           session_ticket_handler=tickets.append, wait_connected=session is None) as visit:
            assert isinstance(visit, Visit)
            visit.tickets, visit.leaves_after = tickets, leaves_after
            for each in asked:
                visit.ask(*each)
            visit.transmit()
            if asked:
                await visit.done.wait()
            while not (tickets and visit.http.received_settings):
                await asyncio.sleep(0.01)
            return visit

    return asyncio.run(visited())
