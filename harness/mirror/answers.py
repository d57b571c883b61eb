"""A recorded exchange as a replay has it: with its answer as it is sent, and what its page's other exchanges tell."""

from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import urljoin

from msgspec.structs import replace

from harness.files.exchange import UNFINISHED, Answer, Exchange, Fate, Place
from harness.files.headers import (
    BODILESS,
    EVENT_STREAM,
    REDIRECTS,
    WITHOUT_BODY,
    Headers,
    header_in,
    length_in,
    part_in,
)
from harness.files.server_log import FoundAs
from harness.mirror.alike import alike_path
from harness.mirror.asked import Asked
from harness.mirror.headers import replayed
from harness.mirror.live import Arrivals, arrivals_of

FAILED_RATIO = 0.10
"""With more of its requests failing a page is incomplete: what it lacks takes no time."""
DOCUMENT_IS_GOOD = (200, 304)
"""What a page's own document answers when there is a page; 304 where it loaded itself anew."""
PARTIAL = 206
FILE_ANYWAY = (PARTIAL, 304)
"""Codes that only make sense to the recording browser's request; a browser that replays gets the whole file."""
HUNG_MS = 1000.0
"""A request that nobody had answered for so long when the recording ended hung; others were cut by that end."""
NOT_COMPARED = frozenset(("accept-encoding", "cookie", "host", "origin", "range", "referer", "user-agent", "*"))
"""Headers that `Vary` may name and that a replay has otherwise, or that hold for all requests of a browser."""


@dataclass(frozen=True)
class BodyPart:
    """A part of a body of `total` bytes: `file`, ``host/name``, holds those from `start` on."""

    start: int
    total: int
    file: str


@dataclass(frozen=True)
class Recorded:
    """An exchange as it was recorded, at the key of its URL, and its answer as it is to be sent.

    Of that `partial` says that it stays open. Its `mime_type` counts where no headers were recorded.
    """

    exchange: Exchange
    place: Place
    answer: Answer
    asked: Asked = field(default_factory=Asked)
    found: str = FoundAs.STATUS
    """How the answer is found."""
    hangs: bool = False
    """Whether nothing is ever sent."""
    slow_ms: float = 0.0
    """Of a long poll (harness.mirror.transactions): for how long the site had nothing to say; 0 for all others."""
    after_message: bool = False
    """Whether a live connection had told the page something before it was asked for: that may be why."""
    identity: str = "-"
    """Which recorded transaction this is, see harness.mirror.transactions; "-" for none."""
    number: int = 0
    """Its place among the recorded ones."""
    parts: tuple[BodyPart, ...] = ()
    """Where the body was recorded in parts: these."""
    confirmed: int = 0
    """How many times the site said of it that it still holds (304) before it sent another one."""

    @property
    def method(self) -> str:
        """The request's."""
        return self.exchange.request.method

    @property
    def origin(self) -> tuple[str, str]:
        """Scheme and host."""
        return self.place.scheme, self.place.host

    @property
    def page(self) -> str:
        """The name of the page's log that has it."""
        return self.exchange.page

    @property
    def url(self) -> str:
        """The URL, without a port and a fragment."""
        return self.place.url

    @property
    def status(self) -> int:
        """The status that is sent."""
        return self.answer.status

    @property
    def headers(self) -> Headers | None:
        """The headers that are sent; None when none were recorded."""
        return self.answer.headers

    @property
    def redirect_url(self) -> str:
        """Where a redirect leads, an absolute URL; "" for what is none."""
        return self.answer.redirect_url

    @property
    def file(self) -> str | None:
        """Where the body is in the mirror, ``host/name``."""
        return self.answer.body.file if self.answer.body else None

    @property
    def arrivals(self) -> Arrivals:
        """For a stream of events, and an answer that its server sent with pauses: when to send how much of it."""
        return self.answer.arrivals

    @property
    def after_load(self) -> bool:
        """Whether it was asked for after the load event of the recording: a load may do without it."""
        return self.exchange.fate is Fate.AFTER_LOAD

    @property
    def wait_ms(self) -> float | None:
        """How long it was waited for when it was recorded, a round trip included; None where that is not told."""
        wait_ms = self.exchange.phases.wait
        return None if wait_ms < 0 else wait_ms

    @property
    def internal(self) -> bool:
        """Whether the browser led itself on to https (HSTS, RFC 6797): no server sent it."""
        return bool(self.redirect_url and self.answer.header("non-authoritative-reason"))

    @cached_property
    def live(self) -> bool:
        """Whether it is a stream of events that goes on for as long as the page is open (HTML, section 9.2)."""
        return self.answer.header("content-type").startswith(EVENT_STREAM)

    @property
    def lacks_body(self) -> bool:
        """Whether this answer has a body, or may have one, that is not in the mirror: who asks for it gets a 404."""
        return self.status == 200 and self.file is None and self.answer.content_bytes != 0

    @cached_property
    def alike(self) -> str:
        """The path without volatile values and an image's size."""
        return alike_path(self.place.target)

    @cached_property
    def vary(self) -> frozenset[str]:
        """The headers that decide between answers, as this one says (RFC 9110, section 12.5.5)."""
        named = (value.split(",") for name, value in self.headers or () if name == "vary")
        return frozenset(name.strip().lower() for names in named for name in names) - NOT_COMPARED

    @cached_property
    def closes(self) -> bool:
        """Whether the site closed the connection afterwards; in archives it may be what a crawler had asked for.

        Some sites do not say that they do: then nothing but the connection's end told Chrome where the body ends (RFC
        9112, section 6.3; Chromium's net/http/http_stream_parser.cc, CanFindEndOfResponse).
        """
        answer = self.exchange.answer
        if not self.exchange.connection or answer.http2:
            return False
        said, old = answer.header("connection").lower(), answer.protocol.upper() == "HTTP/1.0"
        in_chunks = not old and "chunked" in answer.header("transfer-encoding").lower()
        ends_with_connection = (is_answered(self.exchange) and answer.status not in BODILESS and self.method != "HEAD"
                                and not in_chunks and length_in(answer.headers or ()) is None)
        return "close" in said or (old and "keep-alive" not in said) or ends_with_connection


def as_sent(exchange: Exchange, load_event_s: float) -> Answer:
    """Return the answer that a replay sends for an exchange.

    A request that failed while recording, or that an archive has no answer to, gets the status 504 (Gateway Timeout) at
    once. What HEAD got tells how large a body is, and of what type, and has none.
    """
    answer, redirect, of_head = exchange.answer, redirect_of(exchange), exchange.request.method == "HEAD"
    if not is_answered(exchange):
        return Answer(504)
    body = None if redirect or of_head or answer.status in WITHOUT_BODY else answer.body
    status = answer.status
    if status in FILE_ANYWAY:
        status = 200 if body or of_head else 404
    headers = answer.headers
    if headers is not None:
        headers = replayed(headers, exchange.started, body=of_head or body is not None, status=status)
        if of_head and (length := length_in(answer.headers or ())) is not None:
            headers = (*headers, ("content-length", str(length)))
        elif answer.status == PARTIAL and not of_head and not header_in(headers, "accept-ranges"):
            headers = (*headers, ("accept-ranges", "bytes"))
    arrivals, cut = arrivals_of(exchange, load_event_s)
    return replace(answer, status=status, headers=headers, redirect_url=redirect, body=body,
                   mime_type=answer.mime_type if headers is None else "",
                   content_bytes=0 if of_head else answer.content_bytes, arrivals=arrivals,
                   early_hints=replayed(answer.early_hints, body=False),
                   partial=cut or bool(arrivals and answer.partial))


def is_answered(exchange: Exchange) -> bool:
    """Say whether a final answer came (RFC 9110, section 15)."""
    return 200 <= exchange.answer.status <= 599


def redirect_of(exchange: Exchange) -> str:
    """Return where a redirect leads, as an absolute URL, otherwise as it was written; "" for what is none."""
    answer = exchange.answer
    target = answer.redirect_url or answer.header("location")
    if target and answer.status in REDIRECTS:
        with suppress(ValueError):
            return urljoin(exchange.request.url, target)
    return ""


def hung(exchange: Exchange, asked: Asked) -> bool:
    """Say whether a request hung, and may hang again in a replay without holding up a load event for ever.

    What was asked for before the load event of the recording did not. After it, a script may ask for anything; in a
    replay that may be before it, and then it waits for all but what scripts ask for themselves (fetch). One that hung
    until the page was closed hangs again: a page that polls would else ask again at once.
    """
    waited = exchange.error == UNFINISHED and exchange.length_ms >= HUNG_MS
    if is_answered(exchange) or not waited or not exchange.connection or asked.navigation:
        return False
    purpose = asked.headers.get("sec-fetch-dest", "empty")
    is_part = purpose != "empty" or asked.headers.get("accept", "").startswith(("image/", "text/css"))
    return not (exchange.fate is Fate.AFTER_LOAD and is_part)


def part_of(exchange: Exchange) -> BodyPart | None:
    """Return which part of a body an exchange has a file of; None if it is no part (RFC 9110, section 14.4)."""
    answer = exchange.answer
    first, _, total = part_in(answer.headers or ()) or (0, 0, None)
    if answer.status != PARTIAL or total is None or answer.body is None:
        return None
    return BodyPart(first, total, answer.body.file)
