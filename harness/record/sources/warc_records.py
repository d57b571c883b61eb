"""The records of WARC and ARC files, one after the other, whatever was compressed together: warcio reads them.

The method and body of a request are in its own record, which names the response's or is named by it
(WARC-Concurrent-To), or, where records name none (Scoop's), stands beside it; without such a record it was a GET.
"""

import gzip
import logging
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

from warcio.exceptions import ArchiveLoadFailed  # type: ignore[import-untyped]
from warcio.recordloader import ArcWarcRecord, ArcWarcRecordLoader  # type: ignore[import-untyped]

from harness.files.encoding import LARGEST_BODY
from harness.files.exchange import Request
from harness.files.headers import Headers

BEGINNINGS = (b"WARC/", b"filedesc:")
"""Of a WARC and an ARC. What begins otherwise, be it 60 GB of nothing, is looked at no further."""
RECORD = re.compile(rb"WARC/[0-9]|(?:https?|ftp|dns|whois|filedesc):.* [0-9]{12,14} .* [0-9]+\s*\Z")
"""The first line of a record of a WARC or an ARC."""
LONGEST_LINE = 2**16
"""Bytes of such a line."""
GZIP = b"\x1f\x8b"
NO_WARC = (ArchiveLoadFailed, EOFError, ValueError, zlib.error, OSError, AttributeError, TypeError, IndexError)
"""What is raised for what is none, is damaged, or lacks what every record has."""

logging.getLogger("warcio").addHandler(logging.NullHandler())       # without one it writes to standard error


def records_in(file: IO[bytes]) -> Iterator[ArcWarcRecord | int]:
    """Give the records of a file and, behind one that is longer than it says, how many bytes stand before the next.

    Raises one of NO_WARC where it is none or breaks off.
    """
    stream: Any = file
    if stream.peek(2)[:2] == GZIP:
        stream = gzip.GzipFile(fileobj=file)
    begin = stream.peek(16)[:16]
    if begin and not begin.startswith(BEGINNINGS):
        raise ValueError(f"it begins with {begin!r}")
    loader, stray_bytes, is_at_line = ArcWarcRecordLoader(verify_http=False, arc2warc=True), 0, True
    while line := stream.readline(LONGEST_LINE):
        if not (is_at_line and RECORD.match(line)):
            stray_bytes, is_at_line = stray_bytes + len(line.strip(b"\r\n")), line.endswith(b"\n")
            continue
        if stray_bytes:
            yield stray_bytes
        record, stray_bytes = loader.parse_record_stream(stream, line), 0
        yield record
        record.raw_stream.read()
    if stray_bytes:
        yield stray_bytes


@dataclass
class Asked:
    """What a request record holds; `place` is how many answers stand before it."""

    request: Request
    place: int
    record_id: str
    concurrent_to: str


def read_request(record: ArcWarcRecord, url: str, place: int) -> Asked:
    """Return what a request's record holds; `place` is how many answers stand before it."""
    head = record.rec_headers.get_header
    line = f"{record.http_headers.protocol or ''} {record.http_headers.statusline or ''}".split()
    request = Request(line[0].upper() if line else "GET", url, headers_in(record, record.http_headers),
                      record.raw_stream.read(LARGEST_BODY))
    return Asked(request, place, head("WARC-Record-ID") or "", head("WARC-Concurrent-To") or "")


def headers_in(record: ArcWarcRecord, http: Any) -> Headers:
    """Return the headers of an HTTP message; the type alone of a record that is none."""
    if http is None:
        return (("Content-Type", record.rec_headers.get_header("Content-Type") or ""),)
    return tuple((str(name), str(value)) for name, value in http.headers)
