"""Reads the responses in a recording's HAR: it has headers, status codes and protocols, which a text log has not.

An entry may have fields that HAR 1.2 does not know:

    _file           where its body is in the mirror, ``host/file``; without it, where the URL puts it, as in 2013
    _partial        only the beginning of the body came
    _refetched      it was fetched once more
    _headBytes      (of a response) how large its head was over HTTP/2, compressed as it was
    _earlyHints     (of a response) the headers of a 103 that came before it
    _connectMs      how long the whole TCP handshake of the request's connection took; HAR's own `timings.connect` is
                    how long this request waited for its connection, TLS included

Requests of one URL are told apart by their headers and their body. The body is HAR's `postData.text` (with `_encoding`
"base64" if it is not text) or, if only its hash is known, the hex SHA-256 `postData._sha256`.
"""

import re
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from harness.files.exchange import UNFINISHED
from harness.files.hack_dns import PORTS, SCHEMES
from harness.files.har import is_over_http2, posted_body
from harness.files.har_times import handshake_ms, time_ms
from harness.files.headers import BODILESS, REDIRECTS, Headers, header_in, headers_of_har
from harness.files.moments import moment_of
from harness.mirror.asked import Asked, BodyHash, hash_body, headers_of
from harness.mirror.bodies import Body
from harness.mirror.live import Arrivals, LiveConnection, arrivals_of, first_message_s, load_event_s, read_live
from harness.system.untrusted import UnreadableFileError, read_untrusted_json

HUNG_MS = 1000.0
"""A request that nobody had answered for so long when the recording ended hung; others were cut by that end."""


@dataclass(frozen=True)
class Exchange:
    """One request and its response. `status` 0: there was no response. `failed`: the response did not come whole.

    `started` is when the request was sent. `content_bytes` is the body's size when decoded, `file` where the body is,
    relative to its host's directory; both are None if the HAR does not say it. `body` is that file, ``host/file``, with
    the size that it has; "" and None where that is not told. `asked` is what the request said besides
    its URL, `from_cache` that the browser had the answer already.
    """

    url: str
    scheme: str
    method: str
    status: int
    http_version: str
    headers: Headers
    redirect_url: str | None
    started: datetime | None
    failed: bool
    content_bytes: int | None
    file: str | None
    body: tuple[str, Body] = ("", Body())
    asked: Asked = field(default_factory=Asked)
    from_cache: bool = False
    part: tuple[int, int] | None = None
    """Where a part of a body begins, and the size of the whole; None for a whole body."""
    early_hints: Headers = ()
    head_bytes: int = 0
    """How large the head was over HTTP/2, compressed as it was; 0 where that is not told."""
    arrivals: Arrivals = ()
    stays_open: bool = False
    """Whether a stream of events had not ended by the load event when it was recorded."""
    after_load: bool = False
    """Whether it was asked for after the load event."""
    after_message: bool = False
    """Whether a live connection had told the page something before it was asked for."""
    hung: bool = False
    """Whether it was sent, and no answer came until the page was closed (a long poll)."""
    closes: bool = False
    """Whether the site ended the connection after the answer (RFC 9112, section 9.3)."""
    before_document: bool = False
    """Whether it was asked for by a document that the one that is shown took the place of."""
    connect_ms: float | None = None
    """How long the TCP handshake of its connection took, None where that is not told: see harness.files.har_times."""
    wait_ms: float | None = None
    """From when the request was sent to the answer's first byte: a round trip and the server's own time."""

    @property
    def http2(self) -> bool:
        """Whether it went over HTTP/2 or HTTP/3."""
        return is_over_http2(self.http_version)


def read_exchanges(path: Path, problems: list[str], live: list[LiveConnection]) -> list[Exchange] | None:
    """Return the exchanges over http and https in a HAR, in its order; None when it is not a HAR.

    Adds a line to `problems` for each that cannot be used, and the WebSockets to `live`.
    """
    try:
        archive = read_untrusted_json(path)
        entries, last_s = archive["log"]["entries"], load_event_s(archive["log"])
        told_s = first_message_s(entries)
        found = [_exchange(entry, last_s, told_s) for entry in entries]
        live += read_live(entries, path.name.removesuffix(".har"), last_s)
    except UnreadableFileError as error:
        problems.append(f"{error}; its headers are not replayed")
        return None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        problems.append(f"{path}: not a HAR ({type(error).__name__}: {error}); its headers are not replayed")
        return None
    exchanges = []
    for exchange in found:
        if exchange is not None and _is_on_its_usual_port(exchange):
            exchanges.append(exchange)
        elif exchange is not None:
            problems.append(f"{path}: cannot be replayed, only ports 80 and 443 are: {exchange.url[:120]}")
    return exchanges


def _is_on_its_usual_port(exchange: Exchange) -> bool:
    try:
        return urlsplit(exchange.url).port in (None, PORTS[exchange.scheme])
    except ValueError:
        return False


def _exchange(entry: dict[str, Any], last_s: float, told_s: float) -> Exchange | None:
    """Return an entry of a recording's HAR up to `last_s`; None for what is not over http or https.

    `told_s` is when a live connection first told the page something.
    """
    request, response = entry["request"], entry["response"]
    url = str(request["url"])
    scheme = url.partition(":")[0].lower()
    if scheme not in SCHEMES:
        return None
    headers = headers_of_har(response.get("headers"))
    content = response.get("content") or {}
    size = int(content.get("size", -1))
    status = int(response.get("status") or 0)
    status = status if 200 <= status <= 599 else 0    # what is no final answer (RFC 9110, section 15) is none
    arrivals, cut = arrivals_of(entry, last_s)
    failed = not arrivals and bool(entry.get("_partial") or (entry.get("_error") and not entry.get("_refetched")))
    asked = Asked(headers_of(headers_of_har(request.get("headers"))), _body(request.get("postData") or {}))
    started = moment_of(entry.get("startedDateTime"))
    version = str(response.get("httpVersion") or request.get("httpVersion") or "")
    return Exchange(
        url=url, scheme=scheme, method=str(request["method"]).upper(), status=status, http_version=version,
        headers=headers, redirect_url=_redirect(url, status, response, headers),
        started=started, failed=failed, content_bytes=size if size >= 0 else None,
        file=str(entry["_file"]).partition("/")[2] if entry.get("_file") else None,
        body=(str(entry.get("_file") or ""), Body(_file_bytes(entry, status))), asked=asked,
        from_cache=bool(entry.get("_fromCache")), part=_part(status, headers, whole=bool(entry.get("_refetched"))),
        early_hints=headers_of_har(response.get("_earlyHints")), head_bytes=int(response.get("_headBytes") or 0),
        arrivals=arrivals,
        stays_open=cut or bool(arrivals and entry.get("_partial")), after_load=bool(entry.get("_afterLoad")),
        after_message=bool(entry.get("_afterMessage", started is not None and started.timestamp() > told_s)),
        hung=not status and _hung(entry, asked), closes=_closes(entry, version, status, headers),
        before_document=bool(entry.get("_beforeDocument")),
        connect_ms=handshake_ms(entry) if status else None,
        wait_ms=None if entry.get("_refetched") else time_ms((entry.get("timings") or {}).get("wait")))


def _file_bytes(entry: dict[str, Any], status: int) -> int | None:
    """Return how large the file of an answer's body is; None where the HAR tells the size of something else.

    Of what broke off it tells the size of all, of a part that of the part, of what the browser had nothing.
    """
    size = int(entry["response"].get("bodySize") or 0)
    is_of_the_file = status != HTTPStatus.PARTIAL_CONTENT and not (entry.get("_partial") or entry.get("_fromCache"))
    return size if size > 0 and is_of_the_file else None


def _hung(entry: dict[str, Any], asked: Asked) -> bool:
    """Say whether a request hung, and may hang again in a replay without holding up a load event for ever.

    What was asked for before the load event of the recording did not. After it, a script may ask for anything; in a
    replay that may be before it, and then it waits for all but what scripts ask for themselves (fetch).
    """
    waited = entry.get("_error") == UNFINISHED and (time_ms(entry.get("time")) or 0.0) >= HUNG_MS
    if not waited or not entry.get("connection") or asked.navigation:
        return False
    purpose = asked.headers.get("sec-fetch-dest", "empty")
    is_part = purpose != "empty" or asked.headers.get("accept", "").startswith(("image/", "text/css"))
    return not (entry.get("_afterLoad") and is_part)


def _closes(entry: dict[str, Any], version: str, status: int, headers: Headers) -> bool:
    """Say whether the site closed the connection; in archives it may be what a crawler had asked for."""
    said = header_in(headers, "connection").lower()
    old = version.upper() == "HTTP/1.0"
    return bool(entry.get("connection")) and (not is_over_http2(version)) and (
        "close" in said or (old and "keep-alive" not in said) or _ends_with_connection(entry, status, headers, old=old))


def _ends_with_connection(entry: dict[str, Any], status: int, headers: Headers, *, old: bool) -> bool:
    """Say whether nothing but the connection's end told Chrome where the body ends (RFC 9112, section 6.3).

    Some sites do not say that they close it (Chromium's net/http/http_stream_parser.cc, CanFindEndOfResponse).
    """
    if not status or status in BODILESS or str(entry["request"]["method"]).upper() == "HEAD":
        return False
    in_chunks = not old and "chunked" in header_in(headers, "transfer-encoding").lower()
    return not in_chunks and not header_in(headers, "content-length").isdigit()


def _part(status: int, headers: Headers, *, whole: bool) -> tuple[int, int] | None:
    """Return where a part begins and how large the whole is; None if it is not a part (RFC 9110, section 14.4).

    `whole`: what is kept is all of the body, whichever part was asked for. A part that is said to be all may have been
    given up half way, and what was asked for afterwards is joined to it.
    """
    text = header_in(headers, "content-range")
    match = re.fullmatch(r"bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18})", text)
    if status != 206 or match is None:
        return None
    return 0 if whole else int(match[1]), int(match[3])


def _body(posted: dict[str, Any]) -> BodyHash | None:
    """Return the hash of a request's body; None if there was no body, or if it is not known."""
    sha256, known = str(posted.get("_sha256") or ""), hash_body(posted_body(posted))
    return BodyHash(sha256, known.masked_sha256 if known else "") if sha256 else known


def _redirect(url: str, status: int, response: dict[str, Any], headers: Headers) -> str | None:
    """Return where a redirect leads, as an absolute URL."""
    if status not in REDIRECTS:
        return None
    target = response.get("redirectURL") or header_in(headers, "location")
    try:
        return urljoin(url, target) if target else None
    except ValueError:
        return None
