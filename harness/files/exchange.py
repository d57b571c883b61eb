"""One request and its answer, from any source to the replay: a page load's, a recording's, or one that others recorded.

    exchange = Exchange(page="httpa.test", request=Request("GET", "https://a.test/x?y=1"),
                        answer=Answer(200, headers=(("Content-Type", "text/css"),),
                                      body=Body("a.test/x?y=1", 120, "9f86d0...")))
    place_of(exchange.request.url)          # Place("https", "a.test", "/x?y=1"): the key of its URL

harness.files.har has the way to HAR and back.
"""

from datetime import datetime
from enum import Enum

import msgspec

from harness.files.headers import Headers, header_in, length_in
from harness.files.urls import is_asked_by_browser, split_url

UNKNOWN = -1
"""A size that nobody knows, and a time that there was not."""
ABORTED = "net::ERR_ABORTED"
"""The error of a request that the page, or Chrome, took back."""
UNFINISHED = "unfinished"
"""The error of a request that was not over when the load, or the recording, ended."""
BLOCKED_BY = "net::ERR_BLOCKED_BY"
"""How Chrome's names begin of what a page may not read."""
H2, H3 = "h2", "h3"
"""HTTP/2 and HTTP/3: the names by which TLS agrees on them (ALPN, RFC 9113, section 3.1), and HAR's `httpVersion`."""
OVER_HTTP2 = (H2, "http/2", H3, "http/3")
"""How HTTP/2 and HTTP/3 are called, lower case, without what may follow (``HTTP/2.0``, ``h3-29``)."""


class Fate(Enum):
    """What became of a request. It is set once, where that is known, and nothing else says what a load is judged by."""

    COUNTED = "counted"
    AFTER_LOAD = "after the load event"
    """The load event did not wait for it."""
    CANCELLED = "cancelled"
    """The page itself did not want the answer, or may not read the recorded one. Where the recorded answer was not
    sent, what was sent in its place may be the cause (a 404 that is no script)."""
    BROWSERS_OWN = "the browser's own"
    """Chrome asked for it on its own time: a favicon, a manifest."""
    AS_RECORDED = "failed as recorded"
    HUNG_AS_RECORDED = "never ended, as recorded"
    CUT = "cut by our limit"
    """Still coming when the load ended: the load event did not wait for it."""
    BLOCKED = "blocked"
    """The page may not read what was sent in the recorded answer's place. How much Chrome read of it is chance."""
    FAILED = "failed"
    """No answer came."""


class Place(msgspec.Struct, frozen=True, order=True):
    """Where a URL leads: scheme, host (lower case, no port), and path with query as they were written."""

    scheme: str
    host: str
    target: str

    @property
    def url(self) -> str:
        """The URL, without a port and a fragment."""
        return f"{self.scheme}://{self.host}{self.target}"


def place_of(url: str) -> Place:
    """Return the key of a URL. Raises ValueError when it has no host."""
    host, target = split_url(url)
    return Place(url.partition(":")[0].lower(), host, target.partition("#")[0])


class Request(msgspec.Struct, frozen=True):
    """What was asked for. No headers: nobody knows them. `sha256` is that of a `body` of which only this is known."""

    method: str
    url: str
    headers: Headers = ()
    body: bytes = b""
    sha256: str = ""

    def header(self, wanted: str) -> str:
        """Return the value of a header, "" without it."""
        return header_in(self.headers, wanted)

    @property
    def body_bytes(self) -> int:
        """The size of its body: Chrome's net-log has no bodies, but their Content-Length."""
        length = length_in(self.headers)
        return len(self.body) if length is None else length


class Body(msgspec.Struct, frozen=True):
    """A file of a mirror, ``host/name``, with its size and the SHA-256 of what it holds, in hex.

    `bytes` is None and `sha256` "" where a recording does not tell them.
    """

    file: str
    bytes: int | None = None
    sha256: str = ""


class Message(msgspec.Struct, frozen=True):
    """A message of a WebSocket (RFC 6455), at `time_s` since the epoch. Of a close (opcode 8) `data` is the code."""

    received: bool
    time_s: float
    opcode: int
    data: bytes


def is_over_http2(protocol: str) -> bool:
    """Say whether `protocol`, however a program calls it, is HTTP/2 or HTTP/3."""
    return protocol.lower().startswith(OVER_HTTP2)


class Answer(msgspec.Struct, frozen=True):
    """What came. `status` 0: no head of an answer. `headers` None: it had some, and nobody knows them.

    `protocol` is as HAR calls it ("HTTP/1.1", "h2"), "" where nobody knows. `mime_type` may have a charset behind it.
    `body` is the file that holds the body as it crossed the network, still encoded; `content` the same where it is in
    no file yet. `content_bytes` is its size when decoded, `body_bytes` what crossed the network;
    UNKNOWN where nobody knows. `partial`: only its beginning came.
    `early_hints` are the headers of a 103 before it (RFC 8297).
    `arrivals`: when, in ms since its head, how many bytes of it had come; () where that does not matter.
    `messages` are a WebSocket's, None of all other answers.
    """

    status: int = 0
    reason: str = ""
    protocol: str = ""
    headers: Headers | None = ()
    mime_type: str = ""
    redirect_url: str = ""
    body: Body | None = None
    content: bytes | None = None
    content_bytes: int = UNKNOWN
    body_bytes: int = UNKNOWN
    partial: bool = False
    early_hints: Headers = ()
    arrivals: tuple[tuple[float, int], ...] = ()
    messages: tuple[Message, ...] | None = None

    def header(self, wanted: str) -> str:
        """Return the value of a header, "" without it."""
        return header_in(self.headers or (), wanted)

    @property
    def http2(self) -> bool:
        """Whether it went over HTTP/2 or HTTP/3: the replay has none of the latter, and Chrome speaks HTTP/2 to it."""
        return is_over_http2(self.protocol)


class Phases(msgspec.Struct, frozen=True):
    """How long each part of an exchange took, in ms; UNKNOWN (-1) for a part it did not have.

    Without `ssl`, which is part of `connect`, they add up to its length. `connect` counts only what of the
    connection's making the request waited for. Never sent (failed, or from the cache): all of it is `blocked`.
    """

    blocked: float = UNKNOWN
    dns: float = UNKNOWN
    connect: float = UNKNOWN
    ssl: float = UNKNOWN
    send: float = UNKNOWN
    wait: float = UNKNOWN
    receive: float = UNKNOWN

    @property
    def until_asked(self) -> float:
        """Time from the start to the moment at which the request was about to be sent, in ms."""
        return sum(max(0.0, part) for part in (self.blocked, self.dns, self.connect))

    @property
    def until_head(self) -> float:
        """Time from the start to the head of the answer, in ms."""
        return self.until_asked + max(0.0, self.send) + max(0.0, self.wait)

    @property
    def total(self) -> float:
        """Time from the start to the end, in ms."""
        return self.until_head + max(0.0, self.receive)


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """One request of a page and what came of it. `page` is the name of the page's log.

    `started` is when it was asked for, None where nobody knows, `phases` how long its parts took, `handshake_ms` how
    long the TCP handshake of its connection took, None where that is not known. `connection` names the socket it went
    over, "" where there was none; `address` is the server's. `error` is Chrome's name of what went wrong, or
    UNFINISHED. `before_document`: a document asked for it that the page's own took the place of. `after_message`: a
    live connection had told the page something before, None where that shows in the times. `initiator` is the origin
    that asked, and the page stood still for a `synchronous` one. `note` says in words for people what is special.
    """

    page: str = ""
    request: Request
    answer: Answer = Answer()
    started: datetime | None = None
    phases: Phases = Phases()
    time_ms: float | None = None
    """From the start to the end, where only that is told; None: the sum of `phases`."""
    handshake_ms: float | None = None
    connection: str = ""
    address: str = ""
    fate: Fate = Fate.COUNTED
    error: str = ""
    from_cache: bool = False
    before_document: bool = False
    after_message: bool | None = None
    initiator: str = ""
    synchronous: bool = False
    note: str = ""

    @property
    def length_ms(self) -> float:
        """From the start to the end."""
        return self.phases.total if self.time_ms is None else self.time_ms

    @property
    def over_http2(self) -> bool:
        """Whether the request went over HTTP/2 or HTTP/3. (An answer from the cache says how it came there.)"""
        return self.answer.http2 and not self.from_cache

    @property
    def failed(self) -> bool:
        """Whether the answer did not come whole."""
        return not self.answer.arrivals and (self.answer.partial or bool(self.error))


def fate_of(url: str, error: str, *, answered: bool, late: bool = False, expected: bool = False) -> Fate:
    """Return what became of a request for `url` with this error ("": none); `answered`: the head of an answer came.

    `late`: the load event did not wait for it. `expected`: it got no answer when the page was recorded either.
    """
    blocked = error.startswith(BLOCKED_BY)
    fates = {
        Fate.AFTER_LOAD: late,
        Fate.CANCELLED: error.startswith(ABORTED) or (blocked and not answered),
        Fate.BROWSERS_OWN: is_asked_by_browser(url),
        Fate.HUNG_AS_RECORDED: expected and error == UNFINISHED,
        Fate.AS_RECORDED: expected,
        Fate.CUT: answered and error == UNFINISHED,
        Fate.BLOCKED: blocked,
        Fate.FAILED: not answered,
        Fate.COUNTED: True}
    return next(fate for fate, is_it in fates.items() if is_it)
