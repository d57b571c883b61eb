"""What HTTP/2 and HTTP/3 have in common: a request that comes on a stream, and the head of an answer as fields."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from harness.mirror.asked import Asked, BodyHasher, headers_of
from harness.replay.connection import LARGEST_UPLOAD, Connection
from harness.replay.heads import Field
from harness.replay.match import Request
from harness.replay.site import Site
from harness.replay.turns import Outgoing, Turns

FRAME = 16 * 1024 - 256
"""Bytes of a body in a frame: with its header, and that of a response before it, it fits into one record of TLS."""


@dataclass
class Coming:
    """A request that has not ended: its head's fields, and how much of its body came."""

    fields: Sequence[Field]
    size: int = 0
    hasher: BodyHasher = field(default_factory=BodyHasher)

    def take(self, piece: bytes) -> bool:
        """Take a piece of the body; say whether more may come."""
        self.size += len(piece)
        self.hasher.update(piece)
        return self.size <= LARGEST_UPLOAD

    def request(self, connection: Connection) -> tuple[Site, Request]:
        """Return what is asked for, and the site that is asked.

        Browsers send requests to several hosts over one connection, where its certificate has all their names.
        """
        wanted = dict(self.fields)
        asked = _asked(tuple([field for field in self.fields if not field[0].startswith(":")]))
        site = connection.endpoint.sites.named(wanted.get(":authority") or asked.headers.get("host", ""))
        if body := self.hasher.result():
            asked = Asked(asked.headers, body)
        return site, Request(wanted.get(":method", "GET"), _utf8(wanted.get(":path", "/")), asked)


@lru_cache(maxsize=1024)
def _asked(fields: tuple[Field, ...]) -> Asked:
    """Return what a request says beside its URL: a browser says the same of many."""
    return Asked(headers_of((name, _utf8(value)) for name, value in fields))


def _utf8(text: str) -> str:
    return text if text.isascii() else text.encode("latin-1").decode("utf-8", "surrogateescape")


class Streams(Turns):
    """The answers of a connection that carries several at once. A subclass puts heads into its version's form."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._coming: dict[int, Coming] = {}
        """Requests that have not ended, by stream."""

    def _send_head(self, stream: int, fields: list[Field], size: int = 0, *, ends: bool = False) -> None:
        """Send a head, of `size` bytes as far as that can be (0: as few as can be). `ends`: nothing follows."""
        raise NotImplementedError

    def _write_hints(self, answer: Outgoing) -> None:
        self._send_head(answer.stream, [(":status", "103"), *answer.reply.early_hints])

    def _write_head(self, answer: Outgoing) -> None:
        reply = answer.reply
        head = [(":status", f"{reply.status:d}"), *reply.headers]      # of a member of HTTPStatus, too
        if reply.size is not None and not reply.stays_open:
            head.append(("content-length", str(reply.size)))
        self._send_head(answer.stream, head, reply.head_bytes, ends=answer.is_only_head)

    def _forget(self, stream: int) -> None:
        """Send nothing more on a stream that was reset, and take nothing."""
        self._coming.pop(stream, None)
        if stream in self._answers:
            self._finish(self._answers[stream])
