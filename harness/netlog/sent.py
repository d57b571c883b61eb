"""The bodies of a page's requests (POST and the like), from what Chrome's net-log says was written to each socket.

Requests are read from these bytes (harness.netlog.socket_bytes) as a server would read them, over HTTP/1.1 (RFC 9112)
and HTTP/2 (RFC 9113). The log's own events for uploads tell sizes only; the debugging protocol leaves out workers.
"""

import contextlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hpack import Decoder, HPACKError
from hyperframe.exceptions import HyperframeError
from hyperframe.frame import ContinuationFrame, DataFrame, Frame, HeadersFrame

from harness.files.headers import header_in
from harness.netlog.socket_bytes import HTTP2_PREFACE, Socket, Stream

FRAME_HEAD = 9
"""Bytes of a frame's head (RFC 9113, section 4.1)."""
LARGEST_TABLE = 2**32 - 1
"""In bytes, what a server may allow at most for the table of headers that were sent before (RFC 9113, section 6.5.2).
Chrome takes what it is allowed, and says so in the next headers. Nobody reads what the server allowed, so all is taken;
hpack's own limit is what holds before any settings, 4096."""
Wanted = tuple[str, str]
"""Method and URL."""


@dataclass(frozen=True)
class Sent:
    """One request's body, b"" where it has none, and the id of the socket it was written to."""

    connection: int
    body: bytes


def read_sent_bodies(sockets: Iterable[Socket]) -> dict[Wanted, list[Sent]]:
    """Return what was sent with the requests, by method and URL, in the order in which they were sent.

    What cannot be read as a request is left out, and with it what follows on that socket.
    """
    found: list[tuple[int, Wanted, Sent]] = []
    for socket in sockets:
        scheme = "https" if socket.encrypted else "http"
        read = _over_http2 if socket.sent.data.startswith(HTTP2_PREFACE) else _over_http1
        with contextlib.suppress(HPACKError, HyperframeError, ValueError):
            for tick, wanted, body in read(socket.sent, scheme):
                found.append((tick, wanted, Sent(socket.source, body)))
    bodies: dict[Wanted, list[Sent]] = defaultdict(list)
    for _, wanted, sent in sorted(found, key=lambda request: request[0]):
        bodies[wanted].append(sent)
    return dict(bodies)


def _over_http1(socket: Stream, scheme: str) -> Iterator[tuple[int, Wanted, bytes]]:
    """Give the tick, method, URL and body of each request on a connection."""
    at = 0
    while head := socket.head(at):
        first, headers, end = head
        method, target, _ = first.split(" ")
        body = bytes(socket.data[end:end + int(header_in(headers, "content-length") or 0)])
        yield socket.tick(at), (method, f"{scheme}://{header_in(headers, 'host')}{target}"), body
        at = end + len(body)


def _over_http2(socket: Stream, scheme: str) -> Iterator[tuple[int, Wanted, bytes]]:
    """Give the same of a connection over HTTP/2."""
    decoder, heads, bodies = Decoder(), dict[int, tuple[int, Wanted]](), defaultdict[int, bytearray](bytearray)
    decoder.max_allowed_table_size = LARGEST_TABLE
    block = b""
    for offset, frame in _frames(bytes(socket.data)):
        if isinstance(frame, DataFrame):
            bodies[frame.stream_id] += frame.data
        elif isinstance(frame, (HeadersFrame, ContinuationFrame)):
            block += frame.data
            if "END_HEADERS" in frame.flags:
                head = {_text(name): _text(value) for name, value in decoder.decode(block)}
                url = f"{scheme}://{head.get(':authority', '')}{head.get(':path', '')}"
                heads.setdefault(frame.stream_id, (socket.tick(offset), (head.get(":method", ""), url)))
                block = b""
    for stream, (tick, wanted) in heads.items():
        yield tick, wanted, bytes(bodies[stream])


def _frames(data: bytes) -> Iterator[tuple[int, Frame]]:
    """Give the whole frames, each with where it begins."""
    at = len(HTTP2_PREFACE)
    while len(data) >= at + FRAME_HEAD:
        frame, length = Frame.parse_frame_header(memoryview(data[at:at + FRAME_HEAD]))
        if len(data) < at + FRAME_HEAD + length:
            return
        frame.parse_body(memoryview(data[at + FRAME_HEAD:at + FRAME_HEAD + length]))
        yield at, frame
        at += FRAME_HEAD + length


def _text(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value
