"""The form of a HAR (HAR 1.1 and 1.2) as other programs write it: a typed schema, and what its fields mean."""

from datetime import MAXYEAR, datetime, timedelta
from typing import Any

import msgspec

from harness.files.exchange import UNKNOWN
from harness.files.har import H2, is_over_http2
from harness.files.har_times import handshake_ms, time_ms
from harness.files.headers import Headers, header_in, length_in
from harness.files.moments import moment_of

PROTOCOLS = {"http/1.0": "HTTP/1.0", "1.0": "HTTP/1.0", "http/1.1": "HTTP/1.1", "1.1": "HTTP/1.1"}
LONGEST_LOAD_MS = 86_400_000.0
"""A day: what takes longer to its load event is no time of a page load."""
NAMES = {"mime_type": "mimeType", "version": "httpVersion", "posted": "postData", "body_bytes": "bodySize",
         "reason": "statusText", "redirect_url": "redirectURL", "head_bytes": "headersSize",
         "transfer_bytes": "_transferSize", "started": "startedDateTime", "connect_ms": "_connectMs",
         "protocol": "_protocol", "content_bytes": "_objectSizeUncompressed", "messages": "_webSocketMessages",
         "load_times": "pageTimings", "file": "_file", "own_encoding": "_encoding"}
"""Fields of the schema -> HAR's names."""


class Part(msgspec.Struct, rename=lambda name: NAMES.get(name, name)):
    """A part of a HAR; what may be missing may also be null."""


class Pair(Part):
    """A header."""

    name: str
    value: str


class Posted(Part):
    """What was sent."""

    text: str | None = None
    encoding: str | None = None
    own_encoding: str | None = None
    file: str | None = None


class Content(Part):
    """The body of an answer; `text` is decoded, `file` the name of what lies beside the HAR."""

    size: float | None = None
    mime_type: str | None = None
    text: str | None = None
    encoding: str | None = None
    comment: str | None = None
    file: str | None = None


class RequestPart(Part):
    """What was asked for; sizes in bytes."""

    url: str
    method: str = "GET"
    version: str | None = None
    headers: list[Pair] | None = None
    posted: Posted | None = None
    body_bytes: float | None = None


class ResponsePart(Part):
    """What came; sizes in bytes."""

    status: int | None = None
    reason: str | None = None
    version: str | None = None
    headers: list[Pair] | None = None
    content: Content | None = None
    redirect_url: str | None = None
    body_bytes: float | None = None
    head_bytes: float | None = None
    transfer_bytes: float | None = None


class Entry(Part):
    """One request and its answer; times in ms, `content_bytes` is WebPageTest's."""

    request: RequestPart
    response: ResponsePart | None = None
    pageref: str | None = None
    started: str | float | None = None
    time: float | None = None
    timings: dict[str, Any] | None = None
    connect_ms: float | None = None
    protocol: str | None = None
    content_bytes: float | None = None
    messages: Any = None


class PagePart(Part):
    """A page; `load_times` in ms since it was begun."""

    id: str
    title: str | None = None
    started: str | float | None = None
    load_times: dict[str, Any] | None = None


class Log(Part):
    """The log, whose entries are read one by one."""

    entries: list[msgspec.Raw]
    pages: list[PagePart] | None = None


class Har(Part):
    """What the file holds."""

    log: Log


def pairs_of(pairs: list[Pair] | None) -> Headers:
    """Return headers as pairs of name and value."""
    return tuple((pair.name, pair.value) for pair in pairs or ())


def content_type(response: ResponsePart) -> str:
    """Return the type of an answer, "" where nothing is told."""
    content = response.content or Content()
    return header_in(pairs_of(response.headers), "content-type") or content.mime_type or ""


def load_end(page: PagePart) -> datetime | None:
    """Return when the load event of a page was, None where that is not known."""
    begin, on_load_ms = moment_of(page.started), time_ms((page.load_times or {}).get("onLoad"))
    if begin is None or on_load_ms is None or not 0 < on_load_ms < LONGEST_LOAD_MS or begin.year == MAXYEAR:
        return None
    return begin + timedelta(milliseconds=on_load_ms)


def protocol_of(entry: Entry, response: ResponsePart) -> str:
    """Return over which protocol an entry went, "" where nobody knows: WebPageTest says it in `protocol_of` alone."""
    if any(name.startswith(":") for name, _ in pairs_of(entry.request.headers)):
        return H2
    for said in (response.version or entry.request.version, entry.protocol):
        name = (said or "").lower()
        if name in PROTOCOLS or is_over_http2(name) or name.startswith("spdy"):
            return PROTOCOLS.get(name, H2)
    return ""


def connect_ms_of(entry: Entry, response: ResponsePart) -> float | None:
    """Return how long the TCP handshake took; None over a connection that was there already (0)."""
    return handshake_ms(entry.connect_ms, entry.timings or {}, entry.time, response.version or "") or None


def wire_bytes(response: ResponsePart, headers: Headers) -> int:
    """Return the size of the encoded body: Content-Length says it; bodySize only when it is below the decoded size."""
    if (length := length_in(headers)) is not None:
        return length
    size, decoded = int(response.body_bytes or UNKNOWN), int((response.content or Content()).size or 0)
    encoded = bool(header_in(headers, "content-encoding"))
    if encoded and size < 0:
        size = transferred(response)
    if size > 0 and (not encoded or size < decoded or decoded <= 0):
        return size
    return UNKNOWN if encoded or decoded <= 0 else decoded


def transferred(response: ResponsePart) -> int:
    """Return the size of the encoded body by what Chrome says that crossed the network, 0 where it does not.

    That counts the head, too, whose compressed size over HTTP/2 nobody tells.
    """
    return max(0, int(response.transfer_bytes or 0) - max(0, int(response.head_bytes or 0)))
