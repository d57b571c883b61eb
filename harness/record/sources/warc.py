"""WARC files (ISO 28500), and WACZ files (https://specs.webrecorder.net/wacz/1.1.1/), which are zips of them.

Bodies wait in a file of their own until all is read, since a "revisit" record stands for another one with the digest of
the same payload. The method and body of a request are in a record of its own, which names the response's or is named by
it (WARC-Concurrent-To); without such a record it was a GET.

An answer is missing that was cut (WARC-Truncated), in which its file ends or is damaged, that has fewer bytes than its
Content-Length says, or that ends inside a chunk; a revisit of one that is missing or in another file; what the crawler
had already (304); and one whose body cannot be what it is called. Where a file is damaged it ends.
"""

import errno
import gzip
import io
import logging
import lzma
import re
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from msgspec.structs import replace
from warcio.exceptions import ArchiveLoadFailed  # type: ignore[import-untyped]
from warcio.limitreader import LimitReader  # type: ignore[import-untyped]
from warcio.recordloader import ArcWarcRecord, ArcWarcRecordLoader  # type: ignore[import-untyped]
from warcio.statusandheaders import StatusAndHeadersParser, StatusAndHeadersParserException  # type: ignore[import-untyped]

from harness.errors import NO_FAULT_OF_OURS, InputError
from harness.files.encoding import LARGEST_BODY
from harness.files.exchange import H2, UNKNOWN, Answer, Exchange, Request, is_over_http2
from harness.files.headers import Headers, header_in, without
from harness.files.moments import moment_of
from harness.files.urls import as_browsers_ask, document_url, without_fragment
from harness.record.sources.body import CACHED, stated_bytes, with_body, without_chunks
from harness.record.sources.brought import Source
from harness.system.untrusted import parse_json

ANSWERS = ("response", "revisit")
UNDONE = "x-orig-"
"""What Browsertrix and ArchiveWeb.page put before the names of headers that no longer hold for a body."""
UNSPECIFIED = "unspecified"
"""Why a record was cut, as our own export says it of what the browser itself gave up."""
INTERIM = re.compile("1(?!01)[0-9][0-9]")
"""The status of an answer before the answer; 101 is one to a WebSocket's request."""
STATUS = re.compile("[2-5][0-9][0-9]")
CUT, ELSEWHERE = "its record does not have all of it", "its body is in another file, or not whole (a revisit)"
GZIP = b"\x1f\x8b"
BROKEN_ZIP = (zipfile.BadZipFile, RuntimeError, EOFError, ValueError, OverflowError, struct.error,
              zlib.error, lzma.LZMAError)
"""What zipfile raises for what is no zip, is damaged, or has a method or password that we do not have."""
DAMAGED = (*BROKEN_ZIP, ArchiveLoadFailed, OSError, AttributeError, TypeError, IndexError)
"""What is raised for a file that is none, is damaged, or has a record that lacks what every record has."""
IN_WACZ = re.compile(r"archive/.+\.warc(?:\.gz)?", re.DOTALL)
PAGES = "pages/pages.jsonl"
"""The list of pages that a crawl began with."""

logging.getLogger("warcio").addHandler(logging.NullHandler())       # without one it writes to standard error


@dataclass
class _Record:
    """An answer as it was read; its body is `size` bytes at `at` in the file of bodies. `ids` are its own name and that
    of its request; a revisit's status is 0 where it has no head.
    """

    exchange: Exchange
    is_revisit: bool
    ids: tuple[str, str]
    digest: str
    at: int
    size: int


def warc_source(path: Path) -> Source:
    """Read a WARC file, or those in a WACZ. Raises one of DAMAGED when it is a WACZ and cannot be read."""
    is_wacz, remarks = path.name.lower().endswith(".wacz"), list[str]()
    pages = wacz_pages(path) if is_wacz else []
    return Source(_exchanges(path, warcs_in(path) if is_wacz else [path.open("rb")], remarks),
                  {url: url for url in pages}, remarks=remarks)


def _exchanges(path: Path, files: Iterable[IO[bytes]], remarks: list[str]) -> Iterator[Exchange]:
    """Give what is in the files, in order. Raises InputError, or one of DAMAGED, where nothing is in them."""
    with TemporaryFile() as bodies:
        read = _Reading(bodies, [], {})
        for file in files:
            with file:
                remarks += read.add(file, path.name)
        if not read.records:
            raise InputError(f"{path}:1: no answers of servers in it; give a WARC of a crawl")
        originals = {record.digest: record for record in reversed(read.records)
                     if record.digest and not record.is_revisit and not record.exchange.error}
        for record in read.records:
            exchange = _answer(record, originals, bodies)
            request = next(filter(None, map(read.requests.get, record.ids)), exchange.request)
            exchange = replace(exchange, request=replace(request, url=exchange.request.url))
            yield replace(exchange, error="") if request.method == "HEAD" else exchange


@dataclass
class _Reading:
    """What was read so far: answers, their bodies, and requests, by their own name and by that of their answer."""

    bodies: IO[bytes]
    records: list[_Record]
    requests: dict[str, Request]

    def add(self, file: IO[bytes], name: str) -> list[str]:
        """Add what a file holds, and return what could not be read. It ends where something else than a record stands:
        then the answer before that is missing, since it has another length than its record says.
        """
        before = len(self.records)
        try:
            for record in records_in(file):
                url = without_fragment(as_browsers_ask(record.rec_headers.get_header("WARC-Target-URI") or ""))
                if record.rec_type == "request" and record.http_headers is not None:
                    self._add_request(record, url)
                elif record.rec_type in ANSWERS and url.startswith(("http://", "https://")):
                    self._add_answer(record, url)
        except DAMAGED as error:
            if isinstance(error, OSError) and error.errno in (*NO_FAULT_OF_OURS, errno.EFBIG):
                raise
            words = " ".join(str(error).split())[:160]
            if len(self.records) == before:
                raise ValueError(f"not a WARC: {words}") from None
            if isinstance(error, ArchiveLoadFailed):
                self.records[-1].exchange = replace(self.records[-1].exchange, error=CUT)
            return [f"{name} breaks off at its answer {len(self.records) - before} ({words}): what came then is "
                    "missing"]
        return []

    def _add_request(self, record: ArcWarcRecord, url: str) -> None:
        head = record.rec_headers.get_header
        line = f"{record.http_headers.protocol or ''} {record.http_headers.statusline or ''}".split()
        request = Request(line[0].upper() if line else "GET", url, _headers_in(record.http_headers),
                          record.raw_stream.read(LARGEST_BODY))
        self.requests |= dict.fromkeys(
            filter(None, (head("WARC-Record-ID"), head("WARC-Concurrent-To"))), request)

    def _add_answer(self, record: ArcWarcRecord, url: str) -> None:
        """Read an answer, unless it broke off before its status."""
        head, http, is_revisit = record.rec_headers.get_header, _final_head(record), record.rec_type == "revisit"
        status = int(http.get_statuscode()) if http and STATUS.fullmatch(http.get_statuscode() or "") else 0
        if not status and not is_revisit:
            return
        headers = _headers_in(http)
        sent: bytes = record.raw_stream.read(LARGEST_BODY)
        left = record.raw_stream.limit if isinstance(record.raw_stream, LimitReader) else 0
        is_chunked = "chunked" in header_in(headers, "transfer-encoding").lower()
        joined = without_chunks(sent) if is_chunked and sent else sent
        body = joined or b""
        truncated, protocol = head("WARC-Truncated") or "", head("WARC-Protocol") or ""
        is_all = not left and (truncated == UNSPECIFIED or (
            not truncated and joined is not None and len(body) >= stated_bytes(headers)))
        # A player breaks off most parts: of these some is enough.
        is_cut = (status == HTTPStatus.OK and not is_all) or (status == HTTPStatus.PARTIAL_CONTENT and not body)
        error = CUT if is_cut and not is_revisit else ""
        answer = Answer(
            status, http.statusline.partition(" ")[2] if status else "",
            H2 if any(map(is_over_http2, protocol.split(", "))) else http.protocol if status else "", headers,
            header_in(headers, "content-type"), body_bytes=(stated_bytes(headers) or len(sent) + left) if error else 0)
        exchange = Exchange(request=Request("GET", url), answer=answer, started=moment_of(head("WARC-Date")),
                            error=CACHED if status == HTTPStatus.NOT_MODIFIED else error)
        ids = head("WARC-Record-ID") or "", head("WARC-Concurrent-To") or ""
        self.records.append(_Record(exchange, is_revisit, ids, head("WARC-Payload-Digest") or "",
                                    self.bodies.seek(0, io.SEEK_END), len(body)))
        self.bodies.write(body)


def records_in(file: IO[bytes]) -> Iterator[ArcWarcRecord]:
    """Give the records of a file, whatever was compressed together. Raises one of DAMAGED where it is none, or ends."""
    stream: Any = gzip.GzipFile(fileobj=file) if file.peek(2)[:2] == GZIP else file     # type: ignore[attr-defined]
    loader = ArcWarcRecordLoader(verify_http=False)
    while line := stream.readline():
        if line.strip():
            record = loader.parse_record_stream(stream, line, "warc")
            yield record
            record.raw_stream.read()


def _headers_in(http: Any) -> Headers:
    """Return the headers of an HTTP message, if there is one."""
    return tuple((str(name), str(value)) for name, value in http.headers) if http is not None else ()


def _final_head(record: ArcWarcRecord) -> Any:
    """Return the head of the answer in a record, which may stand behind that of a 103."""
    http = record.http_headers
    with suppress(EOFError, StatusAndHeadersParserException):
        while record.rec_type == "response" and http and INTERIM.fullmatch(http.get_statuscode() or ""):
            http = StatusAndHeadersParser(["HTTP/1.0", "HTTP/1.1"]).parse(record.raw_stream)
    return http


def _answer(record: _Record, originals: dict[str, _Record], bodies: IO[bytes]) -> Exchange:
    """Return the answer of a record with its body; the body is the original's when it is a revisit, and its head, too,
    if it has none.
    """
    exchange, source = record.exchange, record
    if record.is_revisit:
        if record.digest not in originals:
            return replace(exchange, error=ELSEWHERE)
        source = originals[record.digest]
        if not exchange.answer.status:
            exchange = replace(exchange, answer=source.exchange.answer)
    if exchange.error:
        return exchange
    bodies.seek(source.at)
    answer, body = exchange.answer, bodies.read(source.size)
    named, undone = answer.header("content-encoding"), answer.header(f"{UNDONE}content-encoding")
    headers = without(answer.headers or (), f"{UNDONE}content-encoding", f"{UNDONE}transfer-encoding")
    is_decoded = bool(undone) and not named
    return with_body(replace(exchange, answer=replace(answer, headers=headers)), body, named or undone,
                     (not is_decoded and stated_bytes(headers)) or UNKNOWN, is_decoded=is_decoded)


def warcs_in(wacz: Path) -> Iterator[IO[bytes]]:
    """Give the WARC files in a WACZ."""
    with zipfile.ZipFile(wacz) as archive:
        yield from map(archive.open, filter(IN_WACZ.fullmatch, archive.namelist()))


def wacz_pages(wacz: Path) -> list[str]:
    """Return the URLs of the pages that a WACZ lists, each once; none without a list."""
    urls: dict[str, str] = {}
    with zipfile.ZipFile(wacz) as archive:
        for line in archive.read(PAGES).split(b"\n") if PAGES in archive.namelist() else ():
            with suppress(ValueError, AttributeError):
                url = parse_json(line.decode()).get("url")
                if isinstance(url, str):
                    urls.setdefault(document_url(url), url)
    return list(urls.values())
