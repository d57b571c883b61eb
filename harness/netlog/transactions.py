"""The HTTP transactions of a net-log: one request and its answer, with the body exactly as it came over the wire.

Chrome writes bodies there with ``--net-log-capture-mode=Everything``: URL_REQUEST_JOB_BYTES_READ has the bytes before
content decoding and URL_REQUEST_JOB_FILTERED_BYTES_READ those after it (only the latter when there is nothing to
decode), base64 in `bytes`. This is better than the debugging protocol's Network.getResponseBody in three ways. It has
the encoded bytes, so that a replay sends as many as the original did; getResponseBody has only decoded ones. It has
every frame, worker and service worker, preflights, and what was aborted half way; the protocol tells each of these on a
session of its own, or not at all. And it loses nothing: Chrome drops bodies from the protocol's buffer when a document
is replaced or the buffer is full. Only the bodies of redirects are in neither: Chrome does not read them.
"""

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus, client
from typing import Any

from harness.files.encoding import CHARSET
from harness.files.exchange import Phases
from harness.files.headers import EVENT_STREAM, Headers, header_in
from harness.netlog.connections import Connection
from harness.netlog.file import Event

PREFETCH = "PREFETCH"
"""The flag of what a page has fetched ahead, for a page that may come later. Chrome logs another origin's document that
is fetched so (<link rel=prefetch as=document>) as one of the main frame, by whose key it is cached (Chromium's
prefetch_url_loader_service_context.cc): it is not the page's."""
SAFE = ("GET", "HEAD", "OPTIONS", "TRACE")
"""Methods that change nothing (RFC 9110, section 9.2.1): Chrome sends no others early (RFC 8470, section 4)."""
STATUS = re.compile("[1-9][0-9]{2}", re.ASCII)


@dataclass
class ResponseBody:
    """One response's body as far as it came."""

    encoded: bytearray = field(default_factory=bytearray)
    """Before content decoding; empty when there was nothing to decode."""
    decoded: bytearray = field(default_factory=bytearray)

    arrivals: list[tuple[int, int]] = field(default_factory=list)
    """When how many bytes of `wire` had come: ticks and sizes."""
    waits: list[tuple[int, int, int]] = field(default_factory=list)
    """From when to when Chrome waited for the next bytes, in ticks, and how many bytes of `wire` had come before.

    What Chrome itself leaves unread for a while, since the page is busy, say, is no wait.
    """
    asked: int | None = None
    """When Chrome asked for the next bytes, which have not come."""

    @property
    def wire(self) -> bytes:
        """The bytes as they came over the wire, without the chunks or frames of the transfer."""
        return bytes(self.encoded or self.decoded)

    def has(self, event: Event) -> None:
        """Note that Chrome has the next bytes, or the end of the body."""
        if self.asked is not None and event.tick > self.asked:
            self.waits.append((self.asked, event.tick, len(self.encoded or self.decoded)))
        self.asked = None

    def came(self, event: Event, *, encoded: bool) -> None:
        """Add bytes that came; a log that is captured without them has none."""
        if "bytes" in event.params:
            (self.encoded if encoded else self.decoded).extend(base64.b64decode(event.params["bytes"]))
            if encoded or not self.encoded:
                self.arrivals.append((event.tick, len(self.encoded or self.decoded)))


@dataclass(eq=False)
class HttpTransaction:
    """One request and its answer as the events of its source tell it; ticks, None for what never happened.

    It is number `hop` of its source, after so many redirects. `connection` is None when there was none, `error` "" or
    Chrome's name such as net::ERR_ABORTED: these and `phases` are known once the log was read (harness.netlog.load). Of
    cookies Chrome logs the length only.
    """

    source: int
    hop: int
    url: str
    start: int
    method: str = ""
    initiator: str = ""
    """The origin that asked, "" for none: Chrome itself, or who typed the URL."""
    main_frame: bool = False
    load_flags: int = 0
    sent_by: list[int] = field(default_factory=list)
    """The stream job of each time the request was sent: more than one when a reused connection turned out dead."""
    send_start: int | None = None
    send_end: int | None = None
    head_end: int | None = None
    body_end: int | None = None
    closed: int | None = None
    net_error: int = 0
    request_headers: Headers = ()
    status_line: str = ""
    response_headers: Headers = ()
    early_hints: Headers = ()
    """Headers of answers with the status 103 (RFC 8297), which came before."""
    hinted: int | None = None
    """When the first of them came."""
    redirect_url: str | None = None
    wire_bytes: int = 0
    content_bytes: int = 0
    """What the page got."""
    body: ResponseBody = field(default_factory=ResponseBody)
    cache_read: int | None = None
    goes_out: int | None = None
    """When Chrome wanted a connection for it, also where it got none."""
    version: str = ""
    """H2 or H3, where that was spoken."""
    job: int = 0
    connection: Connection | None = None
    error: str = ""
    phases: Phases = field(default_factory=Phases)
    synchronous: bool = False
    """Whether the page's thread stood still until the answer was there (XMLHttpRequest's third argument)."""

    @property
    def sends(self) -> int:
        """How many times it was sent: over 1 when Chrome had to send again because a reused connection was dead."""
        return len(self.sent_by)

    @property
    def from_cache(self) -> bool:
        """Whether the answer came from Chrome's HTTP cache without asking the server.

        What is too old is read there, too, before the server is asked whether it still holds.
        """
        return self.cache_read is not None and self.goes_out is None and not self.sent_by

    @property
    def end(self) -> int | None:
        """The tick of the last byte or of the failure; None when neither happened before the log ended."""
        if self.net_error:
            return self.closed
        if self.redirect_url is not None:
            return self.head_end if self.head_end is not None else self.closed
        return self.body_end if self.body_end is not None and self.closed is not None else self.closed

    @property
    def head_tick(self) -> float:
        """When the answer's head was there, by its phases; its end where none came."""
        return self.start + self.phases.until_head

    @property
    def status(self) -> int:
        """The answer's status, 0 without one of three digits (RFC 9110, section 15)."""
        code = self.status_line.partition(" ")[2].partition(" ")[0]
        return int(code) if STATUS.fullmatch(code) else 0

    @property
    def status_text(self) -> str:
        """What the status says in words, "" without one."""
        phrase = self.status_line.partition(" ")[2].partition(" ")[2].strip()
        return (phrase or client.responses.get(self.status, "")) if self.status else ""

    @property
    def protocol(self) -> str:
        """What was spoken, "" where nothing was answered over HTTP/1."""
        return self.version or (self.status_line.partition(" ")[0] if self.status else "")

    @property
    def mime_type(self) -> str:
        """The MIME type of the answer, in lower case, "" for none."""
        return header_in(self.response_headers, "content-type").partition(";")[0].strip().lower()

    @property
    def charset(self) -> str:
        """The charset that the answer names, in lower case, "" for none."""
        named = CHARSET.search(header_in(self.response_headers, "content-type"))
        return named[1].lower() if named else ""

    @property
    def body_bytes(self) -> int:
        """What came over the network, still compressed; 0 from the cache, and for a redirect: Chrome reads none."""
        return (self.wire_bytes or self.content_bytes) if self.sent_by and self.status != HTTPStatus.NOT_MODIFIED else 0

    def is_stream(self, *, over: bool) -> bool:
        """Say whether the answer is a stream: of events, or one of unknown length that is not `over`."""
        length_is_known = header_in(self.response_headers, "content-length")
        return self.status == HTTPStatus.OK and (self.mime_type == EVENT_STREAM or not (over or length_is_known))


def load_flag(constants: Mapping[str, Any], name: str) -> int:
    """Return the bit that a net-log's constants give to a flag of requests, 0 where they do not know it."""
    return int((constants.get("loadFlag") or {}).get(name, 0))
