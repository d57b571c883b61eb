"""A connection that speaks HTTP/2 (RFC 9113): many requests at once, answered from the recording by one thread.

The h2 package reads frames and keeps what HTTP/2 remembers of each stream; here is what it leaves open: which answer's
bytes go next, and when. Heads and bodies are put into frames here, and h2 is told what they change: it took half of the
time of an answer for that (benchmarks/streams.py).

Browsers say how urgent each answer is (RFC 9218): style sheets before images. What lies in the kernel's send buffer can
no longer be overtaken. nginx and Apache fill it as far as the kernel lets them, and so do we; Cloudflare and h2o hand
over only a little at a time (TCP_NOTSENT_LOWAT), and where one of them was recorded we do.
"""

import heapq
import select
import socket
import ssl
import time
from collections.abc import Sequence
from contextlib import suppress

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import ConnectionTerminated, DataReceived, Event, RequestReceived, StreamEnded, StreamReset
from h2.exceptions import ProtocolError
from h2.stream import H2Stream, StreamInputs

from harness.mirror.asked import BodyHasher
from harness.replay.connection import LARGEST_UPLOAD, Accepted
from harness.replay.heads import (
    DATA,
    END_STREAM,
    Field,
    HeadDecoder,
    HeadEncoder,
    encoded_fields,
    frame,
    head_frames,
)
from harness.replay.streams import FRAME, Outgoing, answer_to

UNSENT = 32 * 1024
"""Bytes that wait for the kernel, at most, before the next answer's turn is decided; at some sites also in it."""
BUFFER = 32 * 1024
"""Bytes of a body that nginx reads from a file and sends before it reads more (output_buffers): a TLS record ends with
them. Chrome's media player reads as many at a time, and would wait for one record more."""
READ = 2 * 1024
"""Bytes that are read at a time."""
UPLOAD_WINDOW = 2**31 - 1 - 65_535
"""Bytes that a client may send beyond the protocol's first 64 kB without waiting for a word, over a connection and,
once its request is here, over its stream. So nginx 1.22 has it (Apache 2.4 only for the connection): else a large POST
would take a round trip for each 64 kB."""
AT_ONCE = 32
"""Events (two for a request), or requests that were held back, after which answers are sent. A browser asks for a
hundred small files within a few kB: the first answer would wait until all are worked out, 0.4 ms each."""

class Http2Connection:
    """Serves one connection to its end."""

    def __init__(self, accepted: Accepted) -> None:
        self._accepted = accepted
        self._socket = accepted.socket
        # What we send is known to be right (harness.mirror.headers), and what a browser asks is taken as it is: to look
        # each header over, both ways, took h2 a third of its time for an answer.
        self._h2 = H2Connection(H2Configuration(
            client_side=False, header_encoding=None, validate_outbound_headers=False, normalize_outbound_headers=False,
            validate_inbound_headers=False, normalize_inbound_headers=False))
        self._heads = HeadEncoder()
        self._h2.decoder = HeadDecoder()    # type: ignore[assignment]
        self._h2.encoder = self._heads      # type: ignore[assignment]  # h2 tells it how large a table the client has
        self._asked: dict[int, Sequence[Field]] = {}
        """Requests that have not ended, by stream: their headers."""
        self._uploaded: dict[int, int] = {}
        self._hashers: dict[int, BodyHasher] = {}
        self._answers: dict[int, Outgoing] = {}
        self._states: dict[int, H2Stream] = {}
        """What h2 remembers of their streams: their state, and how much their client takes."""
        self._turns: list[tuple[int, int, int]] = []
        """A heap of the ranks of those answers whose bodies are being sent; some may be over."""
        self._thinking: list[tuple[float, int]] = []
        """A heap of when the answers begin that the server thinks about, by time.monotonic(), and their streams."""
        self._timed: dict[int, Outgoing] = {}
        """Those answers that are sent in the times in which they came."""
        self._held: list[tuple[float, int]] = []
        """When each of the streams that are held back (harness.replay.held) is to be answered, by time.monotonic()."""
        self._unsent = bytearray()

    def serve(self) -> None:
        """Answer requests until the client leaves, or is silent for too long.

        It leaves with a GOAWAY, too: browsers send none while they wait for answers, and h2 sends nothing after it.
        """
        self._socket.setblocking(False)
        if self._accepted.endpoint.sites.first.keeps_little_unsent:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT)
        self._h2.initiate_connection()
        self._h2.increment_flow_control_window(UPLOAD_WINDOW)
        try:
            self._go_on()
        except OSError:    # the client left
            pass
        finally:
            if not self._accepted.requests:
                self._accepted.note_silent()
            for answer in list(self._answers.values()):
                self._finish(answer)

    def _go_on(self) -> None:
        poll = select.poll()
        deadline = time.monotonic() + self._accepted.idle_limit_s
        while True:
            self._answer_held()
            self._begin_what_is_due()
            self._fill()
            poll.register(self._socket, select.POLLIN | (select.POLLOUT if self._unsent else 0))
            left_ms = (deadline - time.monotonic()) * 1000
            ready = poll.poll(max(0.0, min(left_ms, self._next_timed_ms(), self._next_head_ms(), self._next_held_ms())))
            if not ready and time.monotonic() < deadline:
                continue
            if not ready:
                return
            if ready[0][1] & select.POLLOUT:
                self._write()
            if ready[0][1] & ~select.POLLOUT and not self._read():
                return
            deadline = time.monotonic() + self._accepted.idle_limit_s

    def _write(self) -> None:
        if not self._unsent:
            return
        with suppress(ssl.SSLWantWriteError, ssl.SSLWantReadError, BlockingIOError):
            del self._unsent[:self._socket.send(self._unsent)]

    def _read(self) -> bool:
        """Take what came; say whether the connection goes on. What TLS has decrypted is no longer seen by poll()."""
        with suppress(ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError):
            while data := self._socket.recv(READ):
                events = self._received(data)
                if events is None:
                    self._unsent += self._h2.data_to_send()
                    self._write()
                    return False
                events = self._take_resets(events)
                for place in range(0, len(events), AT_ONCE):
                    for event in events[place:place + AT_ONCE]:
                        self._take(event)
                    self._fill()
                    self._write()
            return False
        return True

    def _received(self, data: bytes) -> list[Event] | None:
        """Return what came, or None if the connection is over. If that is by an error, h2 has written what to say."""
        try:
            events = self._h2.receive_data(data)
        except ProtocolError:
            return None
        return None if any(isinstance(event, ConnectionTerminated) for event in events) else events

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
            self._asked[event.stream_id] = event.headers
            if event.stream_ended is None:
                self._h2.increment_flow_control_window(UPLOAD_WINDOW, event.stream_id)
        elif isinstance(event, DataReceived):
            self._take_body(event)
        elif isinstance(event, StreamEnded) and self._accepted.held.rtt_s:
            heapq.heappush(self._held, (self._accepted.held.due_s(time.monotonic()), event.stream_id))
        elif isinstance(event, StreamEnded):
            self._answer(event.stream_id, time.time())
        elif isinstance(event, StreamReset):
            self._asked.pop(event.stream_id, None)
            self._hashers.pop(event.stream_id, None)
            if event.stream_id in self._answers:
                self._finish(self._answers[event.stream_id])

    def _take_body(self, event: DataReceived) -> None:
        """Take a piece of a request's body, and let the client send the next."""
        stream = event.stream_id
        self._uploaded[stream] = self._uploaded.get(stream, 0) + len(event.data)
        self._hashers.setdefault(stream, BodyHasher()).update(event.data)
        self._h2.acknowledge_received_data(event.flow_controlled_length, stream)
        if self._uploaded[stream] > LARGEST_UPLOAD and stream in self._asked:
            del self._asked[stream]
            self._h2.reset_stream(stream, ErrorCodes.ENHANCE_YOUR_CALM)

    def _answer_held(self) -> None:
        """Answer requests that need not be held back any longer, AT_ONCE of them at most."""
        for _ in range(AT_ONCE):
            if not self._held or (late_s := time.monotonic() - self._held[0][0]) < 0:
                return
            self._answer(heapq.heappop(self._held)[1], time.time() - late_s)

    def _next_held_ms(self) -> float:
        """Return in how many ms the next request that is held back is to be answered; infinite when none is."""
        return (self._held[0][0] - time.monotonic()) * 1000 if self._held else float("inf")

    def _answer(self, stream: int, received_s: float) -> None:
        """Begin the answer to a request that is complete since `received_s`."""
        self._uploaded.pop(stream, None)
        hasher = self._hashers.pop(stream, None)
        came = self._asked.pop(stream, None)
        if came is None:
            return
        answer = answer_to(self._accepted, stream, came, hasher, received_s)
        reply = answer.reply
        answer.early = self._accepted.early
        self._answers[stream], self._states[stream] = answer, self._h2.streams[stream]
        if reply.hangs:
            return
        if reply.arrivals:
            self._timed[stream] = answer
        if reply.early_hints:
            self._states[stream].state_machine.process_input(StreamInputs.SEND_INFORMATIONAL_HEADERS)
            self._send_head(stream, [(b":status", b"103"), *encoded_fields(reply.early_hints)])
        if reply.think_ms:
            heapq.heappush(self._thinking, (answer.head_s, stream))
        else:
            self._begin(answer)

    def _begin(self, answer: Outgoing) -> None:
        """Send the head of an answer."""
        answer.begin()
        over, state = answer.is_only_head, self._states[answer.stream].state_machine
        state.process_input(StreamInputs.SEND_HEADERS)
        self._send_head(answer.stream, answer.head, answer.reply.head_bytes, ends=over)
        if over:
            state.process_input(StreamInputs.SEND_END_STREAM)
            self._finish(answer)
            return
        heapq.heappush(self._turns, answer.rank())
        if answer.left > FRAME and answer.number == 1:      # a record of its own, in which nginx acknowledges SETTINGS
            self._write()

    def _send_head(self, stream: int, fields: list[Field], size: int = 0, *, ends: bool = False) -> None:
        """Send a head after what h2 has to say: that a client's new table is taken comes before what is put into it."""
        self._unsent += self._h2.data_to_send()
        self._unsent += head_frames(stream, self._heads.encode(fields, size), ends=ends, size=size)

    def _begin_what_is_due(self) -> None:
        """Begin the answers that were thought about for long enough, in the order in which they were to begin."""
        while self._thinking and self._thinking[0][0] <= time.monotonic():
            answer = self._answers.get(heapq.heappop(self._thinking)[1])
            if answer is not None:      # nobody has reset its stream meanwhile
                self._begin(answer)

    def _next_head_ms(self) -> float:
        """Return in how many ms the next answer begins that is thought about; infinite when none is."""
        return (self._thinking[0][0] - time.monotonic()) * 1000 if self._thinking else float("inf")

    def _fill(self) -> None:
        """Decide what goes next, once what was decided before has been handed to the kernel."""
        self._unsent += self._h2.data_to_send()
        not_now = []
        while self._turns and len(self._unsent) < UNSENT and self._h2.outbound_flow_control_window > 0:
            rank = heapq.heappop(self._turns)
            answer = self._answers.get(rank[-1])
            if answer is None:      # its stream was reset
                continue
            room = self._window(answer)
            if not room:
                not_now.append(rank)
                continue
            self._send_piece(answer, room)
            if answer.stream in self._answers:
                heapq.heappush(self._turns, answer.rank())
        for rank in not_now:
            heapq.heappush(self._turns, rank)

    def _next_timed_ms(self) -> float:
        """Return in how many ms an answer that is sent as it came has more to send; infinite when none has."""
        waits = [answer.next_ms() for answer in self._timed.values()]
        return min((wait for wait in waits if wait is not None), default=float("inf"))

    def _window(self, answer: Outgoing) -> int:
        """Return how many bytes the client takes now; flow control counts a stream's and the connection's."""
        # A client that lowers INITIAL_WINDOW_SIZE makes windows that are less than nothing (RFC 9113, section 6.9.2).
        return max(0, min(self._states[answer.stream].outbound_flow_control_window,
                          self._h2.outbound_flow_control_window, FRAME, BUFFER - answer.sent % BUFFER, answer.allowed))

    def _send_piece(self, answer: Outgoing, room: int) -> None:
        piece = answer.read(room)
        if not piece:    # the file was cut meanwhile
            self._h2.reset_stream(answer.stream, ErrorCodes.INTERNAL_ERROR)
            self._unsent += self._h2.data_to_send()
            self._finish(answer)
            return
        ends, state = answer.is_last_piece, self._states[answer.stream]
        self._unsent += frame(answer.stream, DATA, END_STREAM if ends else 0, piece)
        self._h2.outbound_flow_control_window -= len(piece)
        state.outbound_flow_control_window -= len(piece)
        if ends:
            state.state_machine.process_input(StreamInputs.SEND_END_STREAM)
            self._finish(answer)

    def _finish(self, answer: Outgoing) -> None:
        del self._answers[answer.stream], self._states[answer.stream]
        self._timed.pop(answer.stream, None)
        answer.note(self._accepted)
