"""The answers of one connection, and whose bytes go next: the same for every version of HTTP.

The most urgent answer's bytes are always next (RFC 9218); who is not urgent waits, and so does what its client, or its
recorded time, does not take yet.
"""

import heapq
import re
import time
from bisect import bisect
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from math import inf

from harness.files.server_log import Early
from harness.replay.connection import Connection
from harness.replay.match import Request
from harness.replay.reply import Reply, reply_to
from harness.replay.site import Site

DEFAULT_URGENCY = 3
URGENCY = re.compile(r"(?:^|[\s,])u=([0-7])(?![0-9])")
INCREMENTAL = re.compile(r"(?:^|[\s,])i(?:=\?1)?(?=\s*(?:[,;]|$))")
AT_ONCE_S = 1e-6
"""By how much less a clock may wake somebody too early."""


@dataclass
class Outgoing:
    """A response that is being sent: its stream, site and request, and how urgent it is (0 most, 7 least; RFC 9218)."""

    stream: int
    site: Site
    request: Request
    reply: Reply
    number: int
    received_s: float
    left: int
    urgency: int = DEFAULT_URGENCY
    incremental: bool = False
    early: str = Early.NO
    sent: int = 0
    turns: int = 0
    begun_s: float | None = None
    head_s: float = field(default_factory=time.monotonic)
    """When the head is to be sent, or was, by the monotonic clock."""
    arrivals: list[tuple[float, int]] = field(default_factory=list)
    """When, by the monotonic clock, how much of the body may be sent; known once the head is sent."""

    @property
    def allowed(self) -> int:
        """Bytes of the body that may be sent now: all that are left, or what had come when it was recorded."""
        come = bisect(self.arrivals, (time.monotonic() + AT_ONCE_S, inf)) if self.arrivals else 0
        if come == len(self.arrivals):
            return (self.reply.size or 0) - self.sent
        return max(0, self.arrivals[come - 1][1] - self.sent) if come else 0

    def rank(self) -> tuple[int, int, int]:
        """Return what decides whose turn it is: the smallest. Incremental answers take turns, others are sent whole.

        The stream stands last.
        """
        return self.urgency, self.turns if self.incremental else 0, self.stream

    @property
    def is_only_head(self) -> bool:
        """Whether nothing follows the head."""
        return not self.left and (self.request.method == "HEAD" or not self.reply.stays_open)

    @property
    def is_last_piece(self) -> bool:
        """Whether the piece that was read last ends the answer."""
        return not self.left and not self.reply.stays_open

    def begin(self) -> None:
        """Note that the head is sent now. By how much that is too late, after a thought, is not the server's time."""
        overslept_s = time.monotonic() - self.head_s if self.reply.think_ms else 0.0
        self.begun_s, self.head_s = time.time() - overslept_s, time.monotonic()
        self.arrivals = [(self.head_s + after_ms / 1000, size) for after_ms, size in self.reply.arrivals]

    def read(self, size: int) -> bytes:
        """Return the next bytes of the body, which are sent now."""
        piece = self.reply.body.read(min(self.left, size)) if self.reply.body else b""
        self.left -= len(piece)
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
        self._turns: list[tuple[int, int, int]] = []
        """A heap of the ranks of those whose bodies are being sent; some may be over."""

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
        """Have `_woken` called, and then `_fill`, at this time of time.monotonic()."""
        raise NotImplementedError

    # What all do.

    def _answer(self, stream: int, site: Site, request: Request, received_s: float, *, early: str = Early.NO) -> None:
        """Begin the answer to a request that is complete since `received_s`, as `early` as one of Early says."""
        self._reply(stream, site, request, received_s, reply_to(site, self._connection.bodies, request),
                    early=early)

    def _reply(self, stream: int, site: Site, request: Request, received_s: float, reply: Reply, *,
               early: str = Early.NO) -> None:
        urgency, incremental = _priority(request.asked.headers.get("priority", ""))
        answer = self._answers[stream] = Outgoing(
            stream, site, request, reply, self._connection.count_request(), received_s,
            0 if request.method == "HEAD" else reply.size or 0, urgency, incremental, early)
        answer.head_s += reply.think_ms / 1000
        if reply.hangs:
            return
        if reply.early_hints:
            self._write_hints(answer)
        if reply.think_ms:
            self._wake(answer.head_s, stream)
        else:
            self._begin(answer)

    def _woken(self, stream: int) -> None:
        """Begin an answer that was thought about for long enough, unless its stream was reset meanwhile."""
        if stream in self._answers and self._answers[stream].begun_s is None:
            self._begin(self._answers[stream])

    def _begin(self, answer: Outgoing) -> None:
        """Send the head of an answer."""
        answer.begin()
        self._write_head(answer)
        if answer.is_only_head:
            self._finish(answer)
        else:
            heapq.heappush(self._turns, answer.rank())
            # Only for what is still to come: once the answer has ended, its stream may be another's (HTTP/1).
            sent = [0, *(size for _, size in answer.arrivals)]
            for (at_s, _), before in zip(answer.arrivals, sent, strict=False):
                if before < (answer.reply.size or 0):
                    self._wake(at_s, answer.stream)

    def _fill(self) -> None:
        """Send as much as may be sent now."""
        not_now = []
        while self._turns and self._takes_more():
            rank = heapq.heappop(self._turns)
            answer = self._answers.get(rank[-1])
            if answer is None:      # its stream was reset
                continue
            room = min(self._room(answer), answer.allowed)
            if room <= 0:
                not_now.append(rank)
                continue
            self._write_piece(answer, answer.read(room))
            if answer.is_last_piece:
                self._finish(answer)
            else:
                heapq.heappush(self._turns, answer.rank())
        for rank in not_now:
            heapq.heappush(self._turns, rank)

    def _finish(self, answer: Outgoing) -> None:
        del self._answers[answer.stream]
        with suppress(OSError):     # a full disk costs no answer: what the log lacks speaks against the load
            self._connection.note(
                answer.site, answer.received_s, answer.number, answer.request.method, answer.request.target,
                status=answer.reply.status, sent=answer.sent, found=answer.reply.found, begun_s=answer.begun_s,
                answer=answer.reply.answer, early=answer.early)

    def _finish_all(self) -> None:
        """Note the connection's end."""
        if not self._connection.requests:
            self._connection.note_silent()
        for answer in list(self._answers.values()):
            self._finish(answer)
