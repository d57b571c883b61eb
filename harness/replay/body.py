"""The bytes of a body: one file of the mirror, or several that are parts of it, from one end to the other; and the
part that a request wants (RFC 9110, section 14).
"""

import os
import re
from collections.abc import Iterable, Mapping
from errno import ENOENT

from harness.files.exchange import Answer
from harness.mirror.paths import open_file

KEPT_BYTES = 64 * 1024
"""Files up to so large are not looked at again once they were read: to open one takes as long as half of the rest of an
answer. Larger ones are looked at again, and stay in memory, too.
"""
ONE_RANGE = re.compile(r"bytes=(?:([0-9]{1,18})-([0-9]{1,18})?|-([0-9]{1,18}))", re.ASCII | re.IGNORECASE)


class Bodies:
    """The files that hold bodies, below descriptors of `directories` by host."""

    def __init__(self, directories: Mapping[str, int]) -> None:
        self._directories = directories
        self._kept: dict[str, tuple[tuple[int, int], bytes]] = {}
        """What was read, with when the file was changed (ns since the epoch), and its size then."""

    def content(self, name: str) -> bytes:
        """Return what the file `name` (``host/name``) holds. Raises OSError."""
        kept = self._kept.get(name)
        if kept is not None and len(kept[1]) <= KEPT_BYTES:
            return kept[1]
        host, _, path = name.partition("/")
        if host not in self._directories:
            raise FileNotFoundError(ENOENT, "no directory of the mirror")
        with os.fdopen(open_file(self._directories[host], path), "rb") as file:
            is_now = os.fstat(file.fileno())
            version = is_now.st_mtime_ns, is_now.st_size
            if kept is None or kept[0] != version:
                kept = self._kept[name] = version, file.read()
        return kept[1]


class Body:
    """Reads pieces in order, each of which stands at its start. What is not there ends it: `end` is the first gap."""

    def __init__(self, pieces: Iterable[tuple[int, bytes]]) -> None:
        self._pieces = sorted(pieces, key=lambda piece: piece[0])
        self._at, self.end = 0, self.reach(0)

    def reach(self, start: int) -> int:
        """Return how far the bytes from `start` on go without a gap."""
        for begin, content in self._pieces:
            if begin <= start < begin + len(content):
                start = begin + len(content)
        return start

    def select(self, span: range) -> None:
        """Read only this part."""
        self._at, self.end = span.start, min(span.stop, self.reach(span.start))

    @property
    def left(self) -> int:
        """Bytes that are still to be read."""
        return max(0, self.end - self._at)

    def peek(self, size: int) -> bytes:
        """Return the next bytes, `size` at most, without reading on; none at the end."""
        chunks, at, end = [], self._at, min(self.end, self._at + size)
        for begin, content in self._pieces:
            if begin <= at < min(end, begin + len(content)):
                chunks.append(content[at - begin:min(end - begin, len(content))])
                at += len(chunks[-1])
        return b"".join(chunks)

    def read(self, size: int) -> bytes:
        """Return the next bytes, `size` at most; none at the end."""
        chunk = self.peek(size)
        self._at += len(chunk)
        return chunk


def wanted_span(answer: Answer, asked: Mapping[str, str], size: int) -> range | None:
    """Return the part of a body of `size` bytes that a request wants; None when the whole body is to be sent.

    Sites that did not say Accept-Ranges when they were recorded send the whole body, and so does every recording that
    has no headers. With If-Range the part is wanted only of the very body that the client knows. An empty part: the
    wanted one lies behind the body's end. Who wants several parts at once gets the whole body.
    """
    text = asked.get("range", "").strip()
    if not text or answer.status != 200 or answer.header("accept-ranges").lower() != "bytes":
        return None
    if "if-range" in asked and not _is_same(asked["if-range"].strip(), answer):
        return None
    match = ONE_RANGE.fullmatch(text)
    if match is None:
        return None
    first, last, suffix = match.groups()
    if last and int(last) < int(first):
        return None    # no range at all (RFC 9110, section 14.1.1)
    begin, end = (max(0, size - int(suffix)), size) if suffix else (int(first), int(last) + 1 if last else size)
    return range(size)[begin:end]


def _is_same(validator: str, answer: Answer) -> bool:
    """Compare strongly (RFC 9110, section 13.1.5): a weak tag never matches."""
    return validator == answer.header("etag" if validator.startswith('"') else "last-modified")
