"""WARC files (ISO 28500), and ARC ones before them, compressed or not, as crawlers and web archives write them.

A record that was cut (WARC-Truncated), in which its file ends, that has fewer bytes than its answer's Content-Length
says, or that ends inside a chunk is without its body, unless the rest follows behind the record: some programs write
lengths that are too small. The index keeps where each record is and reads it when it is asked for. A "revisit" record
stands for an earlier one with the same payload, which it names (WARC-Refers-To) or has the digest of, and which may lie
in a file that is not there, or not be whole itself. One with the status 304 is what a crawler got that had the page
already: a browser, which has not, gets that page. One without an HTTP head is answered as the earlier one was. The
method and body of a request are in its own record, which names the response's or is named by it (WARC-Concurrent-To),
or, where records name none (Scoop's), stands beside it; without such a record it was a GET. What is noise
(harness.files.looks) is without its body, too.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from http import HTTPStatus
from pathlib import Path

from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]
from warcio.recordloader import ArcWarcRecord  # type: ignore[import-untyped]

from harness.errors import NO_FAULT_OF_OURS, InputError
from harness.files.encoding import decode
from harness.files.har import H2, is_over_http2
from harness.files.headers import Headers, header_in
from harness.files.moments import moment_of
from harness.files.urls import as_browsers_ask, document_url
from harness.mirror.asked import Asked, headers_of
from harness.record.sources.answers import Entry, Index, hash_of, masked_hash_of, status_code
from harness.record.sources.archived import ArchivedAnswer
from harness.record.sources.encoding import (
    believed,
    is_as_long_as_told,
    remark_on_noise,
    says_chunked,
    told_bytes,
    without_chunks,
)
from harness.record.sources.parts import bytes_in_part
from harness.record.sources.records import (
    NO_WARC,
    Budget,
    TooLargeError,
    body_of,
    lacking_bytes,
    read_records,
    read_to_end,
    record_at,
    unpacked,
    whole_budget,
)

ANSWERS = ("response", "revisit", "resource")
WITH_BODY = (HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT, HTTPStatus.NOT_MODIFIED)
"""A 304 stands for a body that the crawler, but no browser here, had already."""
UNSPECIFIED = "unspecified"
"""Why a record was cut, as our own export says it of what the browser itself gave up."""
END, LINE_ENDS = b"\r\n\r\n", b"\r\n"
"""What stands behind each record."""


@dataclass(frozen=True)
class _RecordHead:
    """Where a record begins, and what its head says."""

    path: Path
    offset: int
    kind: str
    url: str
    status: int
    record_id: str
    concurrent_to: str
    names: tuple[str, ...]
    """What other records know it by; of a revisit what it knows its original by."""
    has_head: bool
    """Whether it has the head of an HTTP answer."""
    more_bytes: int
    """How many bytes behind its end, as it says, are its own."""
    lost_bytes: int | None
    """Size of a body that the record does not have whole; None for one that it has."""

    @property
    def is_not_modified(self) -> bool:
        """Whether a server said that a page is what the crawler had already."""
        return self.status == HTTPStatus.NOT_MODIFIED

    @property
    def has_no_own_answer(self) -> bool:
        """Whether the head that a browser gets is that of the record's original, and not its own."""
        return self.is_not_modified or not self.has_head


@dataclass(frozen=True)
class _Asked:
    """What a request record holds."""

    method: str
    body_hash: str
    masked_hash: str
    purpose: tuple[bool | None, bool]
    origin: str
    url: str
    place: int
    """How many answers stand before it."""
    record_id: str
    concurrent_to: str


@dataclass
class _Scanned:
    """What was read of a source's files, in order; `breaks` say what could not be read."""

    places: list[_RecordHead] = field(default_factory=list)
    asked: list[_Asked] = field(default_factory=list)
    breaks: list[str] = field(default_factory=list)

    def copy(self) -> "_Scanned":
        """Return what can be added to while this stays as it is."""
        return _Scanned([*self.places], [*self.asked], [*self.breaks])


def read_warcs(paths: Iterable[Path], source: Path, work_dir: Path) -> Index:
    """Return the exchanges in WARC files, in order; `source` is the file that the user gave.

    One whose records are not compressed one by one is unpacked into `work_dir`. Raises InputError when a file is none
    or too large, or nothing is in them.
    """
    scanned, budget = _Scanned(), whole_budget()
    for number, path in enumerate(paths):
        scanned = _scan(path, source, budget, scanned, work_dir / f"{number}.unpacked")
    if not scanned.places:
        raise InputError(f"{source}:1: no answers of servers in it; give a WARC of a crawl")
    requests = _by_answer(scanned.places, scanned.asked)
    originals = _originals(scanned.places)
    index, lost, noise = Index(remarks=scanned.breaks), {}, []
    for place, request in zip(scanned.places, requests, strict=True):
        original = _original(place, originals) if place.kind == "revisit" else None
        lost_bytes = place.lost_bytes if place.kind != "revisit" else original.lost_bytes if original else 0
        if lost_bytes is not None and not (request and request.method == "HEAD"):
            lost[document_url(place.url)] = lost_bytes
            continue
        status = original.status if original and place.has_no_own_answer else place.status
        if status == HTTPStatus.OK and (answer := _read(place, original)).is_noise:
            lost[document_url(place.url)] = len(answer.body)
            noise.append(place.url)
            continue
        index.entries.append(Entry(request.method if request else "GET", document_url(place.url), status,
                                   partial(_read, place, original), request.body_hash if request else "",
                                   request.purpose if request else (None, False),
                                   request.masked_hash if request else "", request.origin if request else ""))
    index.without_body = lost
    index.remarks = [*scanned.breaks, *remark_on_noise(noise)]
    return index


def _scan(path: Path, source: Path, budget: Budget, before: _Scanned, plain: Path) -> _Scanned:
    """Return what was read `before` with what the file holds. A file that breaks off keeps what came before.

    Some programs compress all records together, or each record's head and content by themselves, so that warcio finds
    the first only: then what is unpacked is read.
    """
    try:
        try:
            found = _scanned(path, source, budget, before)
            if found.breaks == before.breaks or not unpacked(path, plain):
                return found
            again = _scanned(plain, source, budget, before)
            return again if len(again.places) > len(found.places) else found
        except NO_WARC:
            if not unpacked(path, plain):
                raise
            return _scanned(plain, source, budget, before)
    except OSError as error:
        if error.errno in NO_FAULT_OF_OURS:     # such as a full disk, while unpacking
            raise
        raise InputError(f"{source}:1: cannot be read ({error.strerror}); give a WARC file") from None
    except TooLargeError as error:
        raise InputError(f"{source}:1: cannot be read ({error}); give a smaller one") from None
    except NO_WARC as error:
        raise InputError(f"{source}:1: not a WARC ({_words(error)}); give a .warc or .warc.gz file") from None


def _scanned(path: Path, source: Path, budget: Budget, before: _Scanned) -> _Scanned:
    """Return what was read `before` with what the file holds. Raises one of NO_WARC where it holds no answer."""
    scanned, records, taken = before.copy(), None, 0
    try:
        for record, records in read_records(path, budget):
            url = as_browsers_ask(record.rec_headers.get_header("WARC-Target-URI") or "")
            if record.rec_type == "request" and record.http_headers is not None:
                scanned.asked.append(_asked(record, url, len(scanned.places)))
            elif record.rec_type in ANSWERS and url.startswith(("http://", "https://")):
                place, lacks_its_end = _place(path, records, record, url)
                if place is not None:
                    scanned.places.append(place)
                    taken += place.more_bytes
                    if lacks_its_end:
                        number = len(scanned.places) - len(before.places)
                        scanned.breaks.append(_break(source, f"inside its answer {number}"))
    except NO_WARC as error:
        number = len(scanned.places) - len(before.places)
        if not number:
            raise
        scanned.breaks.append(_break(source, f"after its answer {number} ({_words(error)})"))
    if records is not None and records.stray_bytes > taken:
        scanned.breaks.append(f"{source.name}: {records.stray_bytes - taken} bytes between its records belong to none")
    return scanned


def _words(error: Exception) -> str:
    return " ".join(str(error).split())[:160]


def _break(source: Path, where: str) -> str:
    return f"{source.name} breaks off {where}: what came then is missing"


def _place(path: Path, records: ArchiveIterator, record: ArcWarcRecord, url: str
           ) -> tuple[_RecordHead | None, bool]:
    """Return where a record is, None for an answer that broke off before its status; and whether its end is missing."""
    found, lacks_its_end = _head(path, record, url)
    offset, more_bytes = records.get_record_offset(), 0
    if records.between.strip(LINE_ENDS):
        more_bytes = _behind_its_end(path, offset, records.between)
        with record_at(path, offset, more_bytes) as whole:
            found, lacks_its_end = _head(path, whole, url)
    return found and replace(found, offset=offset, more_bytes=more_bytes), lacks_its_end


def _behind_its_end(path: Path, offset: int, between: bytes) -> int:
    """Return how many of the bytes `between` a record's end, as it says, and the next record are its own.

    Its answer tells it by its Content-Length. Otherwise they are its own where they stand at its end, without the two
    line breaks that end a record, unless the record is as long as its answer says.
    """
    there = between.removesuffix(END)
    with record_at(path, offset) as record:
        body, headers = body_of(record), _headers(record)
    told = told_bytes(headers)
    if len(body) < told <= len(body) + len(there):
        return told - len(body)
    is_whole = told == len(body) > 0 and decode(body, header_in(headers, "content-encoding"))[1]
    return 0 if is_whole or between.startswith(END) else len(there)


def _head(path: Path, record: ArcWarcRecord, url: str) -> tuple[_RecordHead | None, bool]:
    """Read a record to its end. Return what its head says, None for an answer that broke off before its status; and
    whether its end is missing.
    """
    head = record.rec_headers.get_header
    http = record.http_headers
    status = status_code(http.get_statuscode() or "") if http is not None else HTTPStatus.OK
    is_broken = status is not None and _ends_inside_a_chunk(record)
    read_to_end(record)
    if status is None and record.rec_type == "response":
        return None, False
    has_head, status = http is not None and status is not None, status or HTTPStatus.OK
    return _RecordHead(path, 0, record.rec_type, url, status, head("WARC-Record-ID") or "",
                       head("WARC-Concurrent-To") or "", _names(record, url), has_head, 0,
                       _lost_bytes(record, status, is_broken=is_broken)), _lacks_its_end(record)


def _names(record: ArcWarcRecord, url: str) -> tuple[str, ...]:
    """Return what other records know a record by: its id, its URL and date, its digest. Of a revisit, which may have
    any of them, what it knows its original by.
    """
    head = record.rec_headers.get_header
    digest = head("WARC-Payload-Digest") or ""
    if record.rec_type != "revisit":
        return _named(head("WARC-Record-ID") or "", url, head("WARC-Date") or "", digest)
    return _named(head("WARC-Refers-To") or "", as_browsers_ask(head("WARC-Refers-To-Target-URI") or ""),
                  head("WARC-Refers-To-Date") or "", digest)


def _named(record_id: str, url: str, date: str, digest: str) -> tuple[str, ...]:
    return tuple(name for name in (record_id, f"{date} {url}" if date and url else "", digest) if name)


def _lost_bytes(record: ArcWarcRecord, status: int, *, is_broken: bool) -> int | None:
    """Return the size of a body that its record does not have whole, 0 where nobody knows; None for one that is whole.

    The record was read to its end; `is_broken`: it ends inside a chunk.
    """
    if record.rec_type == "revisit" or status not in WITH_BODY:
        return None
    if status == HTTPStatus.NOT_MODIFIED:
        return 0
    headers = _headers(record)
    there = _body_bytes(record)
    if status == HTTPStatus.PARTIAL_CONTENT:    # a player breaks off most parts
        return None if there else bytes_in_part(header_in(headers, "content-range"))
    if _lacks_its_end(record):
        return told_bytes(headers) or there + lacking_bytes(record)
    truncated = record.rec_headers.get_header("WARC-Truncated")
    if truncated == UNSPECIFIED or (not truncated and is_as_long_as_told(headers, there) and not is_broken):
        return None
    return told_bytes(headers)


def _body_bytes(record: ArcWarcRecord) -> int:
    """Return how many bytes of a body are in a record that was read to its end."""
    said: int = record.length if record.http_headers is None else record.payload_length
    return said - lacking_bytes(record)


def _lacks_its_end(record: ArcWarcRecord) -> bool:
    """Say whether the file ends inside a record, which was read to its end.

    Some writers count too much, such as the line ends behind it (GitHub webrecorder/warcio, example-space-in-url.arc):
    then the answer's own Content-Length tells that all is there.
    """
    return lacking_bytes(record) > 0 and not 0 < told_bytes(_headers(record)) <= _body_bytes(record)


def _headers(record: ArcWarcRecord) -> Headers:
    """Return the headers of an HTTP answer; the type alone of a record that is none."""
    if record.http_headers is None:
        return (("Content-Type", record.rec_headers.get_header("Content-Type") or ""),)
    return tuple((str(name), str(value)) for name, value in record.http_headers.headers)


def _ends_inside_a_chunk(record: ArcWarcRecord) -> bool:
    """Say whether the body of a record was broken off so, or is too large for us to know."""
    if not says_chunked(_headers(record)):
        return False
    try:
        return not without_chunks(body_of(record))[1]
    except TooLargeError:
        return True


def _originals(places: list[_RecordHead]) -> dict[str, _RecordHead]:
    """Return the records that revisits may stand for, by their names: of several the first whole one, if any is."""
    candidates = [place for place in reversed(places) if place.kind != "revisit"]
    return {name: place for place in sorted(candidates, key=lambda place: place.lost_bytes is None)
            for name in place.names}


def _original(revisit: _RecordHead, originals: dict[str, _RecordHead]) -> _RecordHead | None:
    """Return what a revisit stands for, whole if it can be; None where nobody knows.

    A server says of a page that it was not modified; where its record has the digest of something else, say of nothing,
    nobody knows which page.
    """
    named = [originals[name] for name in revisit.names if name in originals]
    fitting = [original for original in named if not revisit.is_not_modified or original.status == HTTPStatus.OK]
    return min(fitting, key=lambda original: original.lost_bytes is not None, default=None)


def _by_answer(places: list[_RecordHead], asked: list[_Asked]) -> list[_Asked | None]:
    """Return the request that each answer is to, None where there is none."""
    by_response = {request.concurrent_to: request for request in asked if request.concurrent_to}
    by_id = {request.record_id: request for request in asked}
    if by_response or any(place.concurrent_to for place in places):
        return [by_response.get(place.record_id) or by_id.get(place.concurrent_to) for place in places]
    before, after = ({(request.url, request.place - shift): request for request in asked} for shift in (0, 1))
    return max(([beside.get((place.url, at)) for at, place in enumerate(places)] for beside in (before, after)),
               key=lambda found: len(places) - found.count(None))


def _asked(record: ArcWarcRecord, url: str, place: int) -> _Asked:
    head = record.rec_headers.get_header
    line = f"{record.http_headers.protocol or ''} {record.http_headers.statusline or ''}".split()
    headers = headers_of(_headers(record))
    body = body_of(record)
    return _Asked(line[0].upper() if line else "GET", hash_of(body), masked_hash_of(body), Asked(headers).purpose,
                  headers.get("origin", ""), url, place, head("WARC-Record-ID") or "", head("WARC-Concurrent-To") or "")


def _read(place: _RecordHead, original: _RecordHead | None) -> ArchivedAnswer:
    """Return a record as an answer; the body is the `original`'s when it is a revisit, and its head, too, if it has
    none, or one that says only that nothing was modified.
    """
    answer = _record(place)
    if original is not None:
        of_original = _record(original)
        answer = (replace(of_original, url=place.url, captured=answer.captured) if place.has_no_own_answer
                  else replace(answer, body=of_original.body))
    body = without_chunks(answer.body)[0] if says_chunked(answer.headers) else answer.body
    found = believed(replace(answer, body=body))
    return found if found is not None else replace(answer, body=body, is_noise=True)


def _record(place: _RecordHead) -> ArchivedAnswer:
    """Return the record at a place, its body as it stands there."""
    with record_at(place.path, place.offset, place.more_bytes) as record:
        body = body_of(record)
        head, http = record.rec_headers.get_header, record.http_headers
        headers, captured = _headers(record), moment_of(head("WARC-Date"))
        if http is None:
            return ArchivedAnswer(place.url, place.status, "OK", headers, body, captured=captured)
        return ArchivedAnswer(place.url, place.status, http.statusline.partition(" ")[2], headers, body,
                              _protocol(head("WARC-Protocol") or "") or http.protocol or "", captured)


def _protocol(said: str) -> str:
    """Return H2 where one of the protocols in a WARC-Protocol is HTTP/2 or HTTP/3, "" otherwise."""
    return H2 if any(is_over_http2(part.strip()) for part in said.split(",")) else ""
