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
from typing import Any
from urllib.parse import urlsplit

from warcio.statusandheaders import StatusAndHeaders  # type: ignore[import-untyped]
from warcio.warcwriter import WARCWriter  # type: ignore[import-untyped]

from harness.files.headers import header_in
from harness.record.export.exchanges import RecordedExchange

FRAMING = ("transfer-encoding", "content-length")
SOFTWARE = "TFO Lab"


def write_warc(file: Path, exchanges: Iterable[RecordedExchange]) -> None:
    """Write the exchanges into `file`, each record compressed by itself unless the name ends in ``.warc``."""
    with file.open("wb") as output:
        writer = WARCWriter(output, gzip=not file.name.lower().endswith(".warc"), warc_version="WARC/1.1")
        writer.write_record(writer.create_warcinfo_record(file.name, {"software": SOFTWARE, "format": "WARC 1.1"}))
        for exchange in exchanges:
            writer.write_request_response_pair(_request(writer, exchange), _response(writer, exchange))


def _response(writer: Any, exchange: RecordedExchange) -> Any:
    headers = [(name, value) for name, value in exchange.headers if name.lower() not in FRAMING]
    length = header_in(exchange.headers, "content-length") if exchange.method == "HEAD" else str(len(exchange.body))
    if length and exchange.status not in (204, 304):
        headers.append(("Content-Length", length))
    status = " ".join((str(exchange.status), *exchange.reason.split()))     # on one line, whatever others recorded
    http = _head(status, headers, protocol="HTTP/1.1")
    more = _named(exchange) | ({} if exchange.whole else {"WARC-Truncated": "unspecified"})
    return writer.create_warc_record(exchange.url, "response", io.BytesIO(exchange.body), len(exchange.body),
                                     http_headers=http, warc_headers_dict=more)


def _request(writer: Any, exchange: RecordedExchange) -> Any:
    parts = urlsplit(exchange.url)
    target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    headers = [(name, value) for name, value in exchange.request_headers if name.lower() not in FRAMING]
    if not any(name.lower() == "host" for name, _ in headers):
        headers.insert(0, ("Host", parts.netloc))
    if exchange.sent:
        headers.append(("Content-Length", str(len(exchange.sent))))
    http = _head(f"{exchange.method} {target} HTTP/1.1", headers, is_http_request=True)
    return writer.create_warc_record(exchange.url, "request", io.BytesIO(exchange.sent), len(exchange.sent),
                                     http_headers=http, warc_headers_dict=_named(exchange))


def _named(exchange: RecordedExchange) -> dict[str, str]:
    """Return the headers of a record that both of an exchange's have."""
    date = exchange.captured.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return {"WARC-Record-ID": f"<urn:uuid:{uuid.uuid4()}>", "WARC-Date": date,
            "WARC-Protocol": "h2" if exchange.http2 else "http/1.1"}


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
