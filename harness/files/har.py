"""HAR 1.2 (http://www.softwareishard.com/blog/har-12-spec/) of our own files, and exchanges (harness.files.exchange).

    entry = to_har(exchange)
    exchange = from_har(entry, page)

No other module knows how an entry is written. Names that begin with an underscore are Chrome's or our own:
docs/results.md lists them. `_connectionId` is `connection` once more, for Chrome's DevTools: they look there for it,
and show what they find in `connection` as the server's port (front_end/models/har/Importer.ts). Over HTTP/2
`httpVersion` is "h2", as DevTools call it: Chrome's net-log says "HTTP/1.1" of such answers.
"""

import base64
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec
from msgspec.structs import asdict
from wsproto.frame_protocol import Opcode

from harness.files.charsets import encode_text
from harness.files.encoding import decode
from harness.files.exchange import (
    UNKNOWN,
    Answer,
    Body,
    Exchange,
    Fate,
    Message,
    Phases,
    Request,
    fate_of,
)
from harness.files.har_form import OwnEntry, Posted, RequestPart, handshake_ms, pairs_of, time_ms
from harness.files.headers import Headers
from harness.files.moments import EPOCH, moment_of

PAGE = "page_1"
"""How a HAR calls its only page."""
CREATOR = {"name": "TFO Lab", "version": "2"}
H2, H3 = "h2", "h3"
"""HTTP/2: the name by which TLS agrees on it (ALPN, RFC 9113, section 3.1), and what `httpVersion` says of it."""
STILL_ENCODED = "still encoded as"
"""What a `content.comment` begins with whose body could not be decoded; the encoding follows."""
LINE_ENDS = dict.fromkeys(map(ord, "\r\n"))
STRIPPED = re.compile(r"\[([0-9]{1,9}) bytes were stripped\]")
"""What Chrome's net-log has in place of a cookie or a credential: how long it was."""
CHARSET = "; charset="


def is_base64(*labels: str) -> bool:
    """Say whether one of these labels calls a text base64, however that is written."""
    return any(label.strip().lower() == "base64" for label in labels)


def from_base64(text: str) -> bytes | None:
    """Return the bytes of base64 in lines or not, with its padding or not; None for what is none (RFC 4648)."""
    packed = text.translate(LINE_ENDS).rstrip("=")
    try:
        return base64.b64decode(packed + "=" * (-len(packed) % 4), validate=True)
    except ValueError:
        return None


def posted_body(posted: Posted, size: int = UNKNOWN) -> bytes:
    """Return what a HAR's `postData` says was sent, of `size` bytes: base64, a text, or bytes as characters of Latin-1.

    What it says of its text is a claim: what has the size counts, if something has.
    """
    text = posted.text
    in_base64 = from_base64(text) if is_base64(posted.encoding, posted.own_encoding) else None
    readings = [] if in_base64 is None else [in_base64]
    readings.append(text.encode("utf-8", "surrogatepass"))
    if all(character <= "\xff" for character in text):
        readings.append(text.encode("latin-1"))
    return next((body for body in readings if len(body) == size), readings[0])


def to_har(exchange: Exchange, page: str = PAGE) -> dict[str, Any]:
    """Return an exchange as an entry of the HAR's `page`, ready for json.dump; with its body if it has `content`."""
    answer, body = exchange.answer, exchange.answer.body or Body("")
    entry = OwnEntry(
        RequestPart(exchange.request.url), pageref=page, started=_date(exchange.started), time=exchange.length_ms,
        timings=asdict(exchange.phases), connect_ms=exchange.handshake_ms, connection=exchange.connection,
        address=exchange.address, comment=exchange.note, error=exchange.error,
        from_cache="disk" if exchange.from_cache else "", before_document=exchange.before_document,
        after_load=exchange.fate is Fate.AFTER_LOAD, after_message=exchange.after_message,
        initiator=exchange.initiator, synchronous=exchange.synchronous, partial=answer.partial,
        headers_unknown=answer.headers is None, arrivals=[*answer.arrivals], file=body.file, file_bytes=body.bytes,
        file_sha256=body.sha256, messages=None if answer.messages is None else [*map(_message, answer.messages)])
    more = {"_connectionId": exchange.connection, "_resourceType": "" if answer.messages is None else "websocket"}
    found: dict[str, Any] = msgspec.to_builtins(entry)
    found |= {"request": _request(exchange), "response": _response(exchange), "cache": {}}
    return found | {name: value for name, value in more.items() if value}


def _request(exchange: Exchange) -> dict[str, Any]:
    request = exchange.request
    found: dict[str, Any] = {
        "method": request.method, "url": request.url,
        "httpVersion": exchange.answer.protocol if exchange.over_http2 else "HTTP/1.1",
        "cookies": [], "headers": _pairs(request.headers),
        "queryString": [{"name": name, "value": value} for name, value in _query(request.url)],
        "headersSize": request_head_bytes(exchange), "bodySize": request.body_bytes}
    if request.body or request.sha256:
        found["postData"] = {"mimeType": request.header("content-type"), **_text(request.body)}
        found["postData"] |= {"_sha256": request.sha256} if request.sha256 else {}
    return found


def request_head_bytes(exchange: Exchange) -> int:
    """Return the size of a request's head over HTTP/1; UNKNOWN over HTTP/2, and of what was never sent."""
    request = exchange.request
    if exchange.over_http2 or not request.headers:
        return UNKNOWN
    return _size(f"{request.method} {_target(request.url)} HTTP/1.1", request.headers)


def _response(exchange: Exchange) -> dict[str, Any]:
    answer = exchange.answer
    content: dict[str, Any] = {"size": answer.content_bytes,
                               "mimeType": answer.mime_type or answer.header("content-type")}
    if answer.body_bytes > 0 and answer.content_bytes not in (UNKNOWN, answer.body_bytes):
        content["compression"] = answer.content_bytes - answer.body_bytes
    line = f"{answer.protocol} {answer.status} {answer.reason}" if answer.status and answer.headers is not None else ""
    known = bool(line) and not exchange.from_cache and not answer.http2
    found = {"status": answer.status, "statusText": answer.reason, "httpVersion": answer.protocol, "cookies": [],
             "headers": _pairs(answer.headers or ()), "content": content | _content(answer),
             "redirectURL": answer.redirect_url,
             "headersSize": _size(line, answer.headers or ()) if known else UNKNOWN, "bodySize": answer.body_bytes}
    more = {"_earlyHints": _pairs(answer.early_hints), "_headBytes": answer.head_bytes}
    return found | {name: value for name, value in more.items() if value}


def _content(answer: Answer) -> dict[str, Any]:
    """Return an answer's body as HAR has it: decoded, as text if who writes that in its charset makes the same of it.

    Nothing where the body is not in `content`.
    """
    if answer.content is None:
        return {}
    named = answer.header("content-encoding")
    body, known = decode(answer.content, named)
    found: dict[str, Any] = {"size": len(body)}
    if len(body) != len(answer.content):
        found["compression"] = len(body) - len(answer.content)
    if not known:
        found["comment"] = f"{STILL_ENCODED} {named}"
    if not body and answer.status != HTTPStatus.OK:
        return found
    with suppress(UnicodeDecodeError):
        text = body.decode("utf-8")
        if encode_text(text, answer.header("content-type") or answer.mime_type) == body:
            return found | {"text": text}
    return found | {"text": base64.b64encode(body).decode(), "encoding": "base64"}


def from_har(found: Any, page: str = "") -> Exchange:
    """Return an entry of a HAR of ours as an exchange.

    Raises NO_ENTRY for what is none.
    """
    entry = msgspec.convert(found, OwnEntry, strict=False)
    request, response = entry.request, entry.response
    answer = Answer(
        response.status, response.reason, response.version or request.version,
        None if entry.headers_unknown else pairs_of(response.headers), response.content.mime_type,
        response.redirect_url, Body(entry.file, entry.file_bytes, entry.file_sha256) if entry.file else None,
        content_bytes=int(response.content.size), body_bytes=int(response.body_bytes),
        head_bytes=response.own_head_bytes, partial=entry.partial, early_hints=pairs_of(response.early_hints),
        arrivals=tuple(entry.arrivals),
        messages=tuple(map(_read_message, entry.messages)) if isinstance(entry.messages, list) else None)
    return Exchange(
        page=page,
        request=Request(request.method.upper(), request.url, pairs_of(request.headers), posted_body(request.posted),
                        request.posted.sha256),
        answer=answer, started=moment_of(entry.started), time_ms=time_ms(entry.time),
        phases=Phases(**{name: UNKNOWN if (ms := time_ms(entry.timings.get(name))) is None else ms
                         for name in Phases.__struct_fields__}),
        handshake_ms=handshake_ms(entry.connect_ms, entry.timings, entry.time, answer.protocol),
        connection=entry.connection, address=entry.address, error=entry.error,
        fate=fate_of(request.url, entry.error, answered=bool(answer.status), late=entry.after_load),
        from_cache=bool(entry.from_cache), before_document=entry.before_document, after_message=entry.after_message,
        initiator=entry.initiator, synchronous=entry.synchronous, note=entry.comment)


NO_ENTRY = (ValueError, TypeError, LookupError, AttributeError, OverflowError)
"""What the readers here raise for nonsense."""


def exchanges_of(entries: Iterable[Any], page: str = "", where: str = "", problems: list[str] | None = None
                 ) -> Iterator[Exchange]:
    """Give the exchanges among a HAR's entries; what is none is left out, with a line in `problems`: `where` it is."""
    for number, entry in enumerate(entries, start=1):
        try:
            yield from_har(entry, page)
        except NO_ENTRY as error:       # noqa: PERF203
            if problems is not None:
                problems.append(f"{where}:1: entry {number} is none ({type(error).__name__}: {error}); left out")


class PageTimes(msgspec.Struct, frozen=True):
    """When a HAR's page `started`, None where it does not say so, and its events, in ms after that; UNKNOWN: none."""

    started: datetime | None = None
    on_content_load_ms: float = UNKNOWN
    on_load_ms: float = UNKNOWN

    @property
    def load_event_s(self) -> float:
        """When the load event was, in s since the epoch; infinity where nobody knows."""
        if self.started is None or self.on_load_ms < 0:
            return math.inf
        return self.started.timestamp() + self.on_load_ms / 1000

    def to_har(self, url: str, name: str = PAGE) -> dict[str, Any]:
        """Return the page of a HAR, ready for json.dump."""
        return {"startedDateTime": _date(self.started), "id": name, "title": url,
                "pageTimings": {"onContentLoad": self.on_content_load_ms, "onLoad": self.on_load_ms}}


def page_times(log: Mapping[str, Any]) -> PageTimes:
    """Return the times of the page of a HAR's `log`, as far as it has them."""
    try:
        page = log["pages"][0]
        events = page.get("pageTimings") or {}
        return PageTimes(moment_of(page["startedDateTime"]), *(
            UNKNOWN if (ms := time_ms(events.get(name))) is None else ms for name in ("onContentLoad", "onLoad")))
    except NO_ENTRY:
        return PageTimes()


def har_log(url: str, entries: list[dict[str, Any]], times: PageTimes | None = None, *, comment: str = "",
            browser: str = "") -> dict[str, Any]:
    """Return a HAR of one page whose `entries` are HAR's, ready for json.dump."""
    page = (times or PageTimes()).to_har(url)
    log: dict[str, Any] = {"version": "1.2", "creator": CREATOR, "pages": [page], "entries": entries}
    log |= {"browser": {"name": "Chromium", "version": browser}} if browser else {}
    return {"log": log | ({"comment": comment} if comment else {})}


def _pairs(headers: Headers) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in headers]


def _query(url: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(urlsplit(url).query, keep_blank_values=True)
    except ValueError:
        return []


def _target(url: str) -> str:
    """Return what stands in a request's first line."""
    path, mark, rest = url.partition("//")[2].partition("/")
    return (mark or (path and "/")) + rest.partition("#")[0]


def _text(body: bytes) -> dict[str, str]:
    try:
        return {"text": body.decode("utf-8")}
    except UnicodeDecodeError:
        return {"text": base64.b64encode(body).decode(), "_encoding": "base64"}


def _message(message: Message) -> dict[str, Any]:
    data = base64.b64encode(message.data) if message.opcode == Opcode.BINARY else message.data
    return {"type": "receive" if message.received else "send", "time": message.time_s, "opcode": message.opcode,
            "data": data.decode()}


def _read_message(found: Mapping[str, Any]) -> Message:
    opcode, text = int(found["opcode"]), str(found["data"])
    return Message(found["type"] == "receive", float(found["time"]), opcode,
                       base64.b64decode(text) if opcode == Opcode.BINARY else text.encode())


def _size(first_line: str, headers: Headers) -> int:
    """Return the bytes of an HTTP/1 head up to and with its empty line; what Chrome stripped from it counts in full."""
    if not first_line:
        return UNKNOWN
    size = len(first_line) + 4
    for name, value in headers:
        stripped = sum(int(match[1]) - len(match[0]) for match in STRIPPED.finditer(value))
        size += len(name) + len(value) + stripped + 4
    return size


def _date(moment: datetime | None) -> str:
    return (moment or EPOCH).isoformat(timespec="milliseconds")


def moment_at(unix_ms: float) -> datetime:
    """Return the moment of a Unix time in ms, to whole ones."""
    return EPOCH + timedelta(milliseconds=round(unix_ms))
