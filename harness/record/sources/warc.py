"""WARC files (ISO 28500), and WACZ files (https://specs.webrecorder.net/wacz/1.1.1/), which are zips of them.

Bodies wait in a file of their own until all is read, since a "revisit" record stands for another one with the digest of
the same payload. The method and body of a request are in a record of its own, which names the response's or is named by
it (WARC-Concurrent-To); without such a record it was a GET.

An answer is missing that was cut (WARC-Truncated), in which its file ends or is damaged, that has fewer bytes than its
Content-Length says, or that ends inside a chunk; a revisit of one that is missing or in another file; what the crawler
had already (304); and one whose body cannot be what it is called. Where a file is damaged it ends.
"""

import gzip
import io
import logging
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
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
from harness.files.exchange import H2, Answer, Exchange, Request, is_over_http2
from harness.files.headers import Headers, header_in
from harness.files.moments import moment_of
from harness.files.packed import BROKEN_ZIP
from harness.files.urls import as_browsers_ask, document_url, without_fragment
from harness.record.sources.body import CACHED, MOST_BYTES, TOO_MUCH, stated_bytes, with_body, without_chunks
from harness.system.untrusted import LARGEST_FILE, parse_json

ANSWERS = ("response", "revisit")
UNSPECIFIED = "unspecified"
"""Why a record was cut, as our own export says it of what the browser itself gave up."""
INTERIM = re.compile("1(?!01)[0-9][0-9]")
"""The status of an answer before the answer; 101 is one to a WebSocket's request."""
STATUS = re.compile("[2-5][0-9][0-9]")
CUT, ELSEWHERE = "its record does not have all of it", "its body is in another file (a revisit)"
GZIP = b"\x1f\x8b"
DAMAGED = (*BROKEN_ZIP, ArchiveLoadFailed, OSError, AttributeError, TypeError, IndexError)
"""What is raised for a file that is none, is damaged, or has a record that lacks what every record has."""
IN_WACZ = re.compile(r"archive/.+\.warc(?:\.gz)?", re.DOTALL)
PAGES = "pages/pages.jsonl"
"""The list of pages that a crawl began with."""

logging.getLogger("warcio").addHandler(logging.NullHandler())       # without one it writes to standard error


@dataclass
class _Record:
    """An answer as it was read; its body is `size` bytes at `at` in the file of bodies."""

    exchange: Exchange
    kind: str
    record_id: str
    concurrent_to: str
    digest: str
    has_head: bool
    at: int = 0
    size: int = 0


class WarcSource:
    """A WARC file, or those in a WACZ: iterate over it for its exchanges, in order. `pages` are the URLs of the pages
    that it names, by themselves; `remarks` say what could not be read, once they were read.
    """

    load_ends: Mapping[str, datetime] = {}
    live: Sequence[Exchange] = ()

    def __init__(self, path: Path) -> None:
        """Read the names of its pages. Raises InputError, or one of DAMAGED, when it is a WACZ and cannot be read."""
        self.remarks: list[str] = []
        self._path, self._is_wacz = path, path.name.lower().endswith(".wacz")
        self.pages = {url: url for url in wacz_pages(path)} if self._is_wacz else dict[str, str]()
        self._records: list[_Record] = []
        self._requests: dict[str, Request] = {}
        """By the name of their own record, and by that of their answer's."""

    def __iter__(self) -> Iterator[Exchange]:
        """Give what is in the files. Raises InputError, or one of DAMAGED, where nothing is in them."""
        with TemporaryFile() as bodies:
            for file in warcs_in(self._path) if self._is_wacz else [self._path.open("rb")]:
                with file:
                    self._read(file, bodies)
            if not self._records:
                raise InputError(f"{self._path}:1: no answers of servers in it; give a WARC of a crawl")
            originals: dict[str, _Record] = {}
            for record in sorted(self._records, key=lambda record: bool(record.exchange.error)):    # whole ones first
                if record.digest and record.kind == "response":
                    originals.setdefault(record.digest, record)
            for record in self._records:
                answer = _answer(record, originals, bodies)
                request = self._requests.get(record.record_id) or self._requests.get(record.concurrent_to)
                if request is not None:
                    answer = replace(answer, request=replace(request, url=answer.request.url))
                yield replace(answer, error="") if answer.request.method == "HEAD" else answer

    def _read(self, file: IO[bytes], bodies: IO[bytes]) -> None:
        """Add what a file holds. It ends where something else than a record stands, and the answer before that is whole
        only if its Content-Length says so: some records are longer than they say.
        """
        before = len(self._records)
        try:
            for record in records_in(file):
                url = without_fragment(as_browsers_ask(record.rec_headers.get_header("WARC-Target-URI") or ""))
                if record.rec_type == "request" and record.http_headers is not None:
                    self._add_request(record, url)
                elif record.rec_type in ANSWERS and url.startswith(("http://", "https://")):
                    is_cut = self._add_answer(record, url, bodies)
                    if bodies.tell() > MOST_BYTES:
                        raise InputError(f"{self._path}:1: {TOO_MUCH}")
                    if is_cut:
                        raise EOFError("inside it")
        except DAMAGED as error:
            if isinstance(error, OSError) and error.errno in NO_FAULT_OF_OURS:
                raise
            words = " ".join(str(error).split())[:160]
            if len(self._records) == before:
                raise ValueError(f"not a WARC: {words}") from None
            last = self._records[-1]
            told = stated_bytes(last.exchange.answer.headers or ())
            if isinstance(error, ArchiveLoadFailed) and not 0 < told <= last.size:
                last.exchange = replace(last.exchange, error=CUT)
            self.remarks.append(f"{self._path.name} breaks off at its answer {len(self._records) - before} ({words}): "
                                "what came then is missing")

    def _add_request(self, record: ArcWarcRecord, url: str) -> None:
        head = record.rec_headers.get_header
        line = f"{record.http_headers.protocol or ''} {record.http_headers.statusline or ''}".split()
        request = Request(line[0].upper() if line else "GET", url, _headers_in(record.http_headers),
                          record.raw_stream.read(LARGEST_BODY))
        self._requests |= dict.fromkeys(
            filter(None, (head("WARC-Record-ID"), head("WARC-Concurrent-To"))), request)

    def _add_answer(self, record: ArcWarcRecord, url: str, bodies: IO[bytes]) -> bool:
        """Read an answer, unless it broke off before its status; say whether its file ends inside it."""
        head, http = record.rec_headers.get_header, _final_head(record)
        status = int(http.get_statuscode()) if http and STATUS.fullmatch(http.get_statuscode() or "") else 0
        if not status and record.rec_type == "response":
            return False
        headers, is_whole = _headers_in(http), True
        body: bytes = record.raw_stream.read(LARGEST_BODY + 1)
        left = record.raw_stream.limit if isinstance(record.raw_stream, LimitReader) else 0
        whole, is_cut = len(body) + left, left > 0 and len(body) <= LARGEST_BODY
        if "chunked" in header_in(headers, "transfer-encoding").lower():
            body, is_whole = without_chunks(body)
        missing = CACHED if status == HTTPStatus.NOT_MODIFIED else "" if record.rec_type == "revisit" else _missing(
            head("WARC-Truncated") or "", status or 200, headers, len(body), is_whole=is_whole and not is_cut)
        answer = Answer(
            status or 200, http.statusline.partition(" ")[2] if status else "OK",
            _protocol(head("WARC-Protocol") or "") or (http.protocol if status else ""), headers,
            header_in(headers, "content-type"), body_bytes=(stated_bytes(headers) or whole) if missing == CUT else 0)
        exchange = Exchange(request=Request("GET", url), answer=answer, started=moment_of(head("WARC-Date")),
                            error=missing)
        self._records.append(_Record(
            exchange, record.rec_type, head("WARC-Record-ID") or "", head("WARC-Concurrent-To") or "",
            head("WARC-Payload-Digest") or "", bool(status), bodies.seek(0, io.SEEK_END), len(body)))
        bodies.write(body)
        return is_cut


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


def _missing(truncated: str, status: int, headers: Headers, there: int, *, is_whole: bool) -> str:
    """Return why the body of an answer is missing, of which so many bytes are there; "" where it is not."""
    if status == HTTPStatus.PARTIAL_CONTENT and there <= LARGEST_BODY:      # a player breaks off most parts
        return "" if there else CUT
    is_all = truncated == UNSPECIFIED or (not truncated and is_whole and there >= stated_bytes(headers))
    return CUT if status == HTTPStatus.OK and not (is_all and there <= LARGEST_BODY) else ""


def _answer(record: _Record, originals: dict[str, _Record], bodies: IO[bytes]) -> Exchange:
    """Return the answer of a record with its body; the body is the original's when it is a revisit, and its head, too,
    if it has none.
    """
    exchange, source = record.exchange, record
    if record.kind == "revisit":
        original = originals.get(record.digest)
        if original is None or original.exchange.error:
            lost_bytes = original.exchange.answer.body_bytes if original else 0
            return replace(exchange, error=CUT if original else ELSEWHERE,
                           answer=replace(exchange.answer, body_bytes=lost_bytes))
        source = original
        if not record.has_head:
            exchange = replace(exchange, answer=original.exchange.answer)
    if exchange.error:
        return exchange
    bodies.seek(source.at)
    return with_body(exchange, bodies.read(source.size))


def _protocol(said: str) -> str:
    """Return H2 where one of the protocols in a WARC-Protocol is HTTP/2 or HTTP/3, "" otherwise."""
    return H2 if any(is_over_http2(part.strip()) for part in said.split(",")) else ""


def warcs_in(wacz: Path) -> Iterator[IO[bytes]]:
    """Give the WARC files in a WACZ."""
    with zipfile.ZipFile(wacz) as archive:
        yield from map(archive.open, filter(IN_WACZ.fullmatch, archive.namelist()))


def wacz_pages(wacz: Path) -> list[str]:
    """Return the URLs of the pages that a WACZ lists, each once; none without a list."""
    urls: dict[str, str] = {}
    with zipfile.ZipFile(wacz) as archive:
        listed = archive.getinfo(PAGES) if PAGES in archive.namelist() else None
        if listed and listed.file_size > LARGEST_FILE:
            raise InputError(f"{wacz}:1: cannot be read (a list of pages of {listed.file_size} bytes); give a smaller "
                             "one")
        for line in archive.read(listed).split(b"\n") if listed else ():
            with suppress(ValueError, AttributeError):
                url = parse_json(line.decode()).get("url")
                if isinstance(url, str):
                    urls.setdefault(document_url(url), url)
    return list(urls.values())
