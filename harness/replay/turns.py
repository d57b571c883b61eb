"""The requests of one connection and their answers, and whose bytes go next: the same for every version of HTTP.

The most urgent answer's bytes are always next (RFC 9218); who is not urgent waits, and so does what its client, or its
recorded time, does not take yet.
"""

import heapq
import re
import time
from bisect import bisect
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from math import inf

from harness.mirror.asked import Asked, hash_body, headers_of
from harness.replay.connection import LARGEST_UPLOAD, Connection
from harness.replay.heads import Field
from harness.replay.match import Request
from harness.replay.reply import Reply, reply_to
from harness.replay.site import Site

DEFAULT_URGENCY = 3
URGENCY = re.compile(r"(?:^|[\s,])u=([0-7])(?![0-9])")
INCREMENTAL = re.compile(r"(?:^|[\s,])i(?:=\?1)?(?=\s*(?:[,;]|$))")
AT_ONCE_S = 1e-6
"""By how much less a clock may wake somebody too early."""


@dataclass
class Coming:
    """A request that has not ended: the fields of its head, as HTTP/2 has them, and what came of its body."""

    fields: Sequence[Field]
    body: bytearray = field(default_factory=bytearray)

    @property
    def headers(self) -> dict[str, str]:
        """Its headers, by their name."""
        return _headers(tuple([field for field in self.fields if not field[0].startswith(":")]))

    def take(self, piece: bytes | bytearray) -> None:
        """Take a piece of the body; of one that is too long only the beginning is kept."""
        if len(self.body) < LARGEST_UPLOAD:
            self.body += piece

    def request(self, connection: Connection) -> tuple[Site, Request]:
        """Return what is asked for, and the site that is asked.

        Browsers send requests to several hosts over one connection, where its certificate has all their names.
        """
        wanted, headers = dict(self.fields), self.headers
        return connection.service.named(wanted.get(":authority") or headers.get("host", "")), Request(
            wanted.get(":method", "GET"), _utf8(wanted.get(":path", "/")), Asked(headers, hash_body(bytes(self.body))))


@lru_cache(maxsize=128)
def _headers(fields: tuple[Field, ...]) -> dict[str, str]:
    """Return what a request says beside its URL: a browser says the same of many."""
    return headers_of((name, _utf8(value)) for name, value in fields)


def _utf8(text: str) -> str:
    return text if text.isascii() else text.encode("latin-1").decode("utf-8", "surrogateescape")


@dataclass
class Outgoing:
    """An answer that is being sent: on which stream, to whom, and how far it is.

    `received_s` is when its request was complete, by time.time(); all other times are by time.monotonic(). The lower
    its `urgency` (0 to 7), the sooner it is sent (RFC 9218).
    """

    stream: int
    site: Site
    request: Request
    reply: Reply
    number: int
    received_s: float
    head_s: float
    """When the head is to be sent, or was; infinity for what hangs."""
    hints_s: float
    """When the interim head (RFC 8297) is to be sent; infinity for none, or none any more."""
    urgency: int
    incremental: bool
    early: str
    body: bytes | bytearray
    """What is known of it: a WebSocket's grows."""
    arrivals: list[tuple[float, int]] = field(default_factory=list)
    """When how much of the body may be sent; known once the head is sent."""
    sent: int = 0
    turns: int = 0
    begun_s: float | None = None
    """When the head was sent, by time.time()."""

    @property
    def left(self) -> int:
        """Bytes of the body that are still to be sent, as far as they are known."""
        return len(self.body) - self.sent

    @property
    def allowed(self) -> int:
        """Bytes of the body that may be sent now."""
        come = bisect(self.arrivals, (time.monotonic() + AT_ONCE_S, inf))
        return self.arrivals[come - 1][1] - self.sent if come else 0

    def rank(self) -> tuple[int, int, int]:
        """Return what decides whose turn it is: the smallest. Incremental answers take turns, others are sent whole."""
        return self.urgency, self.turns if self.incremental else 0, self.stream

    @property
    def is_over(self) -> bool:
        """Whether nothing follows what was sent."""
        return not self.left and (self.request.method == "HEAD" or not self.reply.stays_open)

    def begin(self) -> None:
        """Note that the head is sent now. By how much that is too late, after a thought, is not the server's time."""
        now_s = time.monotonic()
        self.begun_s = time.time() - (now_s - self.head_s if self.reply.think_ms else 0.0)
        self.head_s = now_s
        self.arrivals = [(now_s + after_ms / 1000, min(size, len(self.body)))
                         for after_ms, size in self.reply.arrivals or ((0.0, len(self.body)),)]

    def read(self, size: int) -> bytes:
        """Return the next bytes of the body, which are sent now."""
        piece = bytes(self.body[self.sent:self.sent + size])
        self.sent += len(piece)
        self.turns += 1
        return piece


@lru_cache(maxsize=256)
def _priority(header: str) -> tuple[int, bool]:
    """Return how urgent the header of this name calls an answer, and whether it takes turns with others."""
    urgency = URGENCY.search(header)
    return int(urgency[1]) if urgency else DEFAULT_URGENCY, bool(INCREMENTAL.search(header))


class Turns:
    """The answers of one connection. A subclass puts heads and pieces into its version's form."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._answers: dict[int, Outgoing] = {}
        """By stream."""

    # What each version does in its way.

    def _write_hints(self, answer: Outgoing) -> None:
        """Send the interim head (RFC 8297) of an answer that has one, where browsers take them."""

    def _write_head(self, answer: Outgoing) -> None:
        raise NotImplementedError

    def _write_piece(self, answer: Outgoing, piece: bytes) -> None:
        raise NotImplementedError

    def _room(self, answer: Outgoing) -> int:
        """Return how many bytes of an answer may be sent at once now, of those that it allows."""
        raise NotImplementedError

    def _takes_more(self) -> bool:
        """Say whether any bytes may be sent now."""
        raise NotImplementedError

    def _wake(self, at_s: float, stream: int) -> None:
        """Have `_go_on_with` called, and then `_fill`, at this time of time.monotonic()."""
        raise NotImplementedError

    # What all do.

    def _answer(self, stream: int, coming: Coming, early: str) -> None:
        """Begin the answer to a request that is complete now, as `early` as one of Early says."""
        received_s, now_s = time.time(), time.monotonic()
        site, request = coming.request(self._connection)
        held_s = self._connection.held_s(now_s)
        reply = reply_to(site, self._connection.bodies, request)
        self._connection.requests += 1
        answer = self._answers[stream] = Outgoing(
            stream, site, request, reply, self._connection.requests, received_s + held_s,
            now_s + held_s + reply.think_ms / 1000, now_s + held_s if reply.early_hints else inf,
            *_priority(request.asked.headers.get("priority", "")), early,
            (reply.body or b"") if request.method != "HEAD" else b"")
        self._go_on_with(stream)
        for at_s in (answer.hints_s, answer.head_s):
            if answer.begun_s is None and at_s < inf:
                self._wake(at_s, stream)

    def _go_on_with(self, stream: int) -> None:
        """Send what heads of an answer are due, unless its stream was reset meanwhile."""
        answer, now_s = self._answers.get(stream), time.monotonic() + AT_ONCE_S
        if answer is None:
            return
        if answer.hints_s <= now_s:
            answer.hints_s = inf
            self._write_hints(answer)
        if answer.begun_s is None and answer.head_s <= now_s:
            answer.begin()
            self._write_head(answer)
            for at_s, _ in answer.reply.arrivals and answer.arrivals:
                self._wake(at_s, stream)
            if answer.is_over:
                self._finish(answer)

    def _fill(self) -> None:
        """Send as much as may be sent now."""
        turns = [(answer.rank(), answer) for answer in self._answers.values() if answer.begun_s is not None]
        heapq.heapify(turns)        # no two ranks are the same
        while turns and self._takes_more():
            answer = heapq.heappop(turns)[1]
            room = min(self._room(answer), answer.allowed)
            if room <= 0:
                continue
            self._write_piece(answer, answer.read(room))
            if answer.is_over:
                self._finish(answer)
            else:
                heapq.heappush(turns, (answer.rank(), answer))

    def _finish(self, answer: Outgoing) -> None:
        del self._answers[answer.stream]
        own_ms = None if answer.begun_s is None else (answer.begun_s - answer.received_s) * 1000
        with suppress(OSError):     # a full disk costs no answer: what the log lacks speaks against the load
            self._connection.note(
                answer.site, time_s=answer.received_s, request=answer.number, method=answer.request.method,
                path=answer.request.target, status=answer.reply.status, bytes=answer.sent, found=answer.reply.found,
                own_ms=own_ms, answer=answer.reply.answer, early=answer.early)

    def _finish_all(self) -> None:
        """Note the connection's end."""
        if not self._connection.requests:
            self._connection.note_silent()
        for answer in list(self._answers.values()):
            self._finish(answer)
