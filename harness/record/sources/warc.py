"""WARC files (ISO 28500), ARC ones before them, and WACZ files, which are zips of them.

Bodies wait in a file of their own until all is read, since a "revisit" record stands for another one with the same
payload, which it names (WARC-Refers-To) or has the digest of. One with the status 304 is what a crawler got that had
the page already: a browser, which has not, gets that page.

An answer is missing that was cut (WARC-Truncated), in which its file ends, that has fewer bytes than its Content-Length
says, or that ends inside a chunk; a revisit of one that is missing or in another file; and one whose body cannot be
what it is called.
"""

import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from msgspec.structs import replace
from warcio.limitreader import LimitReader  # type: ignore[import-untyped]
from warcio.recordloader import ArcWarcRecord  # type: ignore[import-untyped]
from warcio.statusandheaders import StatusAndHeadersParser, StatusAndHeadersParserException  # type: ignore[import-untyped]

from harness.errors import NO_FAULT_OF_OURS, InputError
from harness.files.encoding import LARGEST_BODY
from harness.files.exchange import H2, Answer, Exchange, Request, is_over_http2
from harness.files.headers import Headers, header_in, part_in
from harness.files.moments import moment_of
from harness.files.packed import BROKEN_ZIP
from harness.files.urls import as_browsers_ask, without_fragment
from harness.record.sources.body import (
    CACHED,
    LEAST_OF_WHOLE,
    MOST_BYTES,
    TOO_MUCH,
    stated_bytes,
    with_body,
    without_chunks,
)
from harness.record.sources.wacz import wacz_pages, warcs_in
from harness.record.sources.warc_records import NO_WARC, Asked, headers_in, read_request, records_in

ANSWERS = ("response", "revisit", "resource")
UNSPECIFIED = "unspecified"
"""Why a record was cut, as our own export says it of what the browser itself gave up."""
INTERIM = re.compile("1(?!01)[0-9][0-9]")
"""The status of an answer before the answer; 101 is one to a WebSocket's request."""
STATUS = re.compile("[2-5][0-9][0-9]")
ENCODING_ADDS = 64
"""Bytes by which an encoded body may be larger than the decoded one, if that is small."""
CUT, ELSEWHERE = "its record does not have all of it", "its body is in another file (a revisit)"


@dataclass
class _Record:
    """An answer as it was read; its body is `size` bytes at `at` in the file of bodies."""

    exchange: Exchange
    kind: str
    record_id: str
    concurrent_to: str
    names: tuple[str, ...]
    """What other records know it by; of a revisit what it knows its original by."""
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
        """Read the names of its pages. Raises InputError when it is a WACZ that has no WARC file."""
        self.name, self.remarks = str(path), list[str]()
        self._path, self._is_wacz = path, path.name.lower().endswith(".wacz")
        with self._readable():
            self.pages = {url: url for url in wacz_pages(path)} if self._is_wacz else dict[str, str]()

    def __iter__(self) -> Iterator[Exchange]:
        """Give what is in the files. Raises InputError where one is no WARC, and where nothing is in them."""
        records: list[_Record] = []
        asked: list[Asked] = []
        with TemporaryFile() as bodies, self._readable():
            files: Iterable[IO[bytes]] = warcs_in(self._path) if self._is_wacz else [self._path.open("rb")]
            for file in files:
                with file:
                    self._read(file, records, asked, bodies)
            if not records:
                raise InputError(f"{self.name}:1: no answers of servers in it; give a WARC of a crawl")
            whole_last = sorted(enumerate(records), key=lambda pair: (not pair[1].exchange.error, -pair[0]))
            originals = {name: each for _, each in whole_last if each.kind != "revisit" for name in each.names}
            for record, request in zip(records, _by_answer(records, asked), strict=True):
                answer = _answer(record, originals, bodies)
                if request is not None:
                    answer = replace(answer, request=replace(request, url=answer.request.url))
                if answer.request.method == "HEAD":
                    answer = replace(answer, error="")
                yield answer

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """Raise InputError for a file that cannot be read."""
        try:
            yield
        except OSError as error:
            if error.errno in NO_FAULT_OF_OURS:     # such as a full disk
                raise
            raise InputError(f"{self.name}:1: cannot be read ({error.strerror}); give a WARC or WACZ file") from None
        except BROKEN_ZIP as error:
            raise InputError(f"{self.name}:1: not a WACZ ({error}); give a zip as Webrecorder's tools make") from None

    def _read(self, file: IO[bytes], records: list[_Record], asked: list[Asked], bodies: IO[bytes]) -> None:
        """Add what a file holds. One that breaks off keeps what came before."""
        before = len(records)
        try:
            for record in records_in(file):
                if isinstance(record, int):
                    self._note_stray_bytes(record, records)
                    continue
                url = without_fragment(as_browsers_ask(record.rec_headers.get_header("WARC-Target-URI") or ""))
                if record.rec_type == "request" and record.http_headers is not None:
                    asked.append(read_request(record, url, len(records)))
                elif record.rec_type in ANSWERS and url.startswith(("http://", "https://")):
                    found, is_cut = _response(record, url, bodies)
                    records += [found] if found else []
                    if bodies.tell() > MOST_BYTES:
                        raise InputError(f"{self.name}:1: {TOO_MUCH}")
                    if is_cut:
                        self._breaks_off(f"inside its answer {len(records) - before}")
        except NO_WARC as error:
            words = " ".join(str(error).split())[:160]
            if len(records) == before:
                raise InputError(f"{self.name}:1: not a WARC ({words}); give a .warc or .warc.gz file") from None
            self._breaks_off(f"after its answer {len(records) - before} ({words})")

    def _note_stray_bytes(self, stray_bytes: int, records: list[_Record]) -> None:
        """Say of the last record that it is longer than it says: then its answer is not whole, unless that tells so."""
        self.remarks.append(f"{Path(self.name).name}: {stray_bytes} bytes behind its answer {len(records)} belong to "
                            "none")
        if records and not 0 < stated_bytes(records[-1].exchange.answer.headers or ()) <= records[-1].size:
            records[-1].exchange = replace(records[-1].exchange, error=CUT)

    def _breaks_off(self, where: str) -> None:
        self.remarks.append(f"{Path(self.name).name} breaks off {where}: what came then is missing")


def _response(record: ArcWarcRecord, url: str, bodies: IO[bytes]) -> tuple[_Record | None, bool]:
    """Read an answer. Return it, None for one that broke off before its status; and whether its file ends inside it."""
    head, http = record.rec_headers.get_header, _final_head(record)
    status = int(http.get_statuscode()) if http and STATUS.fullmatch(http.get_statuscode() or "") else 0
    if not status and record.rec_type == "response":
        return None, False
    headers = headers_in(record, http)
    body: bytes = record.raw_stream.read(LARGEST_BODY + 1)
    lacking = record.raw_stream.limit if isinstance(record.raw_stream, LimitReader) else 0
    is_whole = True
    if "chunked" in header_in(headers, "transfer-encoding").lower():
        body, is_whole = without_chunks(body)
    is_cut = lacking > 0 and not 0 < stated_bytes(headers) <= len(body)     # some count the line ends behind it, too
    missing, lost_bytes = _lost(record, status or 200, headers, len(body), lacking if is_cut else 0, is_whole=is_whole)
    answer = Answer(
        status or 200, http.statusline.partition(" ")[2] if status else "OK",
        _protocol(head("WARC-Protocol") or "") or (http.protocol if status else ""), headers,
        header_in(headers, "content-type"), body_bytes=lost_bytes)
    exchange = Exchange(request=Request("GET", url), answer=answer, started=moment_of(head("WARC-Date")), error=missing)
    found = _Record(exchange, record.rec_type, head("WARC-Record-ID") or "", head("WARC-Concurrent-To") or "",
                    _names(record, url), bool(status), bodies.seek(0, io.SEEK_END), len(body))
    bodies.write(body)
    return found, is_cut


def _final_head(record: ArcWarcRecord) -> Any:
    """Return the head of the answer in a record, which may stand behind that of a 103."""
    http = record.http_headers
    with suppress(EOFError, StatusAndHeadersParserException):
        while record.rec_type == "response" and http and INTERIM.fullmatch(http.get_statuscode() or ""):
            http = StatusAndHeadersParser(["HTTP/1.0", "HTTP/1.1"]).parse(record.raw_stream)
    return http


def _lost(record: ArcWarcRecord, status: int, headers: Headers, there: int, lacking: int, *,
          is_whole: bool) -> tuple[str, int]:
    """Return why the body of an answer is missing, "" where it is whole, and its size, 0 where nobody knows."""
    if record.rec_type == "revisit" or status not in (200, 206, 304):
        return "", 0
    if status == HTTPStatus.NOT_MODIFIED:
        return CACHED, 0
    if there > LARGEST_BODY:
        return CUT, 0
    if status == HTTPStatus.PARTIAL_CONTENT:    # a player breaks off most parts
        part = part_in(headers)
        return ("", 0) if there else (CUT, part[1] - part[0] + 1 if part else 0)
    told, truncated = stated_bytes(headers), record.rec_headers.get_header("WARC-Truncated")
    if lacking:
        return CUT, told or there + lacking
    # Crawlers that decode bodies keep the Content-Length of the encoded one: a few bytes decode to fewer.
    adds = ENCODING_ADDS if header_in(headers, "content-encoding") else 0
    is_all = there >= LEAST_OF_WHOLE * told - adds and is_whole
    return ("", 0) if truncated == UNSPECIFIED or (not truncated and is_all) else (CUT, told)


def _answer(record: _Record, originals: dict[str, _Record], bodies: IO[bytes]) -> Exchange:
    """Return the answer of a record with its body; the body is the original's when it is a revisit, and its head, too,
    if it has none, or one that says only that nothing was modified.
    """
    exchange, source = record.exchange, record
    if record.kind == "revisit":
        original = _original(record, originals)
        if original is None or original.exchange.error:
            lost_bytes = original.exchange.answer.body_bytes if original else 0
            return replace(exchange, error=CUT if original else ELSEWHERE,
                           answer=replace(exchange.answer, body_bytes=lost_bytes))
        source = original
        if exchange.answer.status == HTTPStatus.NOT_MODIFIED or not record.has_head:
            exchange = replace(exchange, answer=original.exchange.answer)
    if exchange.error:
        return exchange
    bodies.seek(source.at)
    return with_body(exchange, bodies.read(source.size))


def _original(revisit: _Record, originals: dict[str, _Record]) -> _Record | None:
    """Return what a revisit stands for, whole if it can be; None where nobody knows.

    A server says of a page that it was not modified; where its record has the digest of something else, say of nothing,
    nobody knows which page.
    """
    named = [originals[name] for name in revisit.names if name in originals]
    fitting = [original for original in named if revisit.exchange.answer.status != HTTPStatus.NOT_MODIFIED
               or original.exchange.answer.status == HTTPStatus.OK]
    return min(fitting, key=lambda original: bool(original.exchange.error), default=None)


def _names(record: ArcWarcRecord, url: str) -> tuple[str, ...]:
    """Return what other records know a record by: its id, its URL and date, its digest. Of a revisit, which may have
    any of them, what it knows its original by.
    """
    head = record.rec_headers.get_header
    record_id, date = head("WARC-Record-ID") or "", head("WARC-Date") or ""
    if record.rec_type == "revisit":
        url = without_fragment(as_browsers_ask(head("WARC-Refers-To-Target-URI") or ""))
        record_id, date = head("WARC-Refers-To") or "", head("WARC-Refers-To-Date") or ""
    return tuple(filter(None, (record_id, f"{date} {url}" if date and url else "", head("WARC-Payload-Digest") or "")))


def _protocol(said: str) -> str:
    """Return H2 where one of the protocols in a WARC-Protocol is HTTP/2 or HTTP/3, "" otherwise."""
    return H2 if any(is_over_http2(part.strip()) for part in said.split(",")) else ""


def _by_answer(answers: Sequence[_Record], asked: Sequence[Asked]) -> list[Request | None]:
    """Return the request that each answer is to, None where there is none."""
    by_response = {request.concurrent_to: request for request in asked if request.concurrent_to}
    by_id = {request.record_id: request for request in asked}
    found: Sequence[Asked | None]
    if by_response or any(answer.concurrent_to for answer in answers):
        found = [by_response.get(answer.record_id) or by_id.get(answer.concurrent_to) for answer in answers]
    else:
        beside = ({(request.request.url, request.place - shift): request for request in asked} for shift in (0, 1))
        found = max(([requests.get((answer.exchange.request.url, at)) for at, answer in enumerate(answers)]
                     for requests in beside), key=lambda requests: -requests.count(None))
    return [each.request if each else None for each in found]
