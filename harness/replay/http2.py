"""A connection that speaks HTTP/2 (RFC 9113): many requests at once, answered from the recording by one thread.

Frames are hyperframe's: a few microseconds each. The package h2, which keeps a machine of states for each stream, took
a third of the time of an answer. What a client may not do ends the connection with a GOAWAY, as far as it would confuse
what follows.

Browsers say how urgent each answer is (RFC 9218): style sheets before images. What lies in the kernel's send buffer can
no longer be overtaken. nginx and Apache fill it as far as the kernel lets them, and so do we.
"""

from collections import Counter
from collections.abc import Sequence

from hpack.exceptions import HPACKError
from hyperframe.exceptions import HyperframeError
from hyperframe.frame import (
    ContinuationFrame,
    DataFrame,
    Frame,
    GoAwayFrame,
    HeadersFrame,
    PingFrame,
    RstStreamFrame,
    SettingsFrame,
    WindowUpdateFrame,
)

from harness.replay.answering import FRAME, Answering, Streams
from harness.replay.connection import LARGEST_HEAD, Accepted
from harness.replay.heads import TABLE_BYTES, Field, HeadDecoder, HeadEncoder
from harness.replay.turns import Outgoing

AT_ONCE = 16
"""Frames after which answers are sent. A browser asks for a hundred small files within a few kB: the first answer would
wait until all are worked out, 0.4 ms each."""
BUFFER = 32 * 1024
"""Bytes of a body that nginx reads from a file and sends before it reads more (output_buffers): a TLS record ends with
them. Chrome's media player reads as many at a time, and would wait for one record more."""
FIRST_WINDOW = 65_535
"""Bytes that either side may send on a stream, and on all together, before the other says more."""
UPLOAD_WINDOW = 2**31 - 1 - FIRST_WINDOW
"""Bytes that a client may send beyond the protocol's first 64 kB without waiting for a word, over a connection and,
once its request is here, over its stream. So nginx 1.22 has it (Apache 2.4 only for the connection): else a large POST
would take a round trip for each 64 kB."""
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
FRAME_HEAD = 9
"""Bytes of a frame's head (RFC 9113, section 4.1)."""
SETTING = 6
"""Bytes of a setting (RFC 9113, section 6.5.1)."""
FRAME_LIMIT = 16_384
"""Bytes of a frame that every client takes (RFC 9113, section 4.2)."""
PROTOCOL_ERROR = 1
OURS = {SettingsFrame.MAX_CONCURRENT_STREAMS: 100}
"""Our settings: Chrome sends at most 100 requests at once where it is told nothing, too."""
ACK, ENDS, HEAD_ENDS = "ACK", "END_STREAM", "END_HEADERS"
"""Flags of frames."""


class Http2Connection(Streams, Answering):
    """Serves one connection to its end."""

    read_bytes = 2 * 1024

    def __init__(self, connection: Accepted) -> None:
        super().__init__(connection)
        self._decoder, self._encoder = HeadDecoder(), HeadEncoder()
        self._came = b""
        """The beginning of a frame."""
        self._has_preface = False
        """Whether the client has said hello."""
        self._head: HeadersFrame | None = None
        """A head whose end has not come, and what there is of it."""
        self._last = 0
        """The latest request's stream."""
        self._uploaded = 0
        """Bytes of bodies that came and that the client does not know to be taken."""
        self._window, self._first_window = FIRST_WINDOW, FIRST_WINDOW
        """Bytes that the client takes now on all streams together, and that it takes at first on each."""
        self._more: Counter[int] = Counter()
        """Bytes that it takes beyond these, by stream."""

    def serve(self) -> None:
        """Answer requests until the client leaves, or is silent for too long. A GOAWAY of its takes nothing back."""
        self._tell(SettingsFrame(0, OURS), WindowUpdateFrame(0, UPLOAD_WINDOW))
        super().serve()

    def _tell(self, *frames: Frame) -> None:
        self._unsent += b"".join(frame.serialize() for frame in frames)

    def _received(self, data: bytes) -> bool:
        """Take what came. If the connection is over by an error, write what to say."""
        try:
            self._take_frames(self._came + data)
        except (ValueError, IndexError, HPACKError, HyperframeError):
            self._tell(GoAwayFrame(0, self._last, PROTOCOL_ERROR))
            return False
        return True

    def _take_frames(self, came: bytes) -> None:
        """Take the frames that are whole, and keep the rest."""
        at = number = 0
        if not self._has_preface:
            if not came.startswith(PREFACE[:len(came)]):
                raise ValueError("no client of HTTP/2")
            self._has_preface = len(came) >= len(PREFACE)
            at = len(PREFACE)
        while len(came) - at >= FRAME_HEAD:
            begin = at + FRAME_HEAD
            frame, size = Frame.parse_frame_header(memoryview(came[at:begin]))
            if size > FRAME_LIMIT or (self._head and not isinstance(frame, ContinuationFrame)):
                raise ValueError("a frame that may not come")
            if begin + size > len(came):
                break
            frame.parse_body(memoryview(came[begin:begin + size]))
            if isinstance(frame, SettingsFrame) and len(frame.settings) * SETTING < size:
                raise ValueError("a setting twice, of which hyperframe keeps the last")
            self._take(frame)
            at, number = begin + size, number + 1
            if number % AT_ONCE == 0:
                self._fill()
                self._write()
        self._came = came[at:] if self._has_preface else came

    def _take(self, frame: Frame) -> None:
        """Take a frame; others than these are passed over."""
        stream = frame.stream_id
        if isinstance(frame, (HeadersFrame, ContinuationFrame)):
            self._take_head(frame)
        elif isinstance(frame, DataFrame):
            self._take_data(frame)
        elif isinstance(frame, RstStreamFrame):
            self._forget(stream)
        elif isinstance(frame, SettingsFrame) and ACK not in frame.flags:
            self._encoder.resize(frame.settings.get(SettingsFrame.HEADER_TABLE_SIZE, TABLE_BYTES))
            # Also of streams that are open (RFC 9113, section 6.9.2).
            self._first_window = frame.settings.get(SettingsFrame.INITIAL_WINDOW_SIZE, self._first_window)
            self._tell(SettingsFrame(0, flags=[ACK]))
        elif isinstance(frame, PingFrame) and ACK not in frame.flags:
            self._tell(PingFrame(0, frame.opaque_data, flags=[ACK]))
        elif isinstance(frame, WindowUpdateFrame) and not stream:
            self._window += frame.window_increment
        elif isinstance(frame, WindowUpdateFrame) and (stream in self._answers or stream in self._coming):
            self._more[stream] += frame.window_increment

    def _take_head(self, frame: HeadersFrame | ContinuationFrame) -> None:
        """Take a head, or more of one: a request's, or trailers. One of a stream that was reset changes the table."""
        if isinstance(frame, HeadersFrame):
            head = self._head = frame
        elif self._head is None or self._head.stream_id != frame.stream_id or len(self._head.data) > LARGEST_HEAD:
            raise ValueError("no head goes on here, or not so far")
        else:
            head = self._head
            head.data += frame.data
        if HEAD_ENDS not in frame.flags:
            return
        self._head, stream = None, head.stream_id
        fields = self._decoder.decode(head.data)
        if sum(len(name) + len(value) for name, value in fields) > LARGEST_HEAD:
            raise ValueError("a head that one byte a field makes large")
        if not stream % 2:
            raise ValueError("no client's stream")
        if stream > self._last:
            self._last = stream
            self._begin(stream, fields)
            if ENDS not in head.flags:
                self._tell(WindowUpdateFrame(stream, UPLOAD_WINDOW))
        if ENDS in head.flags:
            self._end(stream, self._connection.early)

    def _take_data(self, frame: DataFrame) -> None:
        stream = frame.stream_id
        if stream > self._last:
            raise ValueError("a body without a head")
        self._uploaded += frame.flow_controlled_length
        if self._uploaded > UPLOAD_WINDOW // 2:
            self._tell(WindowUpdateFrame(0, self._uploaded))
            self._uploaded = 0
        if coming := self._coming.get(stream):
            coming.take(frame.data)
        if ENDS in frame.flags:
            self._end(stream, self._connection.early)

    def _forget(self, stream: int) -> None:
        self._more.pop(stream, None)
        super()._forget(stream)

    def _write_head(self, answer: Outgoing) -> None:
        super()._write_head(answer)
        if answer.left > FRAME and answer.number == 1:      # a record of its own, in which nginx acknowledges SETTINGS
            self._write()

    def _send_head(self, stream: int, fields: list[Field], *, ends: bool = False) -> None:
        block = self._encoder.encode(fields)
        head, *more = [block[at:at + FRAME_LIMIT] for at in range(0, len(block), FRAME_LIMIT)]
        frames: Sequence[Frame] = [HeadersFrame(stream, head, flags=[ENDS] * ends),
                                   *(ContinuationFrame(stream, each) for each in more)]
        frames[-1].flags.add(HEAD_ENDS)
        self._tell(*frames)

    def _room(self, answer: Outgoing) -> int:
        """Flow control counts a stream's bytes and the connection's."""
        window = self._first_window + self._more[answer.stream] - answer.sent
        return min(window, self._window, FRAME, BUFFER - answer.sent % BUFFER)

    def _write_piece(self, answer: Outgoing, piece: bytes) -> None:
        self._tell(DataFrame(answer.stream, piece, flags=[ENDS] * answer.is_over))
        self._window -= len(piece)

    def _finish(self, answer: Outgoing) -> None:
        self._more.pop(answer.stream, None)
        super()._finish(answer)
