"""A recording as a WARC file (ISO 28500): a response record and a request record for each exchange.

Chunks and frames were undone when it was recorded, so Transfer-Encoding is left out and Content-Length is the body's
(of an answer to a HEAD, the recorded one); the content-encoding stays. What was spoken stands in WARC-Protocol, for the
head of a record is always HTTP/1.1's.
"""

import io
import uuid
from collections.abc import Iterable
from datetime import timezone
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from warcio.statusandheaders import StatusAndHeaders  # type: ignore[import-untyped]
from warcio.warcwriter import WARCWriter  # type: ignore[import-untyped]

from harness.files.exchange import Exchange
from harness.files.har import H2
from harness.files.headers import without
from harness.files.moments import EPOCH
from harness.mirror.alike import path_and_query

FRAMING = ("transfer-encoding", "content-length")
SOFTWARE = "TFO Lab"


class Written(NamedTuple):
    """Where the record of an answer is in a file: `size` bytes from `offset` on, and the digest of the body."""

    exchange: Exchange
    digest: str
    offset: int
    size: int


def write_warc(file: Path, exchanges: Iterable[Exchange]) -> list[Written]:
    """Write the exchanges into `file`, each record compressed by itself unless the name ends in ``.warc``."""
    written = []
    with file.open("wb") as output:
        writer = WARCWriter(output, gzip=not file.name.lower().endswith(".warc"), warc_version="WARC/1.1")
        writer.write_record(writer.create_warcinfo_record(file.name, {"software": SOFTWARE, "format": "WARC 1.1"}))
        for exchange in exchanges:
            offset, response, request = output.tell(), _response(writer, exchange), _request(writer, exchange)
            writer.write_record(response)
            told = response.rec_headers.get_header
            written.append(Written(exchange, told("WARC-Payload-Digest"), offset, output.tell() - offset))
            request.rec_headers.add_header("WARC-Concurrent-To", told("WARC-Record-ID"))
            writer.write_record(request)
    return written


def _response(writer: Any, exchange: Exchange) -> Any:
    answer, body = exchange.answer, exchange.answer.content or b""
    headers = [*without(answer.headers or (), *FRAMING)]
    length = answer.header("content-length") if exchange.request.method == "HEAD" else str(len(body))
    if length and answer.status not in (204, 304):
        headers.append(("Content-Length", length))
    status = " ".join((str(answer.status), *answer.reason.split()))     # on one line, whatever others recorded
    http = _head(status, headers, protocol="HTTP/1.1")
    more = _named(exchange) | ({"WARC-Truncated": "unspecified"} if answer.partial else {})
    return writer.create_warc_record(exchange.request.url, "response", io.BytesIO(body), len(body), http_headers=http,
                                     warc_headers_dict=more)


def _request(writer: Any, exchange: Exchange) -> Any:
    request = exchange.request
    headers = [*without(request.headers, *FRAMING)]
    if not request.header("host"):
        headers.insert(0, ("Host", urlsplit(request.url).netloc))
    if request.body:
        headers.append(("Content-Length", str(len(request.body))))
    http = _head(f"{request.method} {path_and_query(request.url)} HTTP/1.1", headers, is_http_request=True)
    return writer.create_warc_record(request.url, "request", io.BytesIO(request.body), len(request.body),
                                     http_headers=http, warc_headers_dict=_named(exchange))


def _named(exchange: Exchange) -> dict[str, str]:
    """Return the headers of a record that both of an exchange's have."""
    return {"WARC-Record-ID": f"<urn:uuid:{uuid.uuid4()}>", "WARC-Date": date_of(exchange),
            "WARC-Protocol": H2 if exchange.answer.http2 else "http/1.1"}


def date_of(exchange: Exchange) -> str:
    """Return when it was asked for, as ISO 8601 in UTC."""
    return (exchange.started or EPOCH).astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _head(first_line: str, headers: list[tuple[str, str]], **more: Any) -> Any:
    """Return the head of a message. What is not ASCII stands there as UTF-8, as sites send it: warcio would
    percent-encode it in a header, and takes none in a status line ("404 Non trouvé").
    """
    head = StatusAndHeaders(first_line, _lines(headers), **more)
    head.to_ascii_bytes = head.to_bytes
    return head


def _lines(headers: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return one header for each line: Chrome joins several Set-Cookie by a line break."""
    return [(name, line) for name, value in headers for line in value.split("\n")]
