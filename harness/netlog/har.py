"""Page loads as HTTP Archive 1.2 (http://www.softwareishard.com/blog/har-12-spec/), which developer tools open.

Beyond the standard, with the underscore it asks for: `_error` (Chrome's name of what went wrong, or "unfinished"),
`_fromCache`, `_initiator`, `_synchronous` (the page's thread stood still until the answer was there), and of a response
`_earlyHints`, the headers of a 103. `_connectionId` is `connection` once more, for Chrome's DevTools: they look there
for it, and show what they find in `connection` as the server's port (front_end/models/har/Importer.ts). Over HTTP/2
`httpVersion` is "h2", as DevTools call it: Chrome's net-log says "HTTP/1.1" of such answers. Chrome logs no cookie
values and no bodies: `cookies` are empty, there is no `text`.
"""

from datetime import datetime, timedelta, timezone
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from harness.files.har import H2, STRIPPED, UNFINISHED, UNKNOWN
from harness.netlog.load import Connection, HttpTransaction, NetLog, cut_off, of_load
from harness.system.tcp import without_port

CREATOR = {"name": "TFO Lab", "version": "2"}
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def har(netlog: NetLog, url: str, start_tick: float, *, end_tick: float | None = None,
        on_content_load_ms: float | None = None, on_load_ms: float | None = None,
        clock_shift_ms: float = 0.0, comment: str = "") -> dict[str, Any]:
    """Return the load of `url` that began at `start_tick` as a HAR 1.2 object, ready for json.dump.

    `end_tick` as in harness.netlog.load.page_log. `on_content_load_ms` and `on_load_ms` count from the start of the
    load. `clock_shift_ms` is what Chrome's wall clock was ahead of the true one; dates in the HAR are true ones.
    """
    page: dict[str, Any] = {
        "startedDateTime": date_of(netlog.unix_ms(start_tick) - clock_shift_ms), "id": "page_1", "title": url,
        "pageTimings": {"onContentLoad": _or_unknown(on_content_load_ms), "onLoad": _or_unknown(on_load_ms)}}
    connections = {connection.id: connection for connection in netlog.connections}
    entries = []
    for transaction in of_load(netlog, start_tick, end_tick):
        error = UNFINISHED if cut_off(transaction, end_tick) else transaction.error
        entry = _entry(transaction, connections.get(transaction.connection or 0), error)
        entry["startedDateTime"] = date_of(netlog.unix_ms(transaction.start) - clock_shift_ms)
        entries.append(entry)
    log: dict[str, Any] = {"version": "1.2", "creator": CREATOR,
                           "browser": {"name": "Chromium", "version": netlog.browser_version},
                           "pages": [page], "entries": entries}
    if comment:
        log["comment"] = comment
    return {"log": log}


def _entry(transaction: HttpTransaction, connection: Connection | None, error: str) -> dict[str, Any]:
    """Return a transaction as an entry of a HAR. Names that begin with _ are Chrome's or our own."""
    phases = transaction.phases
    lengths = (phases.blocked, phases.dns, phases.connect, phases.send, phases.wait, phases.receive)
    entry: dict[str, Any] = {
        "pageref": "page_1", "startedDateTime": "", "time": sum(length for length in lengths if length >= 0),
        "request": _request(transaction), "response": _response(transaction), "cache": {},
        "timings": {"blocked": phases.blocked, "dns": phases.dns, "connect": phases.connect, "ssl": phases.ssl,
                    "send": phases.send, "wait": phases.wait, "receive": phases.receive}}
    if connection is not None:
        entry["serverIPAddress"] = without_port(connection.address)
        entry["connection"] = entry["_connectionId"] = str(connection.id)
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
    length = _header(transaction.request_headers, "content-length")
    version = H2 if over_http2(transaction) else transaction.request_line.rpartition(" ")[2]
    return {"method": transaction.method, "url": transaction.url, "httpVersion": version, "cookies": [],
            "headers": _pairs(transaction.request_headers),
            "queryString": [{"name": name, "value": value} for name, value in _query(transaction.url)],
            "headersSize": _size(transaction.request_line, transaction.request_headers),
            "bodySize": int(length) if length.isdigit() else 0}


def _response(transaction: HttpTransaction) -> dict[str, Any]:
    status, headers = transaction.status, transaction.response_headers
    content: dict[str, Any] = {"size": transaction.content_bytes, "mimeType": _header(headers, "content-type")}
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


def _header(headers: tuple[tuple[str, str], ...], wanted: str) -> str:
    return next((value for name, value in headers if name.lower() == wanted), "")


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


def _or_unknown(value: float | None) -> float:
    return UNKNOWN if value is None else value


def date_of(unix_ms: float) -> str:
    """Return a Unix time as ISO 8601 with milliseconds, in UTC."""
    return (EPOCH + timedelta(milliseconds=round(unix_ms))).isoformat(timespec="milliseconds")
