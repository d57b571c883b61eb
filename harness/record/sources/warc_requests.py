"""The requests in WARC files, and which answer each belongs to.

The method and body of a request are in its own record, which names the response's or is named by it
(WARC-Concurrent-To), or, where records name none (Scoop's), stands beside it; without such a record it was a GET.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from warcio.recordloader import ArcWarcRecord  # type: ignore[import-untyped]

from harness.files.encoding import LARGEST_BODY
from harness.files.exchange import Request
from harness.files.headers import Headers

Named = tuple[str, str, str]
"""The id of an answer's record, the one that it names, and its URL."""


@dataclass
class Asked:
    """What a request record holds; `place` is how many answers stand before it."""

    request: Request
    place: int
    record_id: str
    concurrent_to: str


def by_answer(answers: Sequence[Named], asked: Sequence[Asked]) -> list[Request | None]:
    """Return the request that each answer is to, None where there is none."""
    by_response = {request.concurrent_to: request for request in asked if request.concurrent_to}
    by_id = {request.record_id: request for request in asked}
    found: Sequence[Asked | None]
    if by_response or any(concurrent_to for _, concurrent_to, _ in answers):
        found = [by_response.get(own) or by_id.get(concurrent_to) for own, concurrent_to, _ in answers]
    else:
        beside = ({(request.request.url, request.place - shift): request for request in asked} for shift in (0, 1))
        found = max(([requests.get((url, at)) for at, (*_, url) in enumerate(answers)]
                     for requests in beside), key=lambda requests: -requests.count(None))
    return [each.request if each else None for each in found]


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
