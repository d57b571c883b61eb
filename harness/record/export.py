"""A recording as a file that others open, whose name's ending says what kind: ``fetch.py --to``.

WARC (ISO 28500): a response record and a request record for each exchange. Chunks and frames were undone when it was
recorded, so Transfer-Encoding is left out and Content-Length is the body's (of an answer to a HEAD, the recorded one);
the content-encoding stays. What was spoken stands in WARC-Protocol, for the head of a record is always HTTP/1.1's.

WACZ (https://specs.webrecorder.net/wacz/1.1.1/), which ReplayWeb.page and pywb open:

    archive/data.warc.gz      the exchanges          indexes/index.cdx    where each is (CDXJ)
    pages/pages.jsonl         the pages              datapackage.json     names, sizes and hashes of the other files
"""

import hashlib
import io
import json
import os
import uuid
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from http import HTTPStatus
from http.client import responses
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from msgspec.structs import replace
from surt import surt  # type: ignore[import-untyped]
from warcio.statusandheaders import StatusAndHeaders  # type: ignore[import-untyped]
from warcio.warcwriter import WARCWriter  # type: ignore[import-untyped]

from harness.errors import InputError
from harness.files.exchange import H2, Exchange
from harness.files.har import CREATOR, LoadLog, read_har, to_har
from harness.files.headers import header_in, without
from harness.files.moments import EPOCH
from harness.files.pages import Page, PageFiles
from harness.files.urls import document_url, without_fragment
from harness.mirror.alike import path_and_query
from harness.mirror.headers import OF_NO_RECORDING, content_type
from harness.mirror.importing import import_recording
from harness.mirror.paths import open_below
from harness.mirror.recording import read_whole
from harness.system.atomic import written_beside
from harness.system.untrusted import UnreadableFileError

ENDINGS = (".wacz", ".warc.gz", ".warc", ".har")
FRAMING = ("transfer-encoding", "content-length")
SOFTWARE = "TFO Lab"
WARC = "data.warc.gz"
VERSION = "1.1.1"
NO_TYPE = "application/octet-stream"


def export(directory: Path, name: str, pages: list[Page], file: Path) -> str:
    """Write the recording of `pages`, brought into today's format first; return in a line each what was done.

    Raises InputError for an ending that nobody knows, for a file that is there already or cannot be written, and where
    there is no recording.
    """
    kind = next((ending for ending in ENDINGS if file.name.lower().endswith(ending)), "")
    if not kind or file.exists():
        raise InputError(f"{file}:1: is there already, or not a kind of file this can write; give another name, ending "
                         f"in {', '.join(ENDINGS)}")
    files = PageFiles(directory, name)
    imported = import_recording(files)
    read_whole(files)
    logs = [exported_page(files, page) for page in pages]
    exchanges = [exchange for log in logs for exchange in log.exchanges if not is_live(exchange)]
    try:
        with written_beside(file) as beside:
            if kind == ".har":
                write_har(beside, pages, logs)
            elif kind == ".wacz":
                write_wacz(beside, pages, exchanges)
            else:
                with beside.open("wb") as output:
                    write_warc(output, exchanges, is_packed=kind == ".warc.gz")
    except OSError as error:
        raise InputError(f"{file}:1: cannot be written ({error.strerror}); give another name") from None
    return "\n".join(filter(None, (imported, f"{file}: {len(pages)} pages with {len(exchanges)} answers")))


def exported_page(files: PageFiles, page: Page) -> LoadLog:
    """Return what is recorded of a page, in today's format: what was answered, the page itself first, since readers of
    a HAR take that for it; then its WebSockets. Raises InputError without a recording.
    """
    har, problems = files.fetchlog / f"{page.name}.har", list[str]()
    try:
        log = read_har(har, page.name, problems)
        if problems:
            raise UnreadableFileError(har, problems[0])
        found = [each if is_live(each) else _complete(each, files.mirror) for each in log.exchanges
                 if is_live(each) or _has_answer(each)]
    except (UnreadableFileError, OSError) as error:
        raise InputError(f"{har}:1: no recording of {page.url} ({error}); record it with ./fetch.py --append --name "
                         f"{files.mirror.name}") from None
    found.sort(key=lambda each: (is_live(each), document_url(each.request.url) != document_url(page.url)))
    return LoadLog(log.times, tuple(found))


def is_live(exchange: Exchange) -> bool:
    """Say whether it is a WebSocket's."""
    return exchange.answer.messages is not None


def _has_answer(exchange: Exchange) -> bool:
    return (exchange.request.url.startswith("http") and not exchange.from_cache
            and exchange.answer.status not in (0, HTTPStatus.NOT_MODIFIED))


def _complete(exchange: Exchange, mirror: Path) -> Exchange:
    """Return an exchange with its body, and of what nobody knows its headers with those that the replay adds.

    Whoever wrote the HAR leads to no file outside of the mirror by it. Raises OSError when there is none.
    """
    answer, content = exchange.answer, b""
    if answer.body:
        with os.fdopen(open_below(mirror, answer.body.file), "rb") as file:
            content = file.read()
    if answer.headers is None:
        kind = content_type(answer.mime_type, answer.body.file if answer.body else "")
        more = ("Location", answer.redirect_url) if answer.redirect_url else ("Content-Type", kind)
        headers = (*OF_NO_RECORDING, *([more] if more[1] else []))
        answer = replace(answer, headers=headers, reason=responses.get(answer.status, ""),
                         mime_type=header_in(headers, "content-type"))
    return replace(
        exchange, request=replace(exchange.request, url=without_fragment(exchange.request.url)),
        answer=replace(answer, body=None, content=content, content_bytes=len(content), body_bytes=len(content)))


def write_har(file: Path, pages: list[Page], logs: list[LoadLog]) -> None:
    """Write the exchanges of `pages` into `file` as one HAR 1.2 with the bodies in it, decoded as HAR wants them; times
    are those of the pages' own HARs.
    """
    names = [f"page_{number}" for number in range(1, len(pages) + 1)]
    log = {"version": "1.2", "creator": CREATOR,
           "pages": [log.times.to_har(page.url, name) for page, log, name in zip(pages, logs, names, strict=True)],
           "entries": [to_har(exchange, name) for log, name in zip(logs, names, strict=True)
                       for exchange in log.exchanges]}
    file.write_text(json.dumps({"log": log}), encoding="utf-8")


def write_warc(output: IO[bytes], exchanges: Iterable[Exchange], *, is_packed: bool = True) -> list[str]:
    """Write the exchanges, each record compressed by itself if it `is_packed`.

    Return the lines of an index (CDXJ) that say where each answer is.
    """
    index = []
    writer = WARCWriter(output, gzip=is_packed, warc_version="WARC/1.1")
    writer.write_record(writer.create_warcinfo_record(WARC, {"software": SOFTWARE, "format": "WARC 1.1"}))
    for exchange in exchanges:
        offset, response, request = output.tell(), _response(writer, exchange), _request(writer, exchange)
        writer.write_record(response)
        told = response.rec_headers.get_header
        index.append(_cdx_line(exchange, told("WARC-Payload-Digest"), offset, output.tell() - offset))
        request.rec_headers.add_header("WARC-Concurrent-To", told("WARC-Record-ID"))
        writer.write_record(request)
    return sorted(index)


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


def date_of(exchange: Exchange, form: str = "%Y-%m-%dT%H:%M:%S.%fZ") -> str:
    """Return when it was asked for, as ISO 8601 in UTC."""
    return f"{(exchange.started or EPOCH).astimezone(timezone.utc):{form}}"


def _head(first_line: str, headers: list[tuple[str, str]], **more: Any) -> Any:
    """Return the head of a message. What is not ASCII stands there as UTF-8, as sites send it: warcio would
    percent-encode it in a header, and takes none in a status line ("404 Non trouvé").
    """
    lines = [(name, line) for name, value in headers for line in value.split("\n")]    # Chrome joins several Set-Cookie
    head = StatusAndHeaders(first_line, lines, **more)
    head.to_ascii_bytes = head.to_bytes
    return head


def write_wacz(file: Path, pages: list[Page], exchanges: Sequence[Exchange]) -> None:
    """Write the exchanges of `pages` into `file`."""
    warc = io.BytesIO()
    index = write_warc(warc, exchanges)
    dates = {document_url(exchange.request.url): date_of(exchange) for exchange in reversed(exchanges)}
    listed = [{"format": "json-pages-1.0", "id": "pages", "title": "All pages"}]
    listed += [{"id": page.name, "url": page.url, "title": page.url,
                "ts": dates.get(document_url(page.url), min(dates.values(), default=""))} for page in pages]
    members = {f"archive/{WARC}": warc.getvalue(), "indexes/index.cdx": "".join(index).encode(),
               "pages/pages.jsonl": b"".join(map(_json, listed))}
    members["datapackage.json"] = _json({
        "profile": "data-package", "wacz_version": VERSION, "software": SOFTWARE,
        "created": f"{datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%SZ}", "mainPageUrl": pages[0].url,
        "resources": [{"name": Path(path).name, "path": path, "bytes": len(content),
                       "hash": f"sha256:{hashlib.sha256(content).hexdigest()}"} for path, content in members.items()]})
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:     # stored: readers seek in it
        for name, content in members.items():
            archive.writestr(name, content)


def _cdx_line(exchange: Exchange, digest: str, offset: int, size: int) -> str:
    """Return a line of the index: the record of an answer has `size` bytes from `offset` on.

    What was posted is no answer to a GET: readers look for it under another URL (pywb and wabac.js).
    """
    key, method = exchange.request.url, exchange.request.method
    found = {"url": key, "mime": exchange.answer.header("content-type").partition(";")[0].strip() or NO_TYPE,
             "status": str(exchange.answer.status), "digest": digest, "offset": str(offset), "length": str(size),
             "filename": WARC}
    if method != "GET":
        found["method"] = method
        key += f"{'&' if '?' in key else '?'}__wb_method={method}"
    return f"{surt(key)} {date_of(exchange, '%Y%m%d%H%M%S')} {json.dumps(found)}\n"


def _json(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content).encode() + b"\n"
