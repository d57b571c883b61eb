"""A recorded answer as a replay sends it, made of one exchange."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from harness.files.exchange import UNFINISHED, Exchange, Fate, Place
from harness.files.headers import BODILESS, EVENT_STREAM, REDIRECTS, WITHOUT_BODY, Headers, header_in
from harness.files.server_log import FoundAs
from harness.files.urls import absolute
from harness.mirror.asked import Asked, asked_of
from harness.mirror.headers import replayed
from harness.mirror.live import Arrivals, arrivals_of
from harness.mirror.paths import is_md5_name

FAILED_RATIO = 0.10
"""With more of its requests failing a page is hollow: what it lacks takes no time."""
DOCUMENT_IS_GOOD = (200, 304)
"""What a page's own document answers when there is a page; 304 where it loaded itself anew."""
PARTIAL = 206
FILE_ANYWAY = (PARTIAL, 304)
"""Codes that only make sense to the recording browser's request; a browser that replays gets the whole file."""
HUNG_MS = 1000.0
"""A request that nobody had answered for so long when the recording ended hung; others were cut by that end."""
PART = re.compile(r"bytes ([0-9]{1,18})-[0-9]{1,18}/([0-9]{1,18})")


@dataclass(frozen=True)
class BodyPart:
    """A part of a body of `total` bytes: `file`, ``host/name``, holds those from `start` on."""

    start: int
    total: int
    file: str


@dataclass(frozen=True)
class RecordedAnswer:
    """One recorded transaction: the answer a URL got once. `file` is where its body is in the mirror, ``host/name``.

    Two are equal when the answers are the same. The fields from `identity` on, which tell transactions apart, do not
    count for that.
    """

    status: int
    mime_type: str = ""
    """What a recording without headers says of it; a charset may follow."""
    redirect_url: str | None = None
    """Where a redirect leads: an absolute URL."""
    file: str | None = None
    found: str = FoundAs.STATUS
    """How the answer was found."""
    headers: Headers | None = None
    """The headers to send; None when none were recorded, and `mime_type` is all there is."""
    content_bytes: int | None = None
    """Size of the body when decoded, where the recording tells. With 0, that there is no file is right."""
    parts: tuple[BodyPart, ...] = ()
    """Where the body was recorded in parts: these, `file` being the first of them."""
    early_hints: Headers = ()
    """What was sent before the answer with the status 103 (RFC 8297)."""
    arrivals: Arrivals = ()
    """For a stream of events, and an answer that its server sent with pauses: when to send how much of it."""
    stays_open: bool = False
    """Whether it has no end."""
    closes: bool = False
    """Whether the site closed the connection afterwards, though it could have kept it."""
    of_head: bool = False
    """Whether it was asked for with HEAD: then its headers tell the body's size, and there is none."""
    hangs: bool = False
    """Whether nothing is ever sent."""
    after_load: bool = False
    """Whether it was asked for after the load event of the recording: a load may do without it."""
    before_document: bool = False
    """Whether a document asked for it that the page's own took the place of: a load begins after it."""
    identity: str = field(default="-", compare=False)
    """Which recorded transaction this is, see harness.mirror.transactions; "-" for none."""
    url: str = field(default="", compare=False)
    page: str = field(default="", compare=False)
    """The name of the page's log that has the transaction."""
    asked: Asked = field(default_factory=Asked, compare=False)
    head_bytes: int = field(default=0, compare=False)
    """How large its head is to be over HTTP/2; 0 where nobody knows how large it was."""
    wait_ms: float | None = field(default=None, compare=False)
    """How long it was waited for when it was recorded, a round trip included; None where that is not told."""
    slow_ms: float = field(default=0.0, compare=False)
    """Of a long poll (harness.mirror.polls): for how long the site had nothing to say; 0 for all other answers."""
    after_message: bool = field(default=False, compare=False)
    """Whether a live connection had told the page something before it was asked for: that may be why."""
    confirmed: int = field(default=0, compare=False)
    """How many times the site said of it that it still holds (304) before it sent another one."""

    @property
    def internal(self) -> bool:
        """Whether the browser led itself on to https (HSTS, RFC 6797): no server sent it."""
        return self.redirect_url is not None and bool(header_in(self.headers or (), "non-authoritative-reason"))

    @property
    def encoded(self) -> bool:
        """Whether the file holds the body compressed, as it was on the wire."""
        return any(name == "content-encoding" for name, _ in self.headers or ())

    @property
    def live(self) -> bool:
        """Whether it is a stream of events that goes on for as long as the page is open (HTML, section 9.2)."""
        return dict(self.headers or ()).get("content-type", "").startswith(EVENT_STREAM)

    @property
    def lacks_body(self) -> bool:
        """Whether this answer has a body, or may have one, that is not in the mirror."""
        return self.status == 200 and self.file is None and self.content_bytes != 0


def answer_of(exchange: Exchange, place: Place, load_event_s: float, parts: Sequence[BodyPart] = ()) -> RecordedAnswer:
    """Return the answer that an exchange stands for, as far as it came until the load event.

    A request that failed while recording, or that an archive has no answer to, gets the status 504 (Gateway Timeout) at
    once. One that hung until the page was closed hangs again: a page that polls would else ask again at once. Of parts
    of a body that never came whole `parts` are all.
    """
    asked = asked_of(exchange.request)
    answer = _answer_of(exchange, load_event_s, tuple(parts))
    wait_ms = exchange.phases.wait
    return replace(
        answer, asked=asked, page=exchange.page, url=place.url, after_load=exchange.fate is Fate.AFTER_LOAD,
        before_document=exchange.before_document, closes=_closes(exchange),
        hangs=not exchange.answer.status and hung(exchange, asked),
        head_bytes=exchange.answer.head_bytes if answer.status == exchange.answer.status else 0,
        wait_ms=None if wait_ms < 0 or exchange.answer.refetched else wait_ms)


def _answer_of(exchange: Exchange, last_s: float, parts: tuple[BodyPart, ...]) -> RecordedAnswer:
    answer, redirect = exchange.answer, redirect_of(exchange)
    if not is_answered(exchange):
        return RecordedAnswer(504, headers=(), found=FoundAs.UNANSWERED)
    if redirect is not None:
        return RecordedAnswer(answer.status, answer.mime_type if answer.headers is None else "", redirect,
                              found=FoundAs.REDIRECT, headers=_headers(exchange, answer.status, body=False))
    if exchange.request.method == "HEAD":
        return _answer_to_head(exchange)
    file = answer.body.file if answer.body else parts[0].file if parts else None
    status = answer.status
    if status in FILE_ANYWAY:
        status = 200 if file else 404
    file = None if status in WITHOUT_BODY else file
    headers = _headers(exchange, status, body=file is not None)
    if answer.status == PARTIAL and headers is not None and not any(name == "accept-ranges" for name, _ in headers):
        headers = (*headers, ("accept-ranges", "bytes"))
    arrivals, cut = arrivals_of(exchange, last_s)
    by_md5 = file is not None and answer.headers is None and is_md5_name(file.partition("/")[2])
    return RecordedAnswer(
        status, answer.mime_type if answer.headers is None else "", file=file, headers=headers, parts=parts,
        found=FoundAs.STATUS if status != 200 else FoundAs.MD5 if by_md5 else FoundAs.PLAIN,
        content_bytes=answer.content_bytes if answer.content_bytes >= 0 else None,
        early_hints=replayed(answer.early_hints, body=False), arrivals=arrivals,
        stays_open=cut or bool(arrivals and answer.partial))


def _headers(exchange: Exchange, status: int, *, body: bool) -> Headers | None:
    headers = exchange.answer.headers
    return None if headers is None else replayed(headers, exchange.started, body=body, status=status)


def _answer_to_head(exchange: Exchange) -> RecordedAnswer:
    """Return what a HEAD got: how large a body is, and of what type, without the body."""
    status = 200 if exchange.answer.status in FILE_ANYWAY else exchange.answer.status
    length = exchange.answer.header("content-length")
    told = (("content-length", length),) if length.isascii() and length.isdigit() else ()
    return RecordedAnswer(status, headers=(*(_headers(exchange, status, body=True) or ()), *told),
                          found=FoundAs.PLAIN if status == 200 else FoundAs.STATUS, content_bytes=0, of_head=True)


def is_answered(exchange: Exchange) -> bool:
    """Say whether a final answer came (RFC 9110, section 15)."""
    return 200 <= exchange.answer.status <= 599


def redirect_of(exchange: Exchange) -> str | None:
    """Return where a redirect leads, as an absolute URL."""
    answer = exchange.answer
    target = answer.redirect_url or answer.header("location")
    return absolute(target, exchange.request.url) if target and answer.status in REDIRECTS else None


def hung(exchange: Exchange, asked: Asked) -> bool:
    """Say whether a request hung, and may hang again in a replay without holding up a load event for ever.

    What was asked for before the load event of the recording did not. After it, a script may ask for anything; in a
    replay that may be before it, and then it waits for all but what scripts ask for themselves (fetch).
    """
    waited = exchange.error == UNFINISHED and exchange.length_ms >= HUNG_MS
    if is_answered(exchange) or not waited or not exchange.connection or asked.navigation:
        return False
    purpose = asked.headers.get("sec-fetch-dest", "empty")
    is_part = purpose != "empty" or asked.headers.get("accept", "").startswith(("image/", "text/css"))
    return not (exchange.fate is Fate.AFTER_LOAD and is_part)


def part_of(exchange: Exchange) -> BodyPart | None:
    """Return which part of a body an exchange has a file of; None if it is no part (RFC 9110, section 14.4).

    Where all of the body was fetched it begins at 0, whichever part was asked for: a part that is said to be all may
    have been given up half way, and what was asked for afterwards is joined to it.
    """
    answer = exchange.answer
    match = PART.fullmatch(answer.header("content-range"))
    if answer.status != PARTIAL or match is None or answer.body is None:
        return None
    return BodyPart(0 if answer.refetched else int(match[1]), int(match[2]), answer.body.file)


def _closes(exchange: Exchange) -> bool:
    """Say whether the site closed the connection; in archives it may be what a crawler had asked for.

    Some sites do not say that they do: then nothing but the connection's end told Chrome where the body ends (RFC 9112,
    section 6.3; Chromium's net/http/http_stream_parser.cc, CanFindEndOfResponse).
    """
    answer = exchange.answer
    if not exchange.connection or answer.http2:
        return False
    said, old = answer.header("connection").lower(), answer.protocol.upper() == "HTTP/1.0"
    in_chunks = not old and "chunked" in answer.header("transfer-encoding").lower()
    ends_with_connection = (is_answered(exchange) and answer.status not in BODILESS
                            and exchange.request.method != "HEAD"
                            and not in_chunks and not answer.header("content-length").isdigit())
    return "close" in said or (old and "keep-alive" not in said) or ends_with_connection
