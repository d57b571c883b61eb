"""HAR 1.2 (http://www.softwareishard.com/blog/har-12-spec/) of our own files: written, and read as a whole.

    entry = to_har(exchange)                    # harness.files.har_entry has the way back
    log = read_har(path)                        # that of a load, or of a recorded page

No other module knows how an entry is written. Names that begin with an underscore are Chrome's or our own:
docs/results.md lists them. `_connectionId` is `connection` once more, for Chrome's DevTools: they look there for it,
and show what they find in `connection` as the server's port (front_end/models/har/Importer.ts). Over HTTP/2
`httpVersion` is "h2", as DevTools call it: Chrome's net-log says "HTTP/1.1" of such answers.
"""

import base64
import math
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from msgspec.structs import asdict
from wsproto.frame_protocol import Opcode

from harness.files.encoding import decode, encode_text
from harness.files.exchange import (
    UNKNOWN,
    Answer,
    Body,
    Exchange,
    Fate,
    Message,
)
from harness.files.har_entry import NO_ENTRY, SAME, OwnEntry, RequestPart, from_har, time_ms
from harness.files.headers import Headers
from harness.files.moments import EPOCH, iso_of, moment_of
from harness.system.untrusted import UnreadableFileError, read_untrusted_json

PAGE = "page_1"
"""How a HAR calls its only page."""
CREATOR = {"name": "TFO Lab", "version": "2"}
STILL_ENCODED = "still encoded as"
"""What a `content.comment` begins with whose body could not be decoded; the encoding follows."""
STRIPPED = re.compile(r"\[([0-9]{1,9}) bytes were stripped\]")
"""What Chrome's net-log has in place of a cookie or a credential: how long it was."""
CHARSET = "; charset="


def to_har(exchange: Exchange, page: str = PAGE) -> dict[str, Any]:
    """Return an exchange as an entry of the HAR's `page`, ready for json.dump; with its body if it has `content`."""
    answer, body = exchange.answer, exchange.answer.body or Body("")
    entry = OwnEntry(
        RequestPart(exchange.request.url), pageref=page, started=iso_of(exchange.started), time=exchange.length_ms,
        timings=asdict(exchange.phases), connect_ms=exchange.handshake_ms, comment=exchange.note,
        from_cache="disk" if exchange.from_cache else "", after_load=exchange.fate is Fate.AFTER_LOAD,
        partial=answer.partial, headers_unknown=answer.headers is None, arrivals=[*answer.arrivals], file=body.file,
        file_bytes=body.bytes, file_sha256=body.sha256,
        messages=None if answer.messages is None else [*map(_message, answer.messages)],
        **{name: getattr(exchange, name) for name in SAME})
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
        "queryString": _pairs(parse_qsl(_target(request.url).partition("?")[2], keep_blank_values=True)),
        "headersSize": request_head_bytes(exchange), "bodySize": request.body_bytes}
    if request.body or request.sha256:
        found["postData"] = {"mimeType": request.header("content-type"), **_text(request.body, "_encoding")}
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
    line = f"{answer.protocol} {answer.status} {answer.reason}" if answer.status and answer.headers is not None else ""
    known = bool(line) and not exchange.from_cache and not answer.http2
    found = {"status": answer.status, "statusText": answer.reason, "httpVersion": answer.protocol, "cookies": [],
             "headers": _pairs(answer.headers or ()), "content": content | _content(answer),
             "redirectURL": answer.redirect_url,
             "headersSize": _size(line, answer.headers or ()) if known else UNKNOWN, "bodySize": answer.body_bytes}
    return found | ({"_earlyHints": hints} if (hints := _pairs(answer.early_hints)) else {})


def _content(answer: Answer) -> dict[str, Any]:
    """Return an answer's body as HAR has it, decoded; nothing where it is not in `content`."""
    if answer.content is None:
        return {}
    named = answer.header("content-encoding")
    body, known = decode(answer.content, named)
    found: dict[str, Any] = {"size": len(body)}
    if not known:
        found["comment"] = f"{STILL_ENCODED} {named}"
    if not body and answer.status != HTTPStatus.OK:
        return found
    return found | _text(body, "encoding", answer.header("content-type") or answer.mime_type)


def _text(body: bytes, label: str, content_type: str | None = None) -> dict[str, str]:
    """Return a body as text, if who writes that in the charset of its `content_type` makes the same of it; else in
    base64, as its `label` says.
    """
    with suppress(UnicodeDecodeError):
        text = body.decode("utf-8")
        if content_type is None or encode_text(text, content_type) == body:
            return {"text": text}
    return {"text": base64.b64encode(body).decode(), label: "base64"}


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
        return {"startedDateTime": iso_of(self.started), "id": name, "title": url,
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


def har_log(url: str, entries: list[dict[str, Any]], times: PageTimes | None = None, *, browser: str = ""
            ) -> dict[str, Any]:
    """Return a HAR of one page whose `entries` are HAR's, ready for json.dump."""
    page = (times or PageTimes()).to_har(url)
    log: dict[str, Any] = {"version": "1.2", "creator": CREATOR, "pages": [page], "entries": entries}
    log |= {"browser": {"name": "Chromium", "version": browser}} if browser else {}
    return {"log": log}


class LoadLog(msgspec.Struct, frozen=True):
    """What the HAR of a page says: its times, and its exchanges in their order."""

    times: PageTimes
    exchanges: tuple[Exchange, ...]

    @property
    def began(self) -> datetime:
        """When the load began."""
        return self.times.started or EPOCH


def read_har(path: Path, page: str = "", problems: list[str] | None = None) -> LoadLog:
    """Return what the HAR of a load says, or of a recorded `page`, of which what is no entry is left out, with a line
    in `problems`. Raises UnreadableFileError.
    """
    found = read_untrusted_json(path)
    try:
        return log_of(found["log"], page, str(path), problems)
    except NO_ENTRY as error:
        raise UnreadableFileError(path, f"no HAR of a page ({type(error).__name__}: {error})") from None


def log_of(log: Mapping[str, Any], page: str = "", where: str = "", problems: list[str] | None = None) -> LoadLog:
    """Return what the `log` of a HAR says. Raises NO_ENTRY for what is none; see `read_har`."""
    exchanges, times = list[Exchange](), page_times(log)
    for number, entry in enumerate(log["entries"], start=1):
        try:
            exchanges.append(from_har(entry, page))
        except NO_ENTRY as error:       # noqa: PERF203
            if problems is None:
                raise
            problems.append(f"{where}:1: entry {number} is none ({type(error).__name__}: {error}); left out")
    if problems is None and None in (times.started, *(exchange.started for exchange in exchanges)):
        raise ValueError("it does not say when it began, or what it asked for")
    return LoadLog(times, tuple(exchanges))


def _pairs(headers: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in headers]


def _target(url: str) -> str:
    """Return what stands in a request's first line."""
    return "/" + url.partition("#")[0].partition("//")[2].partition("/")[2]


def _message(message: Message) -> dict[str, Any]:
    data = base64.b64encode(message.data) if message.opcode == Opcode.BINARY else message.data
    return {"type": "receive" if message.received else "send", "time": message.time_s, "opcode": message.opcode,
            "data": data.decode()}


def _size(first_line: str, headers: Headers) -> int:
    """Return the bytes of an HTTP/1 head up to and with its empty line; what Chrome stripped from it counts in full."""
    if not first_line:
        return UNKNOWN
    size = len(first_line) + 4
    for name, value in headers:
        stripped = sum(int(match[1]) - len(match[0]) for match in STRIPPED.finditer(value))
        size += len(name) + len(value) + stripped + 4
    return size
