"""HAR 1.2 entries (http://www.softwareishard.com/blog/har-12-spec/) of our own files, and their words.

Beyond the standard, with the underscore it asks for: `_error` (Chrome's name of what went wrong, or "unfinished"),
`_fromCache`, `_initiator`, `_synchronous` (the page's thread stood still until the answer was there), and of a response
`_earlyHints`, the headers of a 103. `_connectionId` is `connection` once more, for Chrome's DevTools: they look there
for it, and show what they find in `connection` as the server's port (front_end/models/har/Importer.ts). Over HTTP/2
`httpVersion` is "h2", as DevTools call it: Chrome's net-log says "HTTP/1.1" of such answers.
"""

import base64
import re
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from harness.files.headers import header_in
from harness.files.transactions import HttpTransaction

CREATOR = {"name": "TFO Lab", "version": "2"}
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
H2 = "h2"
"""HTTP/2: the name by which TLS agrees on it (ALPN, RFC 9113, section 3.1), and what `httpVersion` says of it."""
OVER_HTTP2 = (H2, "http/2", "h3", "http/3")
"""How HTTP/2 and HTTP/3 are called, lower case, without what may follow (``HTTP/2.0``, ``h3-29``)."""
ABORTED = "net::ERR_ABORTED"
"""What `_error` says of a request that the page, or Chrome, took back."""
UNFINISHED = "unfinished"
"""What `_error` says of a request that was not over when the load ended."""
UNKNOWN = -1
"""A size that nobody knows."""
STILL_ENCODED = "still encoded as"
"""What a `content.comment` begins with whose body could not be decoded; the encoding follows."""
LINE_ENDS = dict.fromkeys(map(ord, "\r\n"))
STRIPPED = re.compile(r"\[([0-9]{1,9}) bytes were stripped\]")
"""What Chrome's net-log has in place of a cookie or a credential: how long it was."""


def is_over_http2(protocol: str) -> bool:
    """Say whether `protocol`, however a program calls it, is HTTP/2 or HTTP/3.

    The replay has no HTTP/3; to such a server Chrome speaks HTTP/2.
    """
    return protocol.lower().startswith(OVER_HTTP2)


def is_base64(labelled: Mapping[str, Any]) -> bool:
    """Say whether a HAR's `content` or `postData` calls its text base64, however that is written."""
    return any(str(labelled.get(name) or "").strip().lower() == "base64" for name in ("encoding", "_encoding"))


def from_base64(text: str) -> bytes | None:
    """Return the bytes of base64 in lines or not, with its padding or not; None for what is none (RFC 4648)."""
    packed = text.translate(LINE_ENDS).rstrip("=")
    try:
        return base64.b64decode(packed + "=" * (-len(packed) % 4), validate=True)
    except ValueError:
        return None


def posted_body(posted: Mapping[str, Any], size: int = UNKNOWN) -> bytes:
    """Return what a HAR's `postData` says was sent, of `size` bytes: base64, a text, or bytes as characters of Latin-1.

    What it says of its text is a claim: what has the size counts, if something has.
    """
    text = str(posted.get("text") or "")
    in_base64 = from_base64(text) if is_base64(posted) else None
    readings = [] if in_base64 is None else [in_base64]
    readings.append(text.encode("utf-8", "surrogatepass"))
    if all(character <= "\xff" for character in text):
        readings.append(text.encode("latin-1"))
    return next((body for body in readings if len(body) == size), readings[0])


def entry_of(transaction: HttpTransaction, date: str, *, server: tuple[str, str] | None,
             error: str) -> dict[str, Any]:
    """Return a transaction as an entry of a HAR. Names that begin with _ are Chrome's or our own.

    `date` is when it began, `server` the address and the connection, `error` what went wrong, "" for nothing.
    """
    phases = transaction.phases
    lengths = (phases.blocked, phases.dns, phases.connect, phases.send, phases.wait, phases.receive)
    entry: dict[str, Any] = {
        "pageref": "page_1", "startedDateTime": date, "time": sum(length for length in lengths if length >= 0),
        "request": _request(transaction), "response": _response(transaction), "cache": {},
        "timings": {"blocked": phases.blocked, "dns": phases.dns, "connect": phases.connect, "ssl": phases.ssl,
                    "send": phases.send, "wait": phases.wait, "receive": phases.receive}}
    if server is not None:
        entry["serverIPAddress"], entry["connection"] = server
        entry["_connectionId"] = entry["connection"]
    if error:
        entry["_error"] = error
    if transaction.from_cache:
        entry["_fromCache"] = "disk"
    if transaction.initiator:
        entry["_initiator"] = transaction.initiator
    if transaction.synchronous:
        entry["_synchronous"] = True
    return entry


def _request(transaction: HttpTransaction) -> dict[str, Any]:
    length = header_in(transaction.request_headers, "content-length")
    version = H2 if over_http2(transaction) else transaction.request_line.rpartition(" ")[2]
    return {"method": transaction.method, "url": transaction.url, "httpVersion": version, "cookies": [],
            "headers": _pairs(transaction.request_headers),
            "queryString": [{"name": name, "value": value} for name, value in _query(transaction.url)],
            "headersSize": _size(transaction.request_line, transaction.request_headers),
            "bodySize": int(length) if length.isdigit() else 0}


def _response(transaction: HttpTransaction) -> dict[str, Any]:
    status, headers = transaction.status, transaction.response_headers
    content: dict[str, Any] = {"size": transaction.content_bytes, "mimeType": header_in(headers, "content-type")}
    if transaction.body_bytes and transaction.content_bytes != transaction.body_bytes:
        content["compression"] = transaction.content_bytes - transaction.body_bytes
    http2 = over_http2(transaction)
    hints = {"_earlyHints": _pairs(transaction.early_hints)} if transaction.early_hints else {}
    head = f"{transaction.http_version} {status} {transaction.status_text}" if status else ""
    return {"status": status, "statusText": transaction.status_text,
            "httpVersion": H2 if http2 else transaction.http_version, "cookies": [],
            "headers": _pairs(headers), "content": content, "redirectURL": transaction.redirect_url or "",
            "headersSize": UNKNOWN if transaction.from_cache or http2 else _size(head, headers),
            "bodySize": transaction.body_bytes if status or transaction.from_cache else UNKNOWN} | hints


def over_http2(transaction: HttpTransaction) -> bool:
    """Say whether the request was sent over HTTP/2, by its pseudo-headers (RFC 9113, section 8.3)."""
    return any(name.startswith(":") for name, _ in transaction.request_headers)


def _pairs(headers: tuple[tuple[str, str], ...]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in headers]


def _query(url: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(urlsplit(url).query, keep_blank_values=True)
    except ValueError:
        return []


def _size(first_line: str, headers: tuple[tuple[str, str], ...]) -> int:
    """Return the bytes of an HTTP/1 head up to and with its empty line; what Chrome stripped from it counts in full."""
    if not first_line:
        return UNKNOWN
    size = len(first_line) + 4
    for name, value in headers:
        stripped = sum(int(match[1]) - len(match[0]) for match in STRIPPED.finditer(value))
        size += len(name) + len(value) + stripped + 4
    return size


def date_of(unix_ms: float) -> str:
    """Return a Unix time as ISO 8601 with milliseconds, in UTC."""
    return (EPOCH + timedelta(milliseconds=round(unix_ms))).isoformat(timespec="milliseconds")
