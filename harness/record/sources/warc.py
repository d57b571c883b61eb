"""WARC files (ISO 28500), and ARC ones before them, compressed or not, as crawlers and web archives write them.

A record that was cut (WARC-Truncated), has fewer bytes than its answer's Content-Length says, or ends inside a chunk
is without its body. The index keeps where each record is and reads it when it is asked for. A "revisit" record stands
for an earlier one with the same payload, which may lie in a file that is not there, or not be whole itself. One with
the status 304 is what a crawler got that had the page already: a browser, which has not, gets that page. The method and
body of a request are in its own record, which names the response's or is named by it (WARC-Concurrent-To), or, where
records name none (Scoop's), stands beside it; without such a record it was a GET.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from http import HTTPStatus
from pathlib import Path

from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]
from warcio.recordloader import ArcWarcRecord  # type: ignore[import-untyped]

from harness.errors import InputError
from harness.files.har import H2, is_over_http2
from harness.files.headers import Headers
from harness.mirror.asked import Asked, headers_of
from harness.record.sources.answers import Entry, Index, hash_of, masked_hash_of, status_code, without_fragment
from harness.record.sources.archived import ArchivedAnswer
from harness.record.sources.encoding import honest_encoding, says_chunked, without_chunks
from harness.record.sources.parts import bytes_in_part
from harness.record.sources.records import (
    NO_WARC,
    Budget,
    TooLargeError,
    body_of,
    read_records,
    record_at,
    whole_budget,
)

ANSWERS = ("response", "revisit", "resource")
WITH_BODY = (HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT, HTTPStatus.NOT_MODIFIED)
"""A 304 stands for a body that the crawler, but no browser here, had already."""
NUMBER = re.compile("[0-9]{1,18}")
ENCODING_ADDS = 64
"""Bytes by which an encoded body may be larger than the decoded one, if that is small."""
LEAST_OF_WHOLE = 0.99
"""A body of this share of its Content-Length is whole: somebody edited it (GitHub iipc/webarchive-commons)."""
UNSPECIFIED = "unspecified"
"""Why a record was cut, as our own export says it of what the browser itself gave up."""
ONE_GZIP = "non-chunked gzip"
"""How warcio calls a file whose records are not compressed one by one, so that it can find only the first."""


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
    digest: str
    lost_bytes: int | None
    """Size of a body that the record does not have whole; None for one that it has."""

    @property
    def is_not_modified(self) -> bool:
        """Whether a server said that a page is what the crawler had already."""
        return self.status == HTTPStatus.NOT_MODIFIED


@dataclass(frozen=True)
class _Asked:
    """What a request record holds."""

    method: str
    body_hash: str
    masked_hash: str
    purpose: tuple[bool | None, bool]
    url: str
    place: int
    """How many answers stand before it."""
    record_id: str
    concurrent_to: str


def read_warcs(paths: Iterable[Path], source: Path) -> Index:
    """Return the exchanges in WARC files, in order; `source` is the file that the user gave.

    Raises InputError when a file is none or too large, or nothing is in them.
    """
    places: list[_RecordHead] = []
    asked: list[_Asked] = []
    budget = whole_budget()
    for path in paths:
        _scan(path, source, budget, places, asked)
    if not places:
        raise InputError(f"{source}:1: no answers of servers in it; give a WARC of a crawl")
    requests = _by_answer(places, asked)
    originals = _originals(places)
    index, lost = Index(), {}
    for place, request in zip(places, requests, strict=True):
        original = originals.get(place.digest) if place.kind == "revisit" else None
        lost_bytes = place.lost_bytes if place.kind != "revisit" else _lost_with(original, place)
        if lost_bytes is not None and not (request and request.method == "HEAD"):
            lost[without_fragment(place.url)] = lost_bytes
            continue
        status = original.status if original and place.is_not_modified else place.status
        index.entries.append(Entry(request.method if request else "GET", without_fragment(place.url), status,
                                   partial(_read, place, original), request.body_hash if request else "",
                                   request.purpose if request else (None, False),
                                   request.masked_hash if request else ""))
    index.without_body = lost
    return index


def _scan(path: Path, source: Path, budget: Budget, places: list[_RecordHead], asked: list[_Asked]) -> None:
    """Add what the file holds. A file that breaks off keeps what came before."""
    before = len(places)
    try:
        for record, records in read_records(path, budget):
            url = record.rec_headers.get_header("WARC-Target-URI") or ""
            if record.rec_type == "request" and record.http_headers is not None:
                asked.append(_asked(record, url, len(places)))
            elif record.rec_type in ANSWERS and url.startswith(("http://", "https://")):
                place = _place(path, records, record, url)
                places += [place] if place else []
    except OSError as error:
        raise InputError(f"{source}:1: cannot be read ({error.strerror}); give a WARC file") from None
    except TooLargeError as error:
        raise InputError(f"{source}:1: cannot be read ({error}); give a smaller one") from None
    except NO_WARC as error:
        if ONE_GZIP in str(error):
            raise InputError(f"{source}:1: not a WARC (its records are not compressed one by one); give it unpacked, "
                             "as gunzip does") from None
        if len(places) == before:
            words = " ".join(str(error).split())[:160]
            raise InputError(f"{source}:1: not a WARC ({words}); give a .warc or .warc.gz file") from None


def _place(path: Path, records: ArchiveIterator, record: ArcWarcRecord, url: str) -> _RecordHead | None:
    """Return where a record is; None for an answer that broke off before its status."""
    head = record.rec_headers.get_header
    http = record.http_headers
    status = status_code(http.get_statuscode() or "") if http is not None else HTTPStatus.OK
    if status is None and record.rec_type == "response":
        return None
    status = status or HTTPStatus.OK
    lost_bytes = _lost_bytes(record, status)        # before the offset, for which the record is read to its end
    return _RecordHead(path, records.get_record_offset(), record.rec_type, url, status, head("WARC-Record-ID") or "",
                       head("WARC-Concurrent-To") or "", head("WARC-Payload-Digest") or "", lost_bytes)


def _lost_bytes(record: ArcWarcRecord, status: int) -> int | None:
    """Return the size of a body that its record does not have whole, 0 where nobody knows; None for one that is whole.

    Crawlers that decode bodies keep the Content-Length of the encoded one: a few bytes decode to fewer.
    """
    if record.rec_type == "revisit" or record.http_headers is None or status not in WITH_BODY:
        return None
    if status == HTTPStatus.NOT_MODIFIED:
        return 0
    header = record.http_headers.get_header
    length = header("Content-Length") or ""
    told = int(length) if NUMBER.fullmatch(length) and not header("Transfer-Encoding") else 0
    there: int = record.payload_length
    if status == HTTPStatus.PARTIAL_CONTENT:    # a player breaks off most parts
        return None if there else bytes_in_part(header("Content-Range") or "")
    truncated = record.rec_headers.get_header("WARC-Truncated")
    adds = ENCODING_ADDS if header("Content-Encoding") else 0
    is_enough = there >= LEAST_OF_WHOLE * told - adds
    if truncated == UNSPECIFIED or (not truncated and is_enough and not _ends_inside_a_chunk(record)):
        return None
    return told


def _ends_inside_a_chunk(record: ArcWarcRecord) -> bool:
    """Say whether the body of a record was broken off so, or is too large for us to know."""
    if not says_chunked(tuple(record.http_headers.headers)):
        return False
    try:
        return not without_chunks(body_of(record))[1]
    except TooLargeError:
        return True


def _originals(places: list[_RecordHead]) -> dict[str, _RecordHead]:
    """Return the records that revisits may stand for, by their digest: of several the first whole one, if any is."""
    candidates = [place for place in reversed(places) if place.digest and place.kind != "revisit"]
    return {place.digest: place for place in sorted(candidates, key=lambda place: place.lost_bytes is None)}


def _lost_with(original: _RecordHead | None, revisit: _RecordHead) -> int | None:
    """Return the size of a body that a revisit lacks with what it stands for, None when that is there whole.

    A server says of a page that it was not modified; where its record has the digest of something else, say of nothing,
    nobody knows which page.
    """
    if original is None or (revisit.is_not_modified and original.status != HTTPStatus.OK):
        return 0
    return original.lost_bytes


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
    headers = headers_of((str(name), str(value)) for name, value in record.http_headers.headers)
    body = body_of(record)
    return _Asked(line[0].upper() if line else "GET", hash_of(body), masked_hash_of(body), Asked(headers).purpose, url,
                  place, head("WARC-Record-ID") or "", head("WARC-Concurrent-To") or "")


def _read(place: _RecordHead, original: _RecordHead | None) -> ArchivedAnswer:
    """Return a record as an answer; the body is the `original`'s when it is a revisit, and its head, too, if that says
    only that nothing was modified.
    """
    answer = _record(place)
    if original is not None:
        of_original = _record(original)
        answer = (replace(of_original, url=place.url, captured=answer.captured) if place.is_not_modified
                  else replace(answer, headers=answer.headers or of_original.headers, body=of_original.body))
    body = without_chunks(answer.body)[0] if says_chunked(answer.headers) else answer.body
    return replace(answer, headers=honest_encoding(answer.headers, body), body=body)


def _record(place: _RecordHead) -> ArchivedAnswer:
    """Return the record at a place, its body as it stands there."""
    with record_at(place.path, place.offset) as record:
        body = body_of(record)
        head, http = record.rec_headers.get_header, record.http_headers
        captured = _time(head("WARC-Date") or "")
        if http is None:
            headers: Headers = (("Content-Type", head("Content-Type") or ""),)
            return ArchivedAnswer(place.url, place.status, "OK", headers, body, captured=captured)
        headers = tuple((str(name), str(value)) for name, value in http.headers)
        return ArchivedAnswer(place.url, place.status, http.statusline.partition(" ")[2], headers, body,
                              _protocol(head("WARC-Protocol") or "") or http.protocol or "", captured)


def _protocol(said: str) -> str:
    """Return H2 where one of the protocols in a WARC-Protocol is HTTP/2 or HTTP/3, "" otherwise."""
    return H2 if any(is_over_http2(part.strip()) for part in said.split(",")) else ""


def _time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
