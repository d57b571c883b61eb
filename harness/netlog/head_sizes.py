"""How large the heads of answers over HTTP/2 were on the wire, from the bytes that Chrome read from a socket.

A head's fields do not tell it: whether a server compresses them, and keeps a table of those it has sent (RFC 7541), is
its own choice. Chrome logs no sizes of heads, so its bytes are read frame by frame (RFC 9113, section 4.1).
"""

FRAME_HEAD = 9
DATA, HEADERS, CONTINUATION = 0, 1, 9


class HeadSizes:
    """Reads what came over one connection, piece by piece; of bodies it keeps nothing."""

    def __init__(self) -> None:
        self.by_stream: dict[int, int] = {}
        """Bytes of each answer's head in its frames, without the frames' own 9; interim heads (103) and trailers, which
        come before it and after the body, are not it."""
        self._begun: set[int] = set()
        """Streams whose bodies have begun."""
        self._rest = b""
        self._left = 0
        """Bytes of the last frame that are still to come."""

    def add(self, piece: bytes) -> None:
        """Take what came next."""
        data, at = self._rest + piece, 0
        while True:
            passed = min(self._left, len(data) - at)
            at, self._left = at + passed, self._left - passed
            if len(data) - at < FRAME_HEAD:
                break
            self._left = int.from_bytes(data[at:at + 3], "big")
            self._note(data[at + 3], int.from_bytes(data[at + 5:at + FRAME_HEAD], "big") & 0x7FFF_FFFF, self._left)
            at += FRAME_HEAD
        self._rest = data[at:]

    def _note(self, kind: int, stream: int, size: int) -> None:
        if kind == DATA:
            self._begun.add(stream)
        elif stream in self._begun:
            return
        elif kind == HEADERS:
            self.by_stream[stream] = size
        elif kind == CONTINUATION and stream in self.by_stream:
            self.by_stream[stream] += size
