"""What HTTP/2 and HTTP/3 have in common: a request on a stream, its answer, and whose turn it is to be sent.

Browsers say how urgent each answer is (RFC 9218): style sheets before images.
"""

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from harness.files.server_log import Early
from harness.mirror.asked import Asked, BodyHasher, headers_of
from harness.replay.connection import Connection
from harness.replay.heads import Field, encoded_fields
from harness.replay.match import Request
from harness.replay.reply import Reply, reply_to
from harness.replay.site import Site

FRAME = 16 * 1024 - 256
"""Bytes of a body in a frame: with its header, and that of a response before it, it fits into one record of TLS."""
DEFAULT_URGENCY = 3
URGENCY = re.compile(r"(?:^|[\s,])u=([0-7])(?![0-9])")
INCREMENTAL = re.compile(r"(?:^|[\s,])i(?:=\?1)?(?=\s*(?:[,;]|$))")
PSEUDO = (":method", ":path", ":authority", ":scheme")
"""What says what is asked for (RFC 9113, section 8.3.1; RFC 9114, section 4.3.1)."""


@dataclass
class Outgoing:
    """A response that is being sent: its stream, site and request, and how urgent it is (0 most, 7 least)."""

    stream: int
    site: Site
    reply: Reply
    number: int
    received_s: float
    method: str
    target: str
    urgency: int
    incremental: bool
    left: int
    head: list[Field]
    early: str = Early.NO
    sent: int = 0
    turns: int = 0
    begun_s: float | None = None
    head_s: float = field(default_factory=time.monotonic)
    """When the head is to be sent, or was, by the monotonic clock."""

    @property
    def since_head_ms(self) -> float:
        """How long ago the head was sent; below 0 while the server thinks."""
        return (time.monotonic() - self.head_s) * 1000

    @property
    def allowed(self) -> int:
        """Bytes of the body that may be sent now: all that are left, or what had come when it was recorded."""
        return self.reply.allowed(self.since_head_ms, self.sent)

    @property
    def is_only_head(self) -> bool:
        """Whether nothing follows the head."""
        return not self.left and (self.method == "HEAD" or not self.reply.stays_open)

    @property
    def is_last_piece(self) -> bool:
        """Whether the piece that was read last ends the answer."""
        return not self.left and not self.reply.stays_open

    def rank(self) -> tuple[int, int, int]:
        """Return what decides whose turn it is: the smallest. Incremental answers take turns, others are sent whole.

        The stream stands last.
        """
        return self.urgency, self.turns if self.incremental else 0, self.stream

    def begin(self) -> None:
        """Note that the head is sent now. By how much that is too late, after a thought, is not the server's time."""
        overslept_s = time.monotonic() - self.head_s if self.reply.think_ms else 0.0
        self.begun_s, self.head_s = time.time() - overslept_s, time.monotonic()

    def read(self, size: int) -> bytes:
        """Return the next bytes of the body, which are sent now; none where the file was cut meanwhile."""
        piece = self.reply.read(min(self.left, size))
        self.left -= len(piece)
        self.sent += len(piece)
        self.turns += 1
        return piece

    def next_ms(self) -> float | None:
        """Return in how many ms more may be sent of an answer that is sent as it came; None when all may."""
        since = self.since_head_ms
        at = None if self.begun_s is None else self.reply.next_ms(since)
        return None if at is None else at - since

    def note(self, connection: Connection) -> None:
        """Write it into its site's log, and close its files."""
        with self.reply:
            connection.note(self.site, self.received_s, self.number, self.method, self.target, status=self.reply.status,
                            sent=self.sent, found=self.reply.found, begun_s=self.begun_s, answer=self.reply.answer,
                            early=self.early)


def answer_to(connection: Connection, stream: int, came: Iterable[Field], hasher: BodyHasher | None,
              received_s: float) -> Outgoing:
    """Return the answer to a request that is complete since `received_s`; `hasher` has read its body."""
    number = connection.count_request()
    fields = headers_of(map(_texts, came))
    method, target, authority, _ = (fields.pop(name, "") for name in PSEUDO)
    method, target = method or "GET", target or "/"
    # Browsers send requests to several hosts over one connection, where its certificate has all their names.
    site = connection.endpoint.sites.named(authority or fields.get("host", ""))
    body_hash = hasher.result() if hasher else None
    reply = reply_to(site, connection.directories, Request(method, target, Asked(fields, body_hash)))
    priority = fields.get("priority", "")
    urgency = URGENCY.search(priority)
    head = [(b":status", b"%d" % reply.status), *encoded_fields(reply.headers)]
    if reply.size is not None and not reply.stays_open:
        head.append((b"content-length", b"%d" % reply.size))
    answer = Outgoing(stream, site, reply, number, received_s, method, target,
                      int(urgency[1]) if urgency else DEFAULT_URGENCY, bool(INCREMENTAL.search(priority)),
                      0 if method == "HEAD" else reply.size or 0, head)
    answer.head_s += reply.think_ms / 1000
    return answer


@lru_cache(maxsize=4096)
def _texts(field: Field) -> tuple[str, str]:
    """Return a header as text: a browser sends most of them with every request."""
    name, value = field
    return name.decode("utf-8", "surrogateescape"), value.decode("utf-8", "surrogateescape")
