"""A connection that speaks HTTP/2 (RFC 9113): many requests at once, answered from the recording by one thread.

Frames are read and written here: the package h2, which keeps a machine of states for each stream, took a third of the
time of an answer. What a client may not do ends the connection with a GOAWAY, as far as it would confuse what follows.

Browsers say how urgent each answer is (RFC 9218): style sheets before images. What lies in the kernel's send buffer can
no longer be overtaken. nginx and Apache fill it as far as the kernel lets them, and so do we.
"""

from collections import Counter
from collections.abc import Callable
from struct import Struct, error, iter_unpack
from typing import ClassVar

from hpack.exceptions import HPACKError

from harness.replay.answering import FRAME, Answering, Streams
from harness.replay.connection import LARGEST_HEAD, Accepted
from harness.replay.heads import (
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    FRAME_LIMIT,
    HEADERS,
    PADDED,
    Field,
    HeadDecoder,
    HeadEncoder,
    frame,
    head_frames,
)
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
RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 3, 4, 6, 7, 8
"""Types of frames beside those of harness.replay.heads; others are passed over. Then flags, and codes of errors."""
ACK, PRIORITY = 0x01, 0x20
PROTOCOL_ERROR = 1
HEADER_TABLE_SIZE, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE = 1, 3, 4
OURS = MAX_CONCURRENT_STREAMS.to_bytes(2, "big") + (100).to_bytes(4, "big")
"""Our settings: Chrome sends at most 100 requests at once where it is told nothing, too."""
FRAME_HEAD = Struct(">HBBBL")


def update(stream: int, size: int) -> bytes:
    """Return the frame that lets the client send `size` bytes more."""
    return frame(stream, WINDOW_UPDATE, 0, size.to_bytes(4, "big"))


class Http2Connection(Streams, Answering):
    """Serves one connection to its end."""

    read_bytes = 2 * 1024

    def __init__(self, connection: Accepted) -> None:
        super().__init__(connection)
        self._decoder, self._encoder = HeadDecoder(), HeadEncoder()
        self._came = b""
        """The beginning of a frame."""
        self._has_preface, self._leaves = False, False
        """Whether the client has said hello, and goodbye."""
        self._head: tuple[int, int, bytes] | None = None
        """A head whose end has not come: its stream, its flags, and what there is of it."""
        self._last = 0
        """The latest request's stream."""
        self._uploaded = 0
        """Bytes of bodies that came and that the client does not know to be taken."""
        self._window, self._first_window = FIRST_WINDOW, FIRST_WINDOW
        """Bytes that the client takes now on all streams together, and that it takes at first on each."""
        self._more: Counter[int] = Counter()
        """Bytes that it takes beyond these, by stream."""

    def serve(self) -> None:
        """Answer requests until the client leaves, or is silent for too long.

        It leaves with a GOAWAY, too: browsers send none while they wait for answers.
        """
        self._unsent += frame(0, SETTINGS, 0, OURS) + update(0, UPLOAD_WINDOW)
        super().serve()

    def _received(self, data: bytes) -> bool:
        """Take what came. If the connection is over by an error, write what to say."""
        try:
            self._take_frames(self._came + data)
        except (ValueError, IndexError, HPACKError, error):
            self._leaves = True
            self._unsent += frame(0, GOAWAY, 0, self._last.to_bytes(4, "big") + PROTOCOL_ERROR.to_bytes(4, "big"))
        return not self._leaves

    def _take_frames(self, came: bytes) -> None:
        """Take the frames that are whole, and keep the rest."""
        at = number = 0
        if not self._has_preface:
            if not came.startswith(PREFACE[:len(came)]):
                raise ValueError("no client of HTTP/2")
            self._has_preface = len(came) >= len(PREFACE)
            at = len(PREFACE)
        while len(came) - at >= FRAME_HEAD.size and not self._leaves:
            high, low, kind, flags, stream = FRAME_HEAD.unpack_from(came, at)
            size, begin = high << 8 | low, at + FRAME_HEAD.size
            if size > FRAME_LIMIT or (self._head and kind != CONTINUATION):
                raise ValueError("a frame that may not come")
            if begin + size > len(came):
                break
            if take := self._TAKEN.get(kind):
                take(self, stream & 0x7FFF_FFFF, flags, came[begin:begin + size])
            at, number = begin + size, number + 1
            if number % AT_ONCE == 0:
                self._fill()
                self._write()
        self._came = came[at:] if self._has_preface else came

    def _take_headers(self, stream: int, flags: int, payload: bytes) -> None:
        payload = _unpadded(flags, payload)
        self._head = stream, flags, payload[5:] if flags & PRIORITY else payload
        if flags & END_HEADERS:
            self._take_head()

    def _take_continuation(self, stream: int, flags: int, payload: bytes) -> None:
        if self._head is None or self._head[0] != stream or len(self._head[2]) > LARGEST_HEAD:
            raise ValueError("no head goes on here, or not so far")
        self._head = stream, self._head[1], self._head[2] + payload
        if flags & END_HEADERS:
            self._take_head()

    def _take_head(self) -> None:
        """Take a whole head: a request's, or trailers. One of a stream that was reset only changes the table."""
        assert self._head is not None
        (stream, flags, block), self._head = self._head, None
        fields = self._decoder.decode(block)
        if not stream % 2:
            raise ValueError("no client's stream")
        if stream > self._last:
            self._last = stream
            self._begin(stream, fields)
            if not flags & END_STREAM:
                self._unsent += update(stream, UPLOAD_WINDOW)
        self._take_end(stream, flags)

    def _take_data(self, stream: int, flags: int, payload: bytes) -> None:
        if not 0 < stream <= self._last:
            raise ValueError("a body without a head")
        self._uploaded += len(payload)
        if self._uploaded > UPLOAD_WINDOW // 2:
            self._unsent += update(0, self._uploaded)
            self._uploaded = 0
        coming = self._coming.get(stream)
        if coming is not None:
            coming.take(_unpadded(flags, payload))
        self._take_end(stream, flags)

    def _take_end(self, stream: int, flags: int) -> None:
        if flags & END_STREAM:
            self._end(stream, self._connection.early)

    def _take_reset(self, stream: int, _flags: int = 0, _payload: bytes = b"") -> None:
        self._more.pop(stream, None)
        self._forget(stream)

    def _take_settings(self, _stream: int, flags: int, payload: bytes) -> None:
        if flags & ACK:
            return
        for name, value in iter_unpack(">HL", payload):
            if name == HEADER_TABLE_SIZE:
                self._encoder.resize(value)
            elif name == INITIAL_WINDOW_SIZE:
                self._first_window = value      # also of streams that are open (RFC 9113, section 6.9.2)
        self._unsent += frame(0, SETTINGS, ACK, b"")

    def _take_ping(self, _stream: int, flags: int, payload: bytes) -> None:
        if not flags & ACK:
            self._unsent += frame(0, PING, ACK, payload)

    def _take_goodbye(self, _stream: int, _flags: int, _payload: bytes) -> None:
        self._leaves = True

    def _take_update(self, stream: int, _flags: int, payload: bytes) -> None:
        size = int.from_bytes(payload, "big") & 0x7FFF_FFFF
        if not stream:
            self._window += size
        elif stream in self._answers or stream in self._coming:
            self._more[stream] += size

    _TAKEN: ClassVar[dict[int, Callable[["Http2Connection", int, int, bytes], None]]] = {
        DATA: _take_data, HEADERS: _take_headers, CONTINUATION: _take_continuation, RST_STREAM: _take_reset,
        SETTINGS: _take_settings, PING: _take_ping, GOAWAY: _take_goodbye, WINDOW_UPDATE: _take_update}

    def _write_head(self, answer: Outgoing) -> None:
        super()._write_head(answer)
        if answer.left > FRAME and answer.number == 1:      # a record of its own, in which nginx acknowledges SETTINGS
            self._write()

    def _send_head(self, stream: int, fields: list[Field], *, ends: bool = False) -> None:
        self._unsent += head_frames(stream, self._encoder.encode(fields), ends=ends)

    def _room(self, answer: Outgoing) -> int:
        """Flow control counts a stream's bytes and the connection's."""
        window = self._first_window + self._more[answer.stream] - answer.sent
        return min(window, self._window, FRAME, BUFFER - answer.sent % BUFFER)

    def _write_piece(self, answer: Outgoing, piece: bytes) -> None:
        self._unsent += frame(answer.stream, DATA, END_STREAM if answer.is_over else 0, piece)
        self._window -= len(piece)

    def _finish(self, answer: Outgoing) -> None:
        self._more.pop(answer.stream, None)
        super()._finish(answer)


def _unpadded(flags: int, payload: bytes) -> bytes:
    return payload[1:len(payload) - payload[0]] if flags & PADDED else payload
