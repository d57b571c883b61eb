"""Asks a server over HTTP/3, with aioquic's client, which Python 3.10 does not have as it is needed here."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import QuicEvent
from aioquic.tls import SessionTicket

LIMIT_S = 60.0
DATAGRAM, STREAM_WINDOW, WINDOW = 1472, 6 * 2**20, 15 * 2**20
"""Bytes, as Chrome has them: no answer here waits for a window."""


@dataclass(frozen=True)
class Http3:
    """Visits `site` at an address, trusting `ca`. With `resumes` each visit but the first takes up the first's session.

    `asks` are the requests' fields besides those of HTTP/3.
    """

    site: str
    address: str
    port: int
    ca: Path
    asks: Sequence[tuple[str, str]]
    resumes: bool = False
    tickets: list[SessionTicket] = field(default_factory=list)

    def visit(self, paths: Sequence[str]) -> int:
        """Ask for all at once over a new connection; return the bytes of the bodies that came. Raises TimeoutError."""
        return asyncio.run(asyncio.wait_for(self._visit(paths), LIMIT_S))

    async def _visit(self, paths: Sequence[str]) -> int:
        configuration = QuicConfiguration(
            alpn_protocols=H3_ALPN, server_name=self.site, cafile=str(self.ca), max_datagram_size=DATAGRAM,
            max_stream_data=STREAM_WINDOW, max_data=WINDOW,
            session_ticket=self.tickets[0] if self.resumes and self.tickets else None)
        async with connect(self.address, self.port, configuration=configuration, create_protocol=_Client,
                           session_ticket_handler=self.tickets.append) as client:
            assert isinstance(client, _Client)
            client.ask([[(":method", "GET"), (":scheme", "https"), (":authority", self.site), (":path", path),
                         *self.asks] for path in paths])
            await client.done.wait()
            while not self.tickets:
                await asyncio.sleep(0.01)
            return client.came


class _Client(QuicConnectionProtocol):
    def __init__(self, quic: QuicConnection, stream_handler: None = None) -> None:
        super().__init__(quic, stream_handler)
        self._http, self._left, self.came, self.done = H3Connection(quic), 0, 0, asyncio.Event()

    def ask(self, requests: Sequence[Sequence[tuple[str, str]]]) -> None:
        self._left = len(requests)
        for fields in requests:
            self._http.send_headers(self._quic.get_next_available_stream_id(),
                                    [(name.encode(), value.encode()) for name, value in fields], end_stream=True)
        self.transmit()

    def quic_event_received(self, event: QuicEvent) -> None:
        for got in self._http.handle_event(event):
            self.came += len(got.data) if isinstance(got, DataReceived) else 0
            self._left -= isinstance(got, (DataReceived, HeadersReceived)) and got.stream_ended
            if not self._left:
                self.done.set()
