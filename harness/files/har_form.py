"""The form of a HAR's entry (HAR 1.1 and 1.2), and of our own: a typed schema by which it is read, whoever wrote it."""

from typing import Any

import msgspec

from harness.files.exchange import UNKNOWN
from harness.files.headers import Headers

NAMES = {"mime_type": "mimeType", "version": "httpVersion", "posted": "postData", "body_bytes": "bodySize",
         "reason": "statusText", "redirect_url": "redirectURL", "head_bytes": "headersSize",
         "transfer_bytes": "_transferSize", "started": "startedDateTime", "connect_ms": "_connectMs",
         "protocol": "_protocol", "content_bytes": "_objectSizeUncompressed", "messages": "_webSocketMessages",
         "file": "_file", "own_encoding": "_encoding", "early_hints": "_earlyHints", "own_head_bytes": "_headBytes",
         "sha256": "_sha256"}
"""Fields of the schema -> HAR's names."""


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
    file: str = ""
    sha256: str = ""


class Content(Part, frozen=True):
    """The body of an answer; `text` is decoded, `file` the name of what lies beside the HAR."""

    size: float = UNKNOWN
    mime_type: str = ""
    text: str | None = None
    encoding: str = ""
    comment: str = ""
    file: str | None = None


class RequestPart(Part, frozen=True):
    """What was asked for; sizes in bytes."""

    url: str
    method: str = "GET"
    version: str = ""
    headers: list[Pair] = []
    posted: Posted = Posted()
    body_bytes: float = 0


class ResponsePart(Part, frozen=True):
    """What came; sizes in bytes. `own_head_bytes` is over HTTP/2."""

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
    own_head_bytes: int = 0


class Entry(Part, frozen=True):
    """One request and its answer; times in ms, `content_bytes` is WebPageTest's."""

    request: RequestPart
    response: ResponsePart = ResponsePart()
    pageref: str = ""
    started: str | float = ""
    time: float | None = None
    timings: dict[str, Any] = {}
    connect_ms: float | None = None
    protocol: str = ""
    content_bytes: float = 0
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


def without_nulls(found: Any) -> Any:
    """Return JSON without what is null: what may be missing in a HAR may also be that."""
    if isinstance(found, dict):
        return {name: without_nulls(value) for name, value in found.items() if value is not None}
    return [without_nulls(each) for each in found] if isinstance(found, list) else found


def pairs_of(pairs: list[Pair]) -> Headers:
    """Return headers as pairs, without those that begin with a colon: they belong to HTTP/2's framing."""
    return tuple((pair.name, pair.value) for pair in pairs if not pair.name.startswith(":"))
