"""A recorded answer, made of one response in a text log or of one exchange in a HAR."""

import re
from dataclasses import dataclass, field, replace
from http import HTTPStatus

from harness.files.headers import EVENT_STREAM, REDIRECTS, WITHOUT_BODY, Headers, header_in
from harness.files.server_log import FoundAs
from harness.files.text_log import Response
from harness.mirror.asked import Asked
from harness.mirror.har import Exchange
from harness.mirror.headers import replayed
from harness.mirror.live import Arrivals
from harness.mirror.paths import lookups

FAILED_RATIO = 0.10
"""With more of its requests failing a page is hollow: what it lacks takes no time."""
DOCUMENT_IS_GOOD = (200, 304)
"""What a page's own document answers when there is a page; 304 where it loaded itself anew."""
OLD_PHRASES = {"moved temporarily": 302, "object moved": 302, "redirect": 302, "temporary redirect": 307,
               "internal redirect": 307, "request timeout": 408, "request time-out": 408, "gateway time-out": 504,
               "request-uri too large": 414, "service temporarily unavailable": 503, "server error": 500}
"""Words of RFC 2616, RFC 1945 and of servers of the time, lower case, that http.HTTPStatus does not have."""
PHRASES = {status.phrase.lower(): int(status) for status in HTTPStatus} | OLD_PHRASES
PARTIAL = 206
FILE_ANYWAY = (PARTIAL, 304)
"""Codes that only make sense to the recording browser's request; a browser that replays gets the whole file."""


@dataclass(frozen=True)
class BodyPart:
    """A part of a body of `total` bytes: `file` holds those from `start` on."""

    start: int
    total: int
    file: str


@dataclass(frozen=True)
class RecordedAnswer:
    """One recorded transaction: the answer a URL got once. `file` is relative to the host's directory of the mirror.

    Two are equal when the answers are the same. The fields from `identity` on, which tell transactions apart, do not
    count for that.
    """

    status: int
    mime_type: str = ""
    charset: str = ""
    redirect_url: str | None = None
    """Where a redirect leads: an absolute URL."""
    file: str | None = None
    found: str = FoundAs.STATUS
    """How the answer was found."""
    headers: Headers | None = None
    """The headers to send; None when none were recorded, and `mime_type` and `charset` are all there is."""
    content_bytes: int | None = None
    """Size of the body when decoded, where the recording tells. With 0, that there is no file is right."""
    file_host: str | None = None
    """The host whose directory the file is in; None for the answering host itself."""
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


def status_code(status: str, redirect_url: str | None, in_mirror: bool) -> int:
    """Return the status code that belongs to a status line's words.

    For unknown words it is 302 if there is a redirect, else 200 if the body is in the mirror, else 404.
    """
    text = " ".join(status.lower().split())
    number = re.match(r"([2-5]\d\d)\b", text)
    code = int(number.group(1)) if number else PHRASES.get(text)
    if redirect_url is not None:
        return code if code in REDIRECTS else 302
    if code is None or code < 200 or code in FILE_ANYWAY or code // 100 == 3:    # a redirect to nowhere has a body
        return 200 if in_mirror else 404
    return code


def answer_of_response(response: Response, target: str, files: frozenset[str]) -> RecordedAnswer:
    """Return the answer that a response of a text log stands for; `target` is its path, query and fragment.

    Such a log does not say which method was used, nor whether there was a body. If there is a file, it is the body.
    """
    found = find_file(files, target)
    status = status_code(response.status, response.redirect_url, found is not None)
    if response.redirect_url is not None:
        return RecordedAnswer(status, response.mime_type, redirect_url=response.redirect_url, found=FoundAs.REDIRECT)
    file = found[0] if found and status not in WITHOUT_BODY else None
    return RecordedAnswer(status, response.mime_type, response.charset, None, file,
                          found[1] if found and status == 200 else FoundAs.STATUS)


def answer_of_exchange(exchange: Exchange, target: str, files: frozenset[str]) -> RecordedAnswer:
    """Return the answer that an exchange of a HAR stands for; `target` is its path, query and fragment.

    A request that failed while recording, or that an archive has no answer to, gets the status 504 (Gateway Timeout) at
    once. One that hung until the page was closed hangs again: a page that polls would else ask again at once.
    """
    answer = _answer_of_exchange(exchange, target, files)
    return replace(answer, after_load=exchange.after_load,
                   after_message=exchange.after_message, before_document=exchange.before_document,
                   asked=exchange.asked, closes=exchange.closes,
                   head_bytes=exchange.head_bytes if answer.status == exchange.status else 0)


def _answer_of_exchange(exchange: Exchange, target: str, files: frozenset[str]) -> RecordedAnswer:
    if not exchange.status:
        return RecordedAnswer(504, headers=(), found=FoundAs.UNANSWERED, hangs=exchange.hung)
    if exchange.redirect_url is not None:
        headers = replayed(exchange.headers, exchange.started, body=False, status=exchange.status)
        return RecordedAnswer(exchange.status, redirect_url=exchange.redirect_url, found=FoundAs.REDIRECT,
                              headers=headers)
    if exchange.method == "HEAD":
        return _answer_to_head(exchange)
    found = (exchange.file, FoundAs.PLAIN) if exchange.file in files else find_file(files, target)
    status = exchange.status
    if status in FILE_ANYWAY:
        status = 200 if found else 404
    if status in WITHOUT_BODY or _is_another_answers(exchange):
        found = None
    headers = replayed(exchange.headers, exchange.started, body=found is not None, status=status)
    if exchange.status == PARTIAL and not any(name == "accept-ranges" for name, _ in headers):
        headers = (*headers, ("accept-ranges", "bytes"))
    return RecordedAnswer(status, file=found[0] if found else None, headers=headers,
                          found=FoundAs.STATUS if status != 200 else found[1] if found else FoundAs.PLAIN,
                          content_bytes=exchange.content_bytes, early_hints=replayed(exchange.early_hints, body=False),
                          arrivals=exchange.arrivals, stays_open=exchange.stays_open)


def _answer_to_head(exchange: Exchange) -> RecordedAnswer:
    """Return what a HEAD got: how large a body is, and of what type, without the body."""
    status = 200 if exchange.status in FILE_ANYWAY else exchange.status
    length = header_in(exchange.headers, "content-length")
    told = (("content-length", length),) if length.isascii() and length.isdigit() else ()
    return RecordedAnswer(status, headers=(*replayed(exchange.headers, exchange.started, status=status), *told),
                          found=FoundAs.PLAIN if status == 200 else FoundAs.STATUS, content_bytes=0, of_head=True)


def _is_another_answers(exchange: Exchange) -> bool:
    """Say whether the file that its URL names is the body of another answer: this one had none.

    A GET with a 304, or with a part, had one before; a 304 to another method is about what a GET got.
    """
    is_whole = exchange.status not in FILE_ANYWAY or exchange.method != "GET"
    return exchange.content_bytes == 0 and not exchange.file and is_whole


def find_file(files: frozenset[str], target: str) -> tuple[str, str] | None:
    """Return which of a host's `files` is the body of `target`, and how its name is made; None when there is none."""
    return next(((name, kind) for name, kind in lookups(target) if name in files), None)
