"""A connection that speaks HTTP/2 (RFC 9113): many requests at once, answered from the recording by one thread.

The h2 package reads frames and keeps what HTTP/2 remembers of each stream; here is what it leaves open: which answer's
bytes go next, and when. Heads and bodies are put into frames here, and h2 is told what they change: it took half of the
time of an answer for that (benchmarks/streams.py of dad5ab0).

Browsers say how urgent each answer is (RFC 9218): style sheets before images. What lies in the kernel's send buffer can
no longer be overtaken. nginx and Apache fill it as far as the kernel lets them, and so do we; Cloudflare and h2o hand
over only a little at a time (TCP_NOTSENT_LOWAT), and where one of them was recorded we do.
"""

import socket
from collections.abc import Sequence

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import ConnectionTerminated, DataReceived, Event, RequestReceived, StreamEnded, StreamReset
from h2.exceptions import ProtocolError
from h2.stream import H2Stream, StreamInputs

from harness.mirror.asked import BodyHasher
from harness.replay.answering import AT_ONCE, UNSENT, Answering
from harness.replay.connection import LARGEST_UPLOAD, Accepted
from harness.replay.heads import (
    DATA,
    END_STREAM,
    Field,
    HeadDecoder,
    HeadEncoder,
    frame,
    head_frames,
)
from harness.replay.match import Request
from harness.replay.site import Site
from harness.replay.streams import FRAME, early_hints_of, head_of, request_of
from harness.replay.turns import Outgoing

BUFFER = 32 * 1024
"""Bytes of a body that nginx reads from a file and sends before it reads more (output_buffers): a TLS record ends with
them. Chrome's media player reads as many at a time, and would wait for one record more."""
UPLOAD_WINDOW = 2**31 - 1 - 65_535
"""Bytes that a client may send beyond the protocol's first 64 kB without waiting for a word, over a connection and,
once its request is here, over its stream. So nginx 1.22 has it (Apache 2.4 only for the connection): else a large POST
would take a round trip for each 64 kB."""


class Http2Connection(Answering):
    """Serves one connection to its end."""

    read_bytes = 2 * 1024

    def __init__(self, accepted: Accepted) -> None:
        super().__init__(accepted)
        # What we send is known to be right (harness.mirror.headers), and what a browser asks is taken as it is: to look
        # each header over, both ways, took h2 a third of its time for an answer.
        self._h2 = H2Connection(H2Configuration(
            client_side=False, header_encoding=None, validate_outbound_headers=False, normalize_outbound_headers=False,
            validate_inbound_headers=False, normalize_inbound_headers=False))
        self._heads = HeadEncoder()
        self._h2.decoder = HeadDecoder()    # type: ignore[assignment]
        self._h2.encoder = self._heads      # type: ignore[assignment]  # h2 tells it how large a table the client has
        self._coming: dict[int, Sequence[Field]] = {}
        """Requests that have not ended, by stream: their headers."""
        self._uploaded: dict[int, int] = {}
        self._hashers: dict[int, BodyHasher] = {}
        self._streams: dict[int, H2Stream] = {}
        """What h2 remembers of the streams that are answered: their state and how much their client takes."""

    def serve(self) -> None:
        """Answer requests until the client leaves, or is silent for too long.

        It leaves with a GOAWAY, too: browsers send none while they wait for answers, and h2 sends nothing after it.
        """
        if self._accepted.endpoint.sites.first.keeps_little_unsent:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT)
        self._h2.initiate_connection()
        self._h2.increment_flow_control_window(UPLOAD_WINDOW)
        super().serve()

    def _received(self, data: bytes) -> bool:
        """Take what came. If the connection is over by an error, h2 has written what to say."""
        try:
            events = self._h2.receive_data(data)
        except ProtocolError:
            return False
        if any(isinstance(event, ConnectionTerminated) for event in events):
            return False
        events = self._take_resets(events)
        for place in range(0, len(events), AT_ONCE):
            if place:
                self._fill()
                self._write()
            for event in events[place:place + AT_ONCE]:
                self._take(event)
        return True

    def _take_resets(self, events: Sequence[Event]) -> list[Event]:
        """Take the resets of streams, and return what is left to be taken.

        h2 has closed these streams already, and whatever was sent on one would end the connection: so what came before
        the reset asks for nothing any more. Only bodies count, since the connection's flow control counts them.
        """
        over = set()
        for event in events:
            if isinstance(event, StreamReset):
                self._take(event)
                over.add(event.stream_id)
        return [event for event in events
                if isinstance(event, DataReceived) or getattr(event, "stream_id", None) not in over]

    def _take(self, event: Event) -> None:
        if isinstance(event, RequestReceived):
            self._coming[event.stream_id] = event.headers
            if event.stream_ended is None:
                self._h2.increment_flow_control_window(UPLOAD_WINDOW, event.stream_id)
        elif isinstance(event, DataReceived):
            self._take_body(event)
        elif isinstance(event, StreamEnded):
            self._take_end(event.stream_id)
        elif isinstance(event, StreamReset):
            self._coming.pop(event.stream_id, None)
            self._asked.pop(event.stream_id, None)
            self._streams.pop(event.stream_id, None)
            self._hashers.pop(event.stream_id, None)
            if event.stream_id in self._answers:
                self._finish(self._answers[event.stream_id])

    def _take_body(self, event: DataReceived) -> None:
        """Take a piece of a request's body, and let the client send the next."""
        stream = event.stream_id
        self._uploaded[stream] = self._uploaded.get(stream, 0) + len(event.data)
        self._hashers.setdefault(stream, BodyHasher()).update(event.data)
        self._h2.acknowledge_received_data(event.flow_controlled_length, stream)
        if self._uploaded[stream] > LARGEST_UPLOAD and stream in self._coming:
            del self._coming[stream]
            self._h2.reset_stream(stream, ErrorCodes.ENHANCE_YOUR_CALM)

    def _take_end(self, stream: int) -> None:
        """Take the end of a request."""
        self._uploaded.pop(stream, None)
        hasher, came = self._hashers.pop(stream, None), self._coming.pop(stream, None)
        if came is None:
            return
        self._ask(stream, *request_of(self._accepted, came, hasher))

    def _ask(self, stream: int, site: Site, request: Request) -> None:
        self._streams[stream] = self._h2.streams[stream]
        super()._ask(stream, site, request)

    def _write_hints(self, answer: Outgoing) -> None:
        self._streams[answer.stream].state_machine.process_input(StreamInputs.SEND_INFORMATIONAL_HEADERS)
        self._put_head(answer.stream, early_hints_of(answer.reply))

    def _write_head(self, answer: Outgoing) -> None:
        self._streams[answer.stream].state_machine.process_input(StreamInputs.SEND_HEADERS)
        self._put_head(answer.stream, head_of(answer.reply), answer.reply.head_bytes, ends=answer.is_only_head)
        self._note_end(answer, ends=answer.is_only_head)
        if answer.left > FRAME and answer.number == 1:      # a record of its own, in which nginx acknowledges SETTINGS
            self._write()

    def _put_head(self, stream: int, fields: list[Field], size: int = 0, *, ends: bool = False) -> None:
        """Send a head after what h2 has to say: that a client's new table is taken comes before what is put into it."""
        self._unsent += self._h2.data_to_send()
        self._unsent += head_frames(stream, self._heads.encode(fields, size), ends=ends, size=size)

    def _fill(self) -> None:
        self._unsent += self._h2.data_to_send()
        super()._fill()

    def _room(self, answer: Outgoing) -> int:
        """Flow control counts a stream's bytes and the connection's."""
        # A client that lowers INITIAL_WINDOW_SIZE makes windows that are less than nothing (RFC 9113, section 6.9.2).
        return min(self._streams[answer.stream].outbound_flow_control_window,
                   self._h2.outbound_flow_control_window, FRAME, BUFFER - answer.sent % BUFFER)

    def _write_piece(self, answer: Outgoing, piece: bytes) -> None:
        self._unsent += frame(answer.stream, DATA, END_STREAM if answer.is_last_piece else 0, piece)
        self._h2.outbound_flow_control_window -= len(piece)
        self._streams[answer.stream].outbound_flow_control_window -= len(piece)
        self._note_end(answer, ends=answer.is_last_piece)

    def _note_end(self, answer: Outgoing, *, ends: bool) -> None:
        if ends:
            self._streams[answer.stream].state_machine.process_input(StreamInputs.SEND_END_STREAM)

    def _break_off(self, answer: Outgoing) -> None:
        self._h2.reset_stream(answer.stream, ErrorCodes.INTERNAL_ERROR)
        self._unsent += self._h2.data_to_send()

    def _finish(self, answer: Outgoing) -> None:
        self._streams.pop(answer.stream, None)
        super()._finish(answer)
