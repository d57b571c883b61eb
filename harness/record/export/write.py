"""A recording as a file that others open, whose name's ending says what kind: ``fetch.py --to``.

WARC (ISO 28500): a response record and a request record for each exchange. Chunks and frames were undone when it was
recorded, so Transfer-Encoding is left out and Content-Length is the body's (of an answer to a HEAD, the recorded one);
the content-encoding stays. What was spoken stands in WARC-Protocol, for the head of a record is always HTTP/1.1's.
"""

import io
import json
import uuid
from collections.abc import Iterable
from datetime import timezone
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from warcio.statusandheaders import StatusAndHeaders  # type: ignore[import-untyped]
from warcio.warcwriter import WARCWriter  # type: ignore[import-untyped]

from harness.errors import InputError
from harness.files.exchange import H2, Exchange
from harness.files.har import CREATOR, to_har
from harness.files.headers import without
from harness.files.moments import EPOCH
from harness.files.pages import Page, PageFiles
from harness.mirror.alike import path_and_query
from harness.mirror.importing import import_recording
from harness.record.export.recorded import RecordedPage, recorded_pages
from harness.system.atomic import written_beside

ENDINGS = (".warc.gz", ".warc", ".har")
FRAMING = ("transfer-encoding", "content-length")
SOFTWARE = "TFO Lab"


def export(directory: Path, name: str, pages: list[Page], file: Path) -> str:
    """Write the recording of `pages`, brought into today's format first; return in a line each what was done.

    Raises InputError for an ending that nobody knows, for a file that is there already or cannot be written, and where
    there is no recording.
    """
    if not file.name.lower().endswith(ENDINGS):
        raise InputError(f"{file}:1: not a kind of file this can write; let its name end in {', '.join(ENDINGS)}")
    if file.exists():
        raise InputError(f"{file}:1: is there already; move it away, or give another name")
    files = PageFiles(directory, name)
    imported = import_recording(files)
    recorded = recorded_pages(files, pages)
    exchanges = [exchange for page in recorded for exchange in page.answered]
    try:
        with written_beside(file) as beside:
            if file.name.lower().endswith(".har"):
                write_har(beside, recorded)
            else:
                write_warc(beside, exchanges)
    except OSError as error:
        raise InputError(f"{file}:1: cannot be written ({error.strerror}); give another name") from None
    return "\n".join(filter(None, (imported, f"{file}: {len(pages)} pages with {len(exchanges)} answers")))


def write_har(file: Path, recorded: list[RecordedPage]) -> None:
    """Write the exchanges into `file` as one HAR 1.2 with the bodies in it, decoded as HAR wants them; times are those
    of the pages' own HARs.
    """
    pages, entries = [], []
    for number, each in enumerate(recorded, start=1):
        name = f"page_{number}"
        pages.append(each.times.to_har(each.page.url, name))
        entries += [to_har(exchange, name) for exchange in (*each.answered, *each.live)]
    log = {"version": "1.2", "creator": CREATOR, "pages": pages, "entries": entries}
    file.write_text(json.dumps({"log": log}), encoding="utf-8")


def write_warc(file: Path, exchanges: Iterable[Exchange]) -> None:
    """Write the exchanges into `file`, each record compressed by itself unless the name ends in ``.warc``."""
    with file.open("wb") as output:
        writer = WARCWriter(output, gzip=not file.name.lower().endswith(".warc"), warc_version="WARC/1.1")
        writer.write_record(writer.create_warcinfo_record(file.name, {"software": SOFTWARE, "format": "WARC 1.1"}))
        for exchange in exchanges:
            response, request = _response(writer, exchange), _request(writer, exchange)
            writer.write_record(response)
            request.rec_headers.add_header("WARC-Concurrent-To", response.rec_headers.get_header("WARC-Record-ID"))
            writer.write_record(request)


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
    when = (exchange.started or EPOCH).astimezone(timezone.utc)
    return {"WARC-Record-ID": f"<urn:uuid:{uuid.uuid4()}>", "WARC-Date": f"{when:%Y-%m-%dT%H:%M:%S.%fZ}",
            "WARC-Protocol": H2 if exchange.answer.http2 else "http/1.1"}


def _head(first_line: str, headers: list[tuple[str, str]], **more: Any) -> Any:
    """Return the head of a message. What is not ASCII stands there as UTF-8, as sites send it: warcio would
    percent-encode it in a header, and takes none in a status line ("404 Non trouvé").
    """
    lines = [(name, line) for name, value in headers for line in value.split("\n")]    # Chrome joins several Set-Cookie
    head = StatusAndHeaders(first_line, lines, **more)
    head.to_ascii_bytes = head.to_bytes
    return head
