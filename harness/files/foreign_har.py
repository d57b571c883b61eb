"""HAR files of other programs: Chrome's, Firefox's, WebPageTest's, browsertime's, and whatever follows HAR 1.1 or 1.2.

They differ: bodies may be missing, all or some, or cut, or replaced by a word; sizes are -1, 0, text, or of the decoded
body where they should be of the compressed one; a redirect may lack its target, the protocol its name; what a server
pushed has no status, what a browser had in its cache has the status 304 (and its body, or not); the browser's own
checks of certificates stand among the page's requests; a request may name its frame instead of its page; a page's title
may be its URL, its title, or nothing. What is read here is only what can be believed.
"""

import base64
import binascii
import gzip
import io
import math
import re
import zlib
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from harness.errors import InputError
from harness.files.charsets import encode_text
from harness.files.har import H2
from harness.files.har_times import handshake_ms, time_ms
from harness.files.urls import as_browsers_ask
from harness.system.untrusted import UnreadableFileError, parse_json, read_untrusted

UNKNOWN = -1
MOST_BYTES = 500_000_000
"""Of a HAR, also when unpacked."""
DEEPEST = 200
"""Levels of JSON: Chrome writes down which call led to which (`_initiator`), one inside the other."""
LEAST_OF_BODY = 0.45
"""A body of less than this share of the size that the HAR says is not the body. (A text kept in two bytes a character
can have half.)"""
KEPT_OF_BODY, LEAST_OF_LARGE_BODY = 2**20, 0.95
"""Bytes that Firefox's DevTools keep of a body, and a few more (devtools.netmonitor.responseBodyLimit): one of so many,
and of less than that share of its size, is not whole."""
REPLACED = "\ufffd".encode()
"""What a browser that takes an answer for text puts in the place of each byte that is none (U+FFFD)."""
MOST_REPLACED = 0.01
"""A body with a NUL in it, as pictures and fonts have, and with more than this share of such characters is not it:
Chrome exports so a font that its server calls text. A text with a few wrong bytes loads as it did."""
OF_CERTIFICATES = frozenset(("application/ocsp-response", "application/pkix-crl", "application/pkix-cert"))
"""What a browser asks of authorities; no page does."""
UNKNOWN_TYPES = ("", "x-unknown", "text/plain")
"""What HARs say of a document whose type nobody wrote down; x-unknown is Chrome's word."""
LONGEST_LOAD_MS = 86_400_000.0
MESSAGES = "_webSocketMessages"
REDIRECTS = (301, 302, 303, 307, 308)
PROTOCOLS = {"h2": H2, "http/2": H2, "http/2.0": H2, "spdy/3": H2, "spdy/3.1": H2, "h3": "h3",
             "http/3": "h3", "http/1.0": "HTTP/1.0", "1.0": "HTTP/1.0", "http/1.1": "HTTP/1.1", "1.1": "HTTP/1.1"}


@dataclass(frozen=True)
class ForeignEntry:
    """One request of a foreign HAR. `body` is the decoded one, None where the HAR has none.

    `wire_bytes` is the size of the encoded body, `content_bytes` of the decoded one, -1 where nobody knows. `started`
    is when it was asked for, `time_ms` how long it took, `connect_ms` how long the TCP handshake and `wait_ms` how long
    the wait for the first byte, None where that is not told. `late`: it was asked for after the page's load event.
    """

    page: str
    method: str
    url: str
    request_body: bytes
    request_headers: tuple[tuple[str, str], ...]
    status: int
    reason: str
    headers: tuple[tuple[str, str], ...]
    protocol: str
    mime_type: str
    body: bytes | None
    wire_bytes: int
    content_bytes: int
    redirect_url: str
    started: datetime | None
    time_ms: float
    connect_ms: float | None = None
    wait_ms: float | None = None
    late: bool = False

    def header(self, wanted: str) -> str:
        """Return the value of a response header, "" without it."""
        return _header(self.headers, wanted)

    def request_header(self, wanted: str) -> str:
        """Return the value of a request header, "" without it."""
        return _header(self.request_headers, wanted)


def read_foreign_har(path: Path) -> list[ForeignEntry]:
    """Return the requests over http and https in a HAR, in its order. Raises InputError when it is none, or empty."""
    try:
        log = parse_json(_unzipped(read_untrusted(path, limit=MOST_BYTES)), DEEPEST)["log"]
        pages = log.get("pages") or []
        begins, ends = _page_begins(pages), _load_ends(pages)
        entries = (_entry(entry, _page_of(entry, begins)) for entry in log["entries"])
        found = [replace(entry, late=_is_late(entry, ends)) for entry in entries if entry is not None]
    except UnreadableFileError as error:
        raise InputError(f"{error}; give the HAR of one page") from None
    except (ValueError, TypeError, KeyError, AttributeError, EOFError, OSError, zlib.error) as error:
        raise InputError(f"{path}:1: not a HAR ({type(error).__name__}: {str(error)[:100]}); give one as a browser "
                         "exports it") from None
    if not found:
        raise InputError(f"{path}:1: no request over http or https in it; give the HAR of a page load")
    return found


def read_websocket_entries(path: Path) -> list[dict[str, Any]]:
    """Return the entries of WebSockets with their messages, as Chrome's DevTools export them; harness.mirror.live reads
    them. A HAR that read_foreign_har has read has none at worst.
    """
    return _websockets_in(_log_with_websockets(path))


def read_websockets_of_loads(path: Path) -> list[tuple[dict[str, Any], float]]:
    """Return the same, each with its page's load event in s since the epoch, infinity where that is not known."""
    log = _log_with_websockets(path)
    pages = log.get("pages") or []
    begins, ends_s = _page_begins(pages), {page: end.timestamp() for page, end in _load_ends(pages).items()}
    return [(entry, ends_s.get(_page_of(entry, begins), math.inf)) for entry in _websockets_in(log)]


def _log_with_websockets(path: Path) -> dict[str, Any]:
    """Return a HAR's log, or an empty one where it has no messages: reading a large one takes a while."""
    content = _unzipped(read_untrusted(path, limit=MOST_BYTES))
    log: dict[str, Any] = parse_json(content, DEEPEST)["log"] if MESSAGES.encode() in content else {"entries": []}
    return log


def _websockets_in(log: dict[str, Any]) -> list[dict[str, Any]]:
    return [entry for entry in log["entries"] if isinstance(entry, dict) and MESSAGES in entry]


def _unzipped(content: bytes) -> bytes:
    """Return the text of a HAR, which may be compressed by gzip. ValueError when it would be too large."""
    if not content.startswith(b"\x1f\x8b"):
        return content.removeprefix(b"\xef\xbb\xbf")
    text = gzip.GzipFile(fileobj=io.BytesIO(content)).read(MOST_BYTES + 1)
    if len(text) > MOST_BYTES:
        raise ValueError(f"over {MOST_BYTES / 1e6:g} MB when unpacked")
    return text


def page_urls(entries: list[ForeignEntry]) -> dict[str, str]:
    """Return the URL of each page of a HAR by the page's id: what its first request asks for.

    Of several loads of one page (first view, repeat view) the first one counts. One that begins with what is no
    document is no page: repeat views begin with what was not in the cache. Nor is what no URL alone asks for (POST).
    A HAR that names no pages, such as Fiddler's, may hold what a browser asked for before: there the page is the first
    document that nothing referred to. One with nothing that can be a document has no page.
    """
    begins: dict[str, ForeignEntry] = {}
    for entry in entries:
        if entry.page or (_begins_page(entry) and not entry.request_header("referer")):
            begins.setdefault(entry.page, entry)
    for entry in entries:
        begins.setdefault(entry.page, entry)
    begins = {page: entry for page, entry in begins.items() if entry.method == "GET" and _may_begin_page(entry)}
    documents = {page: entry for page, entry in begins.items() if _begins_page(entry)}
    urls = {page: entry.url.partition("#")[0] for page, entry in (documents or begins).items()}
    first: dict[str, str] = {}
    for page, url in urls.items():
        if url not in first.values():
            first[page] = url
    return first


def _begins_page(entry: ForeignEntry) -> bool:
    """Say whether a page can begin with this: a document, or a redirect to one."""
    return "html" in entry.mime_type or bool(entry.redirect_url)


def _may_begin_page(entry: ForeignEntry) -> bool:
    """Say whether nothing is against it: its type may be unknown."""
    return _begins_page(entry) or entry.mime_type.partition(";")[0].strip().lower() in UNKNOWN_TYPES


def has_bodies(entries: list[ForeignEntry]) -> bool:
    """Say whether most of the answers that have a body have it in the HAR, those of the pages' own URLs among them."""
    answered = [entry for entry in entries if entry.status == 200 and (entry.content_bytes or entry.body)]
    pages = page_urls(entries)
    documents = [entry.body is not None for entry in answered if entry.url.partition("#")[0] == pages.get(entry.page)]
    most = 2 * sum(entry.body is not None for entry in answered) > len(answered)
    return bool(answered) and most and (any(documents) or not documents)


def _page_begins(pages: list[dict[str, Any]]) -> dict[str, datetime | None]:
    """Return when each page was begun, by the page's id; None where that is not known."""
    return {str(page.get("id", "")): moment_of(page.get("startedDateTime")) for page in pages}


def _page_of(entry: dict[str, Any], begins: dict[str, datetime | None]) -> str:
    """Return the id of an entry's page, "" where it names none.

    The Web Inspectors of 2012 name the frame that asked, by its URL: that belongs to the page that was begun last.
    """
    named = str(entry.get("pageref") or "")
    if not named or not begins or named in begins:
        return named
    asked = moment_of(entry.get("startedDateTime"))
    before = {page: begin for page, begin in begins.items() if asked and begin and begin <= asked}
    return max(before, key=lambda page: before[page]) if before else next(iter(begins))


def _load_ends(pages: list[dict[str, Any]]) -> dict[str, datetime]:
    """Return when the load event of each page was, by the page's id, where that is known."""
    ends = {}
    for page in pages:
        begin, on_load_ms = moment_of(page.get("startedDateTime")), (page.get("pageTimings") or {}).get("onLoad")
        if begin and isinstance(on_load_ms, (int, float)) and 0 < on_load_ms < LONGEST_LOAD_MS:
            ends[str(page.get("id", ""))] = begin + timedelta(milliseconds=on_load_ms)
    return ends


def _is_late(entry: ForeignEntry, ends: dict[str, datetime]) -> bool:
    end = ends.get(entry.page)
    return end is not None and entry.started is not None and entry.started > end


def _entry(entry: dict[str, Any], page: str) -> ForeignEntry | None:
    request, response = entry["request"], entry.get("response") or {}
    url = as_browsers_ask(str(request["url"]))
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return None
    headers, content = _pairs(response), response.get("content") or {}
    mime_type = str(content.get("mimeType") or _header(headers, "content-type"))
    if mime_type.partition(";")[0].strip().lower() in OF_CERTIFICATES:
        return None
    body = _body(content, _header(headers, "content-type") or mime_type)
    status, reason = max(0, _number(response.get("status"), 0)), str(response.get("statusText") or "")
    if body and status in (0, HTTPStatus.NOT_MODIFIED):     # what was pushed has no status; a 304's body is the cache's
        headers += _encoding_then(status, response, body)
        status, reason = HTTPStatus.OK, HTTPStatus.OK.phrase
    protocol = str(response.get("httpVersion") or request.get("httpVersion") or "").lower()
    there = str(response.get("redirectURL") or _header(headers, "location"))
    return ForeignEntry(
        page, str(request.get("method", "GET")).upper(), url,
        str((request.get("postData") or {}).get("text") or "").encode("utf-8", "surrogatepass"), _pairs(request),
        status, reason, headers,
        H2 if any(name.startswith(":") for name, _ in _pairs(request)) else PROTOCOLS.get(protocol, ""),
        mime_type, body,
        _wire_bytes(response, headers), len(body) if body is not None else _number(content.get("size"), UNKNOWN),
        as_browsers_ask(there, url) if there and status in REDIRECTS else "",
        moment_of(entry.get("startedDateTime")), max(0.0, float(entry.get("time") or 0)),
        handshake_ms(entry) or None,    # 0: over a connection that was there already
        time_ms((entry.get("timings") or {}).get("wait")))


def _body(content: dict[str, Any], content_type: str) -> bytes | None:
    """Return the decoded body; None when the HAR has none, only a part or a word instead of it, or what is left of it
    after a browser took it for text.
    """
    text = content.get("text")
    if not isinstance(text, str):
        return None
    try:
        body = base64.b64decode(text) if content.get("encoding") == "base64" else encode_text(text, content_type)
    except binascii.Error:
        return None
    least = LEAST_OF_BODY if len(body) < KEPT_OF_BODY else LEAST_OF_LARGE_BODY
    cut = len(body) < least * _number(content.get("size"), 0)
    spoilt = b"\0" in body and len(REPLACED) * body.count(REPLACED) > MOST_REPLACED * len(body)
    return None if cut or spoilt else body


def _encoding_then(status: int, response: dict[str, Any], body: bytes) -> tuple[tuple[str, str], ...]:
    """Return the Content-Encoding of an answer that a 304 stood for, if its size shows that it had one.

    The 304 itself does not say; Firefox keeps the size as it was in its cache.
    """
    compressed = status == HTTPStatus.NOT_MODIFIED and 0 < _number(response.get("bodySize"), UNKNOWN) < len(body)
    return (("Content-Encoding", "gzip"),) if compressed else ()


def _wire_bytes(response: dict[str, Any], headers: tuple[tuple[str, str], ...]) -> int:
    """Return the size of the encoded body: Content-Length says it; bodySize only when it is below the decoded size."""
    length = _header(headers, "content-length")
    if length.isdigit():
        return int(length)
    size, decoded = _number(response.get("bodySize"), UNKNOWN), _number((response.get("content") or {}).get("size"), 0)
    encoded = bool(_header(headers, "content-encoding"))
    if size > 0 and (not encoded or size < decoded or decoded <= 0):
        return size
    return UNKNOWN if encoded or decoded <= 0 else decoded


def _pairs(message: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((str(pair["name"]), str(pair["value"])) for pair in message.get("headers") or []
                 if isinstance(pair, dict) and "name" in pair and "value" in pair)


def _header(headers: tuple[tuple[str, str], ...], wanted: str) -> str:
    return next((value.strip() for name, value in headers if name.lower() == wanted), "")


def _number(value: Any, otherwise: int) -> int:
    if isinstance(value, str) and re.fullmatch("[0-9]{1,15}", value):
        return int(value)
    return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else otherwise


def moment_of(text: Any) -> datetime | None:
    """Return the moment that a HAR's date and time names; None for one without a time zone, or none at all."""
    try:
        moment = datetime.fromisoformat(str(text).replace("Z", "+00:00"))
    except ValueError:
        return None
    return moment if moment.tzinfo else None
