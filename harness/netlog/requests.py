"""The HTTP transactions of a net-log: what each URL_REQUEST source asked for and got, one transaction per redirect hop.

What the events mean is written in Chromium's ``net/log/net_log_event_type_list.h``. A hop begins with
URL_REQUEST_START_JOB. Its times, in ticks (ms of Chrome's clock):

    start         REQUEST_ALIVE begins (first hop), URL_REQUEST_START_JOB begins (after a redirect)
    sent          HTTP_TRANSACTION_SEND_REQUEST begins and ends; the last one, when a dead connection made Chrome resend
    head          HTTP_TRANSACTION_READ_HEADERS ends
    end           the last body byte: HTTP_TRANSACTION_READ_BODY (or HTTP_CACHE_READ_DATA) ends; for a redirect
                  its head; for a failure the failure
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus, client
from typing import Any
from urllib.parse import unquote_to_bytes

from harness.files.exchange import Phases
from harness.files.har import H2, H3
from harness.files.headers import EVENT_STREAM, Headers, header_in
from harness.netlog.bodies import ResponseBody
from harness.netlog.file import BEGIN, END, POINT, Event, Readers, Subscriber, net_error, noting

ABORTED = -3    # net::ERR_ABORTED in Chromium's net/base/net_error_list.h
PREFETCH = "PREFETCH"
"""The flag of what a page has fetched ahead, for a page that may come later. Chrome logs another origin's document that
is fetched so (<link rel=prefetch as=document>) as one of the main frame, by whose key it is cached (Chromium's
prefetch_url_loader_service_context.cc): it is not the page's."""
NO_ORIGIN = "not an origin"
SAFE = ("GET", "HEAD", "OPTIONS", "TRACE")
"""Methods that change nothing (RFC 9110, section 9.2.1): Chrome sends no others early (RFC 8470, section 4)."""
ESCAPED = "%ESCAPED:\u200b "
"""What Chrome puts before a text that it percent-encodes, since it is not ASCII (net/log/net_log_values.cc)."""
PARAMETER = re.compile(r';([^=;]*)=[ \t]*("(?:[^"\\]|\\.)*"?|[^;]*)')
"""A parameter of a Content-Type, its name and its value (RFC 9110, section 5.6.6). Python's email.message reads those
of mails, too, that are cut in parts (RFC 2231): it ends in a TypeError where such parts make no sense."""
NOT_ASCII = re.compile(rb"[\x80-\xff]")
LARGEST_STATUS = 2**31 - 1
"""What Chrome makes of a larger one (net/http/http_response_headers.cc)."""


@dataclass(eq=False)
class HttpTransaction:
    """One request and its answer as the events of its source tell it; ticks, None for what never happened.

    It is number `hop` of its source, after so many redirects. `connection` is the id of the socket, None when there was
    none, `error` "" or Chrome's name such as net::ERR_ABORTED: these and `phases` are known once the log was read
    (harness.netlog.transactions). Of cookies Chrome logs the length only.
    """

    source: int
    hop: int
    url: str
    start: int
    method: str = ""
    initiator: str = NO_ORIGIN
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
    connection: int | None = None
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
    def status(self) -> int:
        """The answer's status, 0 without one."""
        code = self.status_line.partition(" ")[2].partition(" ")[0]
        return min(int(code[:10]), LARGEST_STATUS) if code.isdigit() else 0

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
        """The MIME type of the answer, "" for none."""
        return mime_type_and_charset(self.response_headers)[0]

    @property
    def charset(self) -> str:
        """The charset that the answer names, "" for none."""
        return mime_type_and_charset(self.response_headers)[1]

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


def mime_type_and_charset(headers: Headers) -> tuple[str, str]:
    """Return the MIME type and charset of a Content-Type header in lower case, "" for what it does not say."""
    value = header_in(headers, "content-type")
    charset = next((said for parameter, said in PARAMETER.findall(value) if parameter.strip().lower() == "charset"), "")
    return value.partition(";")[0].strip().lower(), charset.strip().strip('"').lower()


@dataclass
class Request:
    """One URL_REQUEST: its hops; none when it was given up before it started. `alive` is when it began."""

    source: int
    keeps_bodies: bool = False
    hops: list[HttpTransaction] = field(default_factory=list)
    alive: int | None = None


def _hop(request: Request, event: Event) -> None:
    """Begin a hop; where there was one before, that redirected to it."""
    url = str(event.params.get("url", ""))
    start = event.tick
    if request.hops:
        request.hops[-1].redirect_url = url
    elif request.alive is not None:
        start = request.alive
    request.hops.append(HttpTransaction(
        request.source, len(request.hops), url, start, method=str(event.params.get("method", "")),
        initiator=str(event.params.get("initiator", NO_ORIGIN)),
        main_frame=event.params.get("request_type") == "main frame", load_flags=int(event.params.get("load_flags", 0)),
        body=ResponseBody(request.keeps_bodies)))


def _headers(event: Event) -> Headers:
    """Split "Name: value" lines; the name of an HTTP/2 pseudo-header begins with a colon."""
    parts = [(line[:1], *line[1:].partition(":")) for line in map(_text, event.params.get("headers", []))]
    return tuple((begin + name, value.strip()) for begin, name, _, value in parts)


def _text(logged: Any) -> str:
    """Return a text as it was before Chrome wrote it down; what is no UTF-8 is taken for Latin-1.

    But not of a Location: Chrome follows it byte for byte (IsRedirect in net/http/http_response_headers.cc), say to
    /Z%FCrich, and not to /Z%C3%BCrich.
    """
    text = str(logged)
    if not text.startswith(ESCAPED):
        return text
    raw = unquote_to_bytes(text.removeprefix(ESCAPED))
    try:
        return raw.decode()
    except UnicodeDecodeError:
        if raw.lower().startswith(b"location:"):
            return NOT_ASCII.sub(lambda byte: b"%%%02X" % ord(byte[0]), raw).decode()
        return raw.decode("latin-1")


def _sending(hop: HttpTransaction, event: Event) -> None:
    """Begin a sending; whatever an earlier one brought is void."""
    hop.send_start, hop.send_end, hop.head_end, hop.body_end = event.tick, None, None, None
    hop.status_line, hop.response_headers, hop.early_hints, hop.hinted = "", (), (), None
    hop.body = ResponseBody(hop.body.kept)
    hop.sent_by.append(hop.job)


def _request_head(version: str = "") -> Callable[[HttpTransaction, Event], None]:
    """Return a reader of the head that is sent, also where it is sent again since the server wants HTTP/1.1 for it
    (HTTP_1_1_REQUIRED).
    """
    def read(hop: HttpTransaction, event: Event) -> None:
        hop.version = version
        hop.request_headers = _headers(event)
    return read


def _response_head(hop: HttpTransaction, event: Event) -> None:
    lines = event.params.get("headers", [])
    hop.status_line = _text(lines[0]) if lines else ""
    hop.response_headers = _headers(event)[1:]


def _early_hints(hop: HttpTransaction, event: Event) -> None:
    hop.hinted = event.tick if hop.hinted is None else hop.hinted
    hop.early_hints += tuple(pair for pair in _headers(event) if not pair[0].startswith((":", "HTTP/")))


def _came(name: str) -> Callable[[HttpTransaction, Event], None]:
    """Return a reader of bytes of a body, whose number it adds to the field `name`."""
    def read(hop: HttpTransaction, event: Event) -> None:
        setattr(hop, name, getattr(hop, name) + int(event.params.get("byte_count", 0)))
        hop.body.came(event, encoded=name == "wire_bytes")
    return read


def _waits(hop: HttpTransaction, event: Event) -> None:
    hop.body.asked = event.tick


def _has_read(hop: HttpTransaction, event: Event) -> None:
    hop.body_end = event.tick
    hop.body.has(event)


def _redirected(hop: HttpTransaction, event: Event) -> None:
    hop.redirect_url, hop.closed = str(event.params.get("location", "")), event.tick


def _job_ended(hop: HttpTransaction, event: Event) -> None:
    """Note an error that kept the answer's head from coming."""
    if event.params.get("net_error"):
        _closed(hop, event)


def _cancelled(hop: HttpTransaction, event: Event) -> None:
    hop.net_error, hop.closed = int(event.params.get("net_error", ABORTED)), event.tick


def _closed(hop: HttpTransaction, event: Event) -> None:
    if hop.closed is None:
        hop.closed = event.tick
    hop.net_error = hop.net_error or net_error(event)


_HOP_READERS: Readers[HttpTransaction] = {
    ("HTTP_STREAM_REQUEST", BEGIN): noting("goes_out"),
    ("HTTP_STREAM_REQUEST_BOUND_TO_JOB", POINT): noting("job", Event.dependency),
    ("HTTP_TRANSACTION_SEND_REQUEST", BEGIN): _sending,
    ("HTTP_TRANSACTION_SEND_REQUEST_HEADERS", POINT): _request_head(),
    ("HTTP_TRANSACTION_HTTP2_SEND_REQUEST_HEADERS", POINT): _request_head(H2),
    ("HTTP_TRANSACTION_QUIC_SEND_REQUEST_HEADERS", POINT): _request_head(H3),
    ("HTTP_TRANSACTION_SEND_REQUEST", END): noting("send_end"),
    ("HTTP_TRANSACTION_READ_RESPONSE_HEADERS", POINT): _response_head,
    ("HTTP_TRANSACTION_READ_EARLY_HINTS_RESPONSE_HEADERS", POINT): _early_hints,
    ("URL_REQUEST_FAKE_RESPONSE_HEADERS_CREATED", POINT): _response_head,
    ("HTTP_TRANSACTION_READ_HEADERS", END): noting("head_end"),
    ("HTTP_TRANSACTION_READ_BODY", BEGIN): _waits,
    ("HTTP_TRANSACTION_READ_BODY", END): _has_read,
    ("HTTP_CACHE_READ_DATA", END): noting("body_end"),
    ("HTTP_CACHE_READ_INFO", END): noting("cache_read"),
    ("URL_REQUEST_JOB_BYTES_READ", POINT): _came("wire_bytes"),
    ("URL_REQUEST_JOB_FILTERED_BYTES_READ", POINT): _came("content_bytes"),
    ("URL_REQUEST_REDIRECTED", POINT): _redirected,
    ("URL_REQUEST_START_JOB", END): _job_ended,
    ("CANCELLED", POINT): _cancelled,
    ("REQUEST_ALIVE", END): _closed,
}


def _of_last_hop(read: Callable[[HttpTransaction, Event], None]) -> Callable[[Request, Event], None]:
    return lambda request, event: read(request.hops[-1], event) if request.hops else None


_READERS: Readers[Request] = {
    ("REQUEST_ALIVE", BEGIN): noting("alive"),
    ("URL_REQUEST_START_JOB", BEGIN): _hop,
    **{wanted: _of_last_hop(read) for wanted, read in _HOP_READERS.items()}}


class Requests(Subscriber[Request]):
    """Reads what was asked for, and the answers, with their bodies or without."""

    def __init__(self, *, keep_bodies: bool) -> None:
        super().__init__(("URL_REQUEST",), partial(Request, keeps_bodies=keep_bodies), _READERS)
