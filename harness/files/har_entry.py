"""A HAR's entry as it is read (HAR 1.1 and 1.2): a typed schema, whoever wrote it, and ours as exchanges.

    exchange = from_har(entry, page)            # of one of ours: harness.files.har has the way back

What its times on the network mean is said here, too.
"""

import base64
import math
from collections.abc import Mapping
from typing import Any

import msgspec
from wsproto.frame_protocol import Opcode

from harness.files.exchange import (
    UNKNOWN,
    Answer,
    Body,
    Exchange,
    Message,
    Phases,
    Request,
    fate_of,
)
from harness.files.headers import Headers
from harness.files.moments import moment_of

NAMES = {"mime_type": "mimeType", "version": "httpVersion", "posted": "postData", "body_bytes": "bodySize",
         "reason": "statusText", "redirect_url": "redirectURL", "head_bytes": "headersSize",
         "transfer_bytes": "_transferSize", "started": "startedDateTime", "connect_ms": "_connectMs",
         "protocol": "_protocol", "messages": "_webSocketMessages",
         "own_encoding": "_encoding", "early_hints": "_earlyHints",
         "sha256": "_sha256"}
"""Fields of the schema -> HAR's names."""
LINE_ENDS = dict.fromkeys(map(ord, "\r\n"))


class Part(msgspec.Struct, frozen=True, omit_defaults=True, rename=lambda name: NAMES.get(name, name)):
    """A part of a HAR."""


class Pair(Part, frozen=True):
    """A header."""

    name: str
    value: str


class Posted(Part, frozen=True):
    """What was sent."""

    text: str = ""
    encoding: str = ""
    own_encoding: str = ""
    sha256: str = ""


class Content(Part, frozen=True):
    """The body of an answer; `text` is decoded."""

    size: float = UNKNOWN
    mime_type: str = ""
    text: str | None = None
    encoding: str = ""
    comment: str = ""


class RequestPart(Part, frozen=True):
    """What was asked for; sizes in bytes."""

    url: str
    method: str = "GET"
    version: str = ""
    headers: list[Pair] = []
    posted: Posted = Posted()
    body_bytes: float = 0


class ResponsePart(Part, frozen=True):
    """What came; sizes in bytes."""

    status: int = 0
    reason: str = ""
    version: str = ""
    headers: list[Pair] = []
    content: Content = Content()
    redirect_url: str = ""
    body_bytes: float = 0
    head_bytes: float = 0
    transfer_bytes: float = 0
    early_hints: list[Pair] = []


class Entry(Part, frozen=True):
    """One request and its answer; times in ms."""

    request: RequestPart
    response: ResponsePart = ResponsePart()
    pageref: str = ""
    started: str | float = ""
    time: float | None = None
    timings: dict[str, Any] | None = None
    connect_ms: float | None = None
    protocol: str = ""
    messages: Any = None


def _with_underscore(name: str) -> str:
    first, *rest = name.split("_")
    return f"_{first}{''.join(map(str.title, rest))}"


class OwnEntry(Entry, frozen=True, rename=_with_underscore):
    """One of ours. What its fields mean is said of harness.files.exchange.Exchange; `file` is of the mirror."""

    connection: str = msgspec.field(default="", name="connection")
    address: str = msgspec.field(default="", name="serverIPAddress")
    comment: str = msgspec.field(default="", name="comment")
    error: str = ""
    from_cache: str = ""
    before_document: bool = False
    after_load: bool = False
    after_message: bool | None = None
    initiator: str = ""
    synchronous: bool = False
    partial: bool = False
    headers_unknown: bool = False
    arrivals: list[tuple[float, int]] = []
    file: str = ""
    file_bytes: int | None = None
    file_sha256: str = ""


SAME = ("connection", "address", "error", "before_document", "after_message", "initiator", "synchronous")
"""Fields of an entry of ours that an exchange has by the same names."""


def without_nulls(found: Any) -> Any:
    """Return JSON without what is null: what may be missing in a HAR may also be that."""
    if isinstance(found, dict):
        return {name: without_nulls(value) for name, value in found.items() if value is not None}
    return [without_nulls(each) for each in found] if isinstance(found, list) else found


def pairs_of(pairs: list[Pair]) -> Headers:
    """Return headers as pairs, without those that begin with a colon: they belong to HTTP/2's framing."""
    return tuple((pair.name, pair.value) for pair in pairs if not pair.name.startswith(":"))


def time_ms(found: object) -> float | None:
    """Return a time of a HAR; None for -1, which says that there is none."""
    if isinstance(found, bool) or not isinstance(found, int | float) or not math.isfinite(found):
        return None
    return float(found) if found >= 0 else None


def phases_of(timings: Mapping[str, Any]) -> Phases:
    """Return a HAR's timings; UNKNOWN for what is no time."""
    return Phases(*(UNKNOWN if (ms := time_ms(timings.get(name))) is None else ms for name in Phases.__struct_fields__))


def handshake_ms(known: float | None, timings: Phases, time: float | None, protocol: str) -> float | None:
    """Return how long the TCP handshake of the connection took that an entry's request went over; None if not known.

    It is what is `known` or the connect time less the time for TLS, but where a browser (Firefox) counts TLS beside it:
    then the entry's `time` is the sum of all parts and TLS. QUIC does both at once: then all of it is one handshake's.
    """
    told = time_ms(known)
    if told is not None or timings.connect < 0:
        return told
    tls, parts = max(0.0, timings.ssl), timings.total
    is_beside = time is not None and abs(time - parts - tls) < abs(time - parts)
    if is_beside or protocol.lower().startswith(("h3", "http/3")):
        return timings.connect
    return max(0.0, timings.connect - tls)


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


def posted_body(posted: Posted) -> bytes:
    """Return what a HAR's `postData` says was sent: a text, or base64 if it says so and it is."""
    in_base64 = from_base64(posted.text) if is_base64(posted.encoding, posted.own_encoding) else None
    return posted.text.encode("utf-8", "surrogatepass") if in_base64 is None else in_base64


def from_har(found: Any, page: str = "") -> Exchange:
    """Return an entry of a HAR of ours as an exchange. Raises NO_ENTRY for what is none."""
    entry = msgspec.convert(found, OwnEntry, strict=False)
    request, response, phases = entry.request, entry.response, phases_of(entry.timings or {})
    answer = Answer(
        response.status, response.reason, response.version or request.version,
        None if entry.headers_unknown else pairs_of(response.headers), response.content.mime_type,
        response.redirect_url, Body(entry.file, entry.file_bytes, entry.file_sha256) if entry.file else None,
        content_bytes=int(response.content.size), body_bytes=int(response.body_bytes),
        partial=entry.partial, early_hints=pairs_of(response.early_hints),
        arrivals=tuple(entry.arrivals),
        messages=tuple(map(_read_message, entry.messages)) if isinstance(entry.messages, list) else None)
    return Exchange(
        page=page,
        request=Request(request.method.upper(), request.url, pairs_of(request.headers), posted_body(request.posted),
                        request.posted.sha256),
        answer=answer, started=moment_of(entry.started), time_ms=time_ms(entry.time),
        phases=phases, handshake_ms=handshake_ms(entry.connect_ms, phases, entry.time, answer.protocol),
        fate=fate_of(request.url, entry.error, answered=bool(answer.status), late=entry.after_load),
        from_cache=bool(entry.from_cache), note=entry.comment, **{name: getattr(entry, name) for name in SAME})


NO_ENTRY = (ValueError, TypeError, LookupError, AttributeError, OverflowError)
"""What the readers here raise for nonsense."""


def _read_message(found: Mapping[str, Any]) -> Message:
    opcode, text = int(found["opcode"]), str(found["data"])
    return Message(found["type"] == "receive", float(found["time"]), opcode,
                       base64.b64decode(text) if opcode == Opcode.BINARY else text.encode())
