"""One request of a HAR of another program: Chrome's, Firefox's, WebPageTest's, browsertime's, PhantomJS', and others'.

They differ: bodies may be missing, all or some, or cut, or replaced by a word, or spoilt; sizes are -1, 0, text, or of
the decoded body where they should be of the compressed one; a redirect may lack its target, the protocol its name; what
a server pushed has no status, what a browser had in its cache has the status 304 (and its body, or not); the browser's
own checks of certificates stand among the page's requests. What is read here is only what can be believed.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from harness.files.charsets import charset_of
from harness.files.exchange import UNKNOWN
from harness.files.foreign_body import BodyClaims, HarContext, read_body
from harness.files.har import H2, STILL_ENCODED, is_over_http2, posted_body
from harness.files.har_file import Attached
from harness.files.har_times import handshake_ms, time_ms
from harness.files.headers import REDIRECTS, Headers, header_in
from harness.files.looks import Role, role_of
from harness.files.moments import moment_of
from harness.files.urls import as_browsers_ask

OF_CERTIFICATES = frozenset(("application/ocsp-response", "application/pkix-crl", "application/pkix-cert"))
"""What a browser asks of authorities; no page does."""
OF_FIREFOX = re.compile(r".+\.services\.mozilla\.com|(?:snippets|tracking-protection|content-signature(?:-\d)?)"
                        r"\.cdn\.mozilla\.net|aus5\.mozilla\.org|detectportal\.firefox\.com")
"""Hosts that Firefox asks for itself, as proxies write down: updates, lists, whether there is a network."""
NOTHING_ENCODED = 64
"""Bytes that an empty body can have: 20 in gzip."""
LARGEST_HEAD = 8192
"""Bytes of a response's head, cookies and all."""
PROTOCOLS = {"h2": H2, "http/2": H2, "http/2.0": H2, "spdy/3": H2, "spdy/3.1": H2, "h3": "h3",
             "http/3": "h3", "http/1.0": "HTTP/1.0", "1.0": "HTTP/1.0", "http/1.1": "HTTP/1.1", "1.1": "HTTP/1.1"}


@dataclass(frozen=True)
class ForeignEntry:
    """One request of a foreign HAR. `body` is the decoded one, None where the HAR has none.

    `wire_bytes` is the size of the encoded body, `content_bytes` of the decoded one, -1 where nobody knows. `started`
    is when it was asked for, `time_ms` how long it took, `connect_ms` how long the TCP handshake and `wait_ms` how long
    the wait for the first byte, None where that is not told. `late`: it was asked for after the page's load event, None
    where that is not known. `cut`: the body's end is made up (harness.files.foreign_body). `is_noise`: the HAR has
    something that cannot be the body. `still_encoded`: the body is as it was on the network, since who wrote the HAR
    could not decode it.
    """

    page: str
    method: str
    url: str
    request_body: bytes
    request_headers: Headers
    status: int
    reason: str
    headers: Headers
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
    late: bool | None = None
    cut: bool = False
    is_noise: bool = False
    still_encoded: bool = False

    def header(self, wanted: str) -> str:
        """Return the value of a response header, "" without it."""
        return header_in(self.headers, wanted)

    def request_header(self, wanted: str) -> str:
        """Return the value of a request header, "" without it."""
        return header_in(self.request_headers, wanted)


def entry_of(entry: dict[str, Any], page: str, context: HarContext) -> ForeignEntry | None:
    """Return an entry of `page`; None for what no page asks for, and for what is not over http or https."""
    request, response = entry["request"], entry.get("response") or {}
    url = as_browsers_ask(str(request["url"]))
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or OF_FIREFOX.fullmatch(parts.hostname):
        return None
    headers, content = pairs_of(response), response.get("content") or {}
    mime_type = str(content.get("mimeType") or header_in(headers, "content-type"))
    if mime_type.partition(";")[0].strip().lower() in OF_CERTIFICATES:
        return None
    wire_bytes = _wire_bytes(response, headers)
    encoding = header_in(headers, "content-encoding")
    exact = _number(entry.get("_objectSizeUncompressed"), 0)        # WebPageTest's
    told_bytes = _number(content.get("size"), UNKNOWN)
    counted = bool(headers) and not encoding and response.get("status") == HTTPStatus.OK
    length = header_in(headers, "content-length")
    size = exact or max(told_bytes, int(length) if counted and length.isdigit() else 0)
    if size <= 0 and counted:
        size = wire_bytes
    still_encoded = str(content.get("comment")).startswith(STILL_ENCODED)
    is_judged = not still_encoded and _number(response.get("status"), 0) in (0, HTTPStatus.OK, HTTPStatus.NOT_MODIFIED)
    claims = BodyClaims(role_of(headers, url, mime_type) if is_judged else Role.ANY, _content_type(headers, content),
                        "" if still_encoded else encoding, max(0, size), wire_bytes if encoding else 0, bool(exact),
                        counted or bool(encoding))
    read = read_body(content, claims, context, page)
    is_lost = not read.content and _is_lost(request, response, headers)
    body = None if is_lost else read.content
    if read.coding and not encoding:
        headers += (("Content-Encoding", read.coding),)
    wire_bytes = read.encoded_bytes or wire_bytes
    status, reason = max(0, _number(response.get("status"), 0)), str(response.get("statusText") or "")
    if body and status in (0, HTTPStatus.NOT_MODIFIED):     # what was pushed has no status; a 304's body is the cache's
        headers += _encoding_then(status, response, body)
        status, reason = HTTPStatus.OK, HTTPStatus.OK.phrase
    there = str(response.get("redirectURL") or header_in(headers, "location"))
    return ForeignEntry(
        page=page, method=str(request.get("method", "GET")).upper(), url=url,
        request_body=_request_body(request, context.attached), request_headers=pairs_of(request),
        status=status, reason=reason, headers=headers,
        protocol=_protocol(entry),
        mime_type=mime_type, body=body, wire_bytes=wire_bytes,
        content_bytes=len(body) if body is not None else (UNKNOWN if is_lost and told_bytes == 0 else told_bytes),
        redirect_url=as_browsers_ask(there, url) if there and status in REDIRECTS else "",
        started=moment_of(entry.get("startedDateTime")), time_ms=_duration_ms(entry.get("time")),
        connect_ms=handshake_ms(entry) or None,     # 0: over a connection that was there already
        wait_ms=time_ms((entry.get("timings") or {}).get("wait")), cut=read.cut, is_noise=read.is_noise,
        still_encoded=still_encoded)


def _protocol(entry: dict[str, Any]) -> str:
    """Return over which protocol an entry went as HAR names it, "" where nobody knows.

    WebPageTest cuts `httpVersion` out of the first header, which over HTTP/2 is ":status" or ":scheme": "us:", "me:".
    Its own `_protocol` says what it was.
    """
    request, response = entry["request"], entry.get("response") or {}
    if any(name.startswith(":") for name, _ in pairs_of(request)):
        return H2
    for said in (response.get("httpVersion") or request.get("httpVersion"), entry.get("_protocol")):
        name = str(said or "").lower()
        if name in PROTOCOLS or is_over_http2(name):
            return PROTOCOLS.get(name, H2)
    return ""


def page_charsets(entries: Iterable[tuple[dict[str, Any], str]]) -> dict[str, str]:
    """Return the charset that the first document of each page names which names one, by the page's id; of entries as
    they stand in a HAR, each with its page.
    """
    charsets: dict[str, str] = {}
    for entry, page in entries:
        response = entry.get("response") or {}
        content = response.get("content") or {}
        content_type = _content_type(pairs_of(response), content)
        if page not in charsets and "html" in content_type:
            charset = charset_of(str(content.get("text") or ""), content_type)
            charsets |= {page: charset} if charset else {}
    return charsets


def _content_type(headers: Headers, content: dict[str, Any]) -> str:
    return header_in(headers, "content-type") or str(content.get("mimeType") or "")


def _request_body(request: dict[str, Any], attached: Attached) -> bytes:
    """Return what was sent. Safari gives a GET after a form the form's own."""
    post_data = request.get("postData")
    if str(request.get("method", "GET")).upper() in ("GET", "HEAD") or not isinstance(post_data, dict):
        return b""
    there = attached(post_data["_file"]) if isinstance(post_data.get("_file"), str) else None
    length = header_in(pairs_of(request), "content-length")
    size = int(length) if length.isdigit() else _number(request.get("bodySize"), UNKNOWN)
    return there if there is not None else posted_body(post_data, size)


def _is_lost(request: dict[str, Any], response: dict[str, Any], headers: Headers) -> bool:
    """Say whether an answer whose body is empty here had one: Chrome has none of what a script read as a blob, Firefox
    none of some answers that it had in its cache.
    """
    if (_number(response.get("status"), 0) not in (HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT)
            or str(request.get("method")).upper() == "HEAD"):
        return False
    length = header_in(headers, "content-length")
    if length.isdigit():
        return int(length) > (NOTHING_ENCODED if header_in(headers, "content-encoding") else 0)
    return _transferred(response) > LARGEST_HEAD


def _transferred(response: dict[str, Any]) -> int:
    """Return the size of the encoded body by what Chrome says that crossed the network, 0 where it does not.

    That counts the head, too, whose compressed size over HTTP/2 nobody tells.
    """
    return max(0, _number(response.get("_transferSize"), 0) - max(0, _number(response.get("headersSize"), 0)))


def _encoding_then(status: int, response: dict[str, Any], body: bytes) -> Headers:
    """Return the Content-Encoding of an answer that a 304 stood for, if its size shows that it had one.

    The 304 itself does not say; Firefox keeps the size as it was in its cache.
    """
    compressed = status == HTTPStatus.NOT_MODIFIED and 0 < _number(response.get("bodySize"), UNKNOWN) < len(body)
    return (("Content-Encoding", "gzip"),) if compressed else ()


def _wire_bytes(response: dict[str, Any], headers: Headers) -> int:
    """Return the size of the encoded body: Content-Length says it; bodySize only when it is below the decoded size.

    Today's Firefox and mitmproxy have the encoded size where the decoded one should be; Firefox counts the head into
    bodySize, mitmproxy tells how much smaller the encoded body is.
    """
    length = header_in(headers, "content-length")
    if length.isdigit():
        return int(length)
    size, decoded = _number(response.get("bodySize"), UNKNOWN), _number((response.get("content") or {}).get("size"), 0)
    encoded = bool(header_in(headers, "content-encoding"))
    with_head = decoded + max(0, _number(response.get("headersSize"), 0))
    is_smaller = _number((response.get("content") or {}).get("compression"), 0) > 0
    if encoded and decoded > 0 and (with_head == size > decoded or (is_smaller and size == decoded)):
        return decoded
    if encoded and size < 0:
        size = _transferred(response)
    if size > 0 and (not encoded or size < decoded or decoded <= 0):
        return size
    return UNKNOWN if encoded or decoded <= 0 else decoded


def pairs_of(message: dict[str, Any]) -> Headers:
    """Return the headers of a request or an answer as they stand in a HAR."""
    pairs = message.get("headers")
    return tuple((str(pair["name"]), str(pair["value"])) for pair in (pairs if isinstance(pairs, list) else [])
                 if isinstance(pair, dict) and "name" in pair and "value" in pair)


def _number(value: Any, otherwise: int) -> int:
    if isinstance(value, str) and re.fullmatch("[0-9]{1,15}", value):
        return int(value)
    return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else otherwise


def _duration_ms(value: Any) -> float:
    """Return how long something took, 0 for what is no number."""
    try:
        return max(0.0, float(value or 0))
    except (TypeError, ValueError):
        return 0.0
