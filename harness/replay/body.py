"""The bytes of a body: one file of the mirror, or several that are parts of it, from one end to the other."""

import os
from dataclasses import dataclass, field

from harness.mirror.ranges import Span


@dataclass
class Piece:
    """A file whose bytes stand at `start` and after it in the body. `file` is a descriptor."""

    file: int
    start: int
    end: int = field(init=False)
    """Where the file's bytes end in the body."""

    def __post_init__(self) -> None:
        self.end = self.start + os.fstat(self.file).st_size


class BodyReader:
    """Reads pieces in order. What is not there ends it: `size` counts to the first gap."""

    def __init__(self, pieces: list[Piece]) -> None:
        self._pieces = sorted(pieces, key=lambda piece: piece.start)
        self._at, self.end = 0, self.reach(0)

    def reach(self, start: int) -> int:
        """Return how far the bytes from `start` on go without a gap."""
        for piece in self._pieces:
            if piece.start <= start < piece.end:
                start = piece.end
        return start

    def select(self, span: Span) -> None:
        """Read only this part."""
        self._at, self.end = span.start, min(span.end, self.reach(span.start))

    @property
    def left(self) -> int:
        """Bytes that are still to be read."""
        return max(0, self.end - self._at)

    def beginning(self, size: int) -> bytes:
        """Return the first bytes without reading on."""
        return os.pread(self._pieces[0].file, size, 0)

    def whole(self) -> bytes:
        """Return all bytes that are still to be read, without reading on."""
        at, chunks = self._at, []
        while chunk := self.read(self.left):
            chunks.append(chunk)
        self._at = at
        return b"".join(chunks)

    def read(self, size: int) -> bytes:
        """Return the next bytes, `size` at most; none at the end."""
        size = min(size, self.left)
        piece = next((piece for piece in self._pieces if piece.start <= self._at < piece.end), None)
        if not size or piece is None:
            return b""
        chunk = os.pread(piece.file, min(size, piece.end - self._at), self._at - piece.start)
        self._at += len(chunk)
        return chunk

    def close(self) -> None:
        """Close the files."""
        for piece in self._pieces:
            os.close(piece.file)
        self._pieces = []
