"""The HTTP transactions of a net-log: what each URL_REQUEST source asked for and got, one transaction per redirect hop.

What the events mean is written in Chromium's ``net/log/net_log_event_type_list.h``. A hop begins with
URL_REQUEST_START_JOB. Its times, in ticks (ms of Chrome's clock):

    start         REQUEST_ALIVE begins (first hop), URL_REQUEST_START_JOB begins (after a redirect)
    sent          HTTP_TRANSACTION_SEND_REQUEST begins and ends; the last one, when a dead connection made Chrome resend
    head          HTTP_TRANSACTION_READ_HEADERS ends
    end           the last body byte: HTTP_TRANSACTION_READ_BODY (or HTTP_CACHE_READ_DATA) ends; for a redirect
                  its head; for a failure the failure
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote_to_bytes

from harness.files.exchange import H2, H3
from harness.files.headers import Headers
from harness.netlog.file import BEGIN, END, POINT, Event, Readers, Subscriber, net_error, noting
from harness.netlog.transactions import HttpTransaction, ResponseBody

ABORTED = -3    # net::ERR_ABORTED in Chromium's net/base/net_error_list.h
NO_ORIGIN = "not an origin"
ESCAPED = "%ESCAPED:\u200b "
"""What Chrome puts before a text that it percent-encodes, since it is not ASCII (net/log/net_log_values.cc)."""


@dataclass
class Request:
    """One URL_REQUEST: its hops; none when it was given up before it started. `alive` is when it began."""

    source: int
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
        initiator=str(event.params.get("initiator", "")).replace(NO_ORIGIN, ""),
        main_frame=event.params.get("request_type") == "main frame", load_flags=int(event.params.get("load_flags", 0))))


def _headers(event: Event) -> Headers:
    """Split "Name: value" lines; the name of an HTTP/2 pseudo-header begins with a colon."""
    parts = [(line[:1], *line[1:].partition(":")) for line in map(_text, event.params.get("headers", []))]
    return tuple((begin + name, value.strip()) for begin, name, _, value in parts)


def _text(logged: Any) -> str:
    """Return a text as it was before Chrome wrote it down; what is no UTF-8 is taken for Latin-1."""
    text = str(logged)
    if not text.startswith(ESCAPED):
        return text
    raw = unquote_to_bytes(text.removeprefix(ESCAPED))
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _sending(hop: HttpTransaction, event: Event) -> None:
    """Begin a sending; whatever an earlier one brought is void."""
    hop.send_start, hop.send_end, hop.head_end, hop.body_end = event.tick, None, None, None
    hop.status_line, hop.response_headers, hop.early_hints, hop.hinted = "", (), (), None
    hop.body = ResponseBody()
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
    """Reads what was asked for, and the answers, with their bodies where the log has them."""

    def __init__(self) -> None:
        super().__init__(("URL_REQUEST",), Request, _READERS)
