"""The records of WARC and ARC files, read by warcio within limits, since anybody may have written the files.

warcio reads a line to its end, be that 60 GB away, and tells the user's terminal what it does not like. Here a line, a
head, a body and all files of a source together have a limit, and what warcio says goes nowhere. Where a record says
that it is shorter than it is, warcio skips a line and takes the next one for a record: here all is looked through up to
what begins as a record, and kept (`between`).
"""

import contextlib
import gzip
import logging
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]
from warcio.bufferedreaders import DecompressingBufferedReader  # type: ignore[import-untyped]
from warcio.exceptions import ArchiveLoadFailed  # type: ignore[import-untyped]
from warcio.limitreader import LimitReader  # type: ignore[import-untyped]
from warcio.recordloader import ArcWarcRecord, ArcWarcRecordLoader  # type: ignore[import-untyped]

from harness.files.encoding import LARGEST_BODY

BEGINNINGS = (b"WARC/", b"filedesc:", b"\x1f\x8b")
"""Of a WARC, an ARC and a compressed one. What begins otherwise, be it 60 GB of nothing, is looked at no further."""
LONGEST_LINE = 2**16
"""Bytes of a line in a record's head."""
LARGEST_HEAD = 2**20
"""Bytes of a record's own head and of the HTTP head in it."""
MOST_BYTES = 16_000_000_000
"""Of all files of a source together, when unpacked."""
MOST_UNPACKED_BYTES = 4_000_000_000
"""Of a compressed file that has to be unpacked, since its records are not compressed one by one."""
GZIP = b"\x1f\x8b"
PIECE = 2**20
RECORD = re.compile(rb"WARC/[0-9]|(?:https?|ftp|dns|whois|filedesc):.* [0-9]{12,14} .* [0-9]+\s*\Z")
"""The first line of a record of a WARC or an ARC."""
MOST_RECORDS = 500_000
"""Of all files of a source together."""
INTERIM = re.compile("1(?!01)[0-9][0-9]")
"""The status of an answer before the answer; 101 is one to a WebSocket's request."""
NO_WARC = (ArchiveLoadFailed, EOFError, ValueError)
"""What is raised for what is none."""

logging.getLogger("warcio").addHandler(logging.NullHandler())       # without one it writes to standard error


class TooLargeError(Exception):
    """Something in a file is larger than anything that a web archive needs."""


@dataclass
class Budget:
    """What the files of a source may still have."""

    bytes: int
    records: int

    def take(self, size: int = 0, records: int = 0) -> None:
        """Count what was read. Raises TooLargeError when it is too much."""
        self.bytes -= size
        self.records -= records
        if self.bytes < 0:
            raise TooLargeError(f"over {MOST_BYTES / 1e9:g} GB when unpacked")
        if self.records < 0:
            raise TooLargeError(f"over {MOST_RECORDS} records")


def whole_budget() -> Budget:
    """Return what all files of one source may have."""
    return Budget(MOST_BYTES, MOST_RECORDS)


def read_records(path: Path, budget: Budget) -> Iterator[tuple[ArcWarcRecord, ArchiveIterator]]:
    """Yield the records of a file, each with what knows its offset (`get_record_offset`, which reads to its end).

    Raises OSError, TooLargeError, and one of NO_WARC where the file is none or breaks off.
    """
    with path.open("rb") as file:
        start = file.peek(16)[:16]
        if start and not start.startswith(BEGINNINGS):
            raise ValueError(f"it begins with {start!r}")
        records = _Records(file, budget)
        while (record := _next(records)) is not None:
            budget.take(records=1)
            records.reader.begin_head()
            yield record, records


@contextlib.contextmanager
def record_at(path: Path, offset: int, more_bytes: int = 0) -> Iterator[ArcWarcRecord]:
    """Give the record that begins at `offset`, which has `more_bytes` than it says. Raises as `read_records` does."""
    with path.open("rb") as file:
        file.seek(offset)
        record = _next(_Records(file, whole_budget(), more_bytes))
        if record is None:
            raise EOFError
        yield record


def body_of(record: ArcWarcRecord) -> bytes:
    """Return what a record holds behind its heads. Raises TooLargeError."""
    body: bytes = record.raw_stream.read(LARGEST_BODY + 1)
    if len(body) > LARGEST_BODY:
        raise TooLargeError(f"a body of more than {LARGEST_BODY} bytes")
    return body


def unpacked(path: Path, into: Path) -> bool:
    """Unpack a compressed file, whatever of it was compressed together, as far as it goes; say whether it is one.

    Raises TooLargeError.
    """
    with path.open("rb") as file:
        if file.read(len(GZIP)) != GZIP:
            return False
    size = 0
    with gzip.open(path) as packed, into.open("wb") as plain, contextlib.suppress(EOFError, zlib.error,
                                                                                gzip.BadGzipFile):
        while piece := packed.read1(PIECE):
            size += plain.write(piece)
            if size > MOST_UNPACKED_BYTES:
                raise TooLargeError(f"over {MOST_UNPACKED_BYTES / 1e9:g} GB when unpacked")
    return True


def read_to_end(record: ArcWarcRecord) -> None:
    """Read the rest of a record."""
    while record.raw_stream.read(PIECE):
        pass


def lacking_bytes(record: ArcWarcRecord) -> int:
    """Return how many bytes of a record that was read to its end are not in its file, which ends inside of it."""
    stream = record.raw_stream
    lacking: int = stream.limit if isinstance(stream, LimitReader) else 0
    return lacking


def _next(records: ArchiveIterator) -> ArcWarcRecord | None:
    """Return the next record, None at the end. Raises one of NO_WARC."""
    try:
        return next(iter(records), None)
    except (AttributeError, TypeError, IndexError):     # how warcio stumbles over a record without a URL, say
        raise ValueError("a record lacks what every record has") from None


class _Records(ArchiveIterator):
    """warcio's iterator, but that it reads within limits and prints nothing."""

    between = b""
    """What stands between the end of the record that was read to its end, as it says, and the next one."""
    stray_bytes = 0
    """How many bytes stood so between records, without line ends around them."""

    def __init__(self, file: IO[bytes], budget: Budget, more_bytes: int = 0) -> None:
        super().__init__(file, arc2warc=True)
        self.loader = _Loader(more_bytes)
        self.reader = _Reader(file, budget)

    def _consume_blanklines(self) -> tuple[bytes | None, int]:
        """Return the first line of the next record, None where a file or a part of it ends, and how many bytes stand
        before it.
        """
        between, is_at_line = bytearray(), True
        while line := self.reader.piece_of_line():
            if is_at_line and RECORD.match(line):
                break
            between += line
            is_at_line = line.endswith(b"\n")
            if len(between) > LARGEST_BODY:
                raise TooLargeError(f"more than {LARGEST_BODY} bytes between two records")
        self.between = bytes(between)
        self.stray_bytes += len(between.strip(b"\r\n"))
        return line or None, len(between)


class _Loader(ArcWarcRecordLoader):
    """warcio's, but that it knows HTTP://A.TEST/, too, for a URL of HTTP, and answers from answers before them.

    The record that it reads has `more_bytes` than it says.
    """

    def __init__(self, more_bytes: int) -> None:
        super().__init__(verify_http=False, arc2warc=True)
        self._more_bytes = more_bytes

    def _detect_type_load_headers(self, *arguments: Any) -> Any:
        kind, headers = super()._detect_type_load_headers(*arguments)
        for name in ("Content-Length", "length") if self._more_bytes else ():
            said = headers.get_header(name) or ""
            if said.isdigit():
                headers.replace_header(name, str(int(said) + self._more_bytes))
        return kind, headers

    def load_http_headers(self, rec_type: str, uri: str | None, stream: Any, length: int) -> Any:
        """Return the head of the HTTP message in a record, None where there is none."""
        head = super().load_http_headers(rec_type, uri and uri.lower(), stream, length)
        while rec_type == "response" and head is not None and INTERIM.fullmatch(head.get_statuscode() or ""):
            try:
                following = self.http_parser.parse(stream)
            except EOFError:
                break
            if not (following.protocol or "").startswith("HTTP/"):
                break
            head = following
        return head


class _Reader(DecompressingBufferedReader):
    """warcio's reader, but that it counts what it reads."""

    decompressor: Any

    def __init__(self, file: IO[bytes], budget: Budget) -> None:
        super().__init__(file)
        self._budget = budget
        self._counted = 0
        self.begin_head()

    def begin_head(self) -> None:
        """Count the lines from here on as one head."""
        self._head = 0

    def read(self, length: int | None = None) -> bytes:
        """Return the next bytes."""
        piece: bytes = super().read(length)
        self._count()
        return piece

    def piece_of_line(self) -> bytes:
        """Return the next line, or as much of it as a line may have."""
        piece: bytes = super().readline(LONGEST_LINE)
        self._count()
        return piece

    def readline(self, length: int | None = None) -> bytes:
        """Return the next line, or as much of it as `length` allows."""
        line = b""
        most = LONGEST_LINE if length is None else min(length, LONGEST_LINE)
        while len(line) < most and not line.endswith(b"\n") and (piece := super().readline(most - len(line))):
            line += piece
        if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
            raise TooLargeError(f"a line of more than {LONGEST_LINE} bytes")
        self._head += len(line)
        if self._head > LARGEST_HEAD:
            raise TooLargeError(f"a head of more than {LARGEST_HEAD} bytes")
        self._count()
        return line

    def _count(self) -> None:
        self._budget.take(self.num_read - self._counted)
        self._counted = self.num_read

    def _decompress(self, data: bytes) -> bytes:
        """Unpack a block; the first one may be of a file that is not packed. warcio's own prints what zlib says."""
        if not self.decompressor or not data:
            return data
        try:
            unpacked: bytes = self.decompressor.decompress(data)
            return unpacked
        except zlib.error as error:
            if self.num_block_read:
                raise ValueError(f"its compressed data is broken: {error}") from None
            self.decompressor = None
            return data
