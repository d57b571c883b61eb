"""What HTTP/2 and HTTP/3 have in common: a request on a stream as text, and the head of an answer as fields."""

from collections.abc import Iterable
from functools import lru_cache

from harness.mirror.asked import Asked, BodyHasher, headers_of
from harness.replay.connection import Connection
from harness.replay.heads import Field, encoded_fields
from harness.replay.match import Request
from harness.replay.reply import Reply
from harness.replay.site import Site

FRAME = 16 * 1024 - 256
"""Bytes of a body in a frame: with its header, and that of a response before it, it fits into one record of TLS."""
PSEUDO = (":method", ":path", ":authority", ":scheme")
"""What says what is asked for (RFC 9113, section 8.3.1; RFC 9114, section 4.3.1)."""


def request_of(connection: Connection, came: Iterable[Field], hasher: BodyHasher | None) -> tuple[Site, Request]:
    """Return a request, and the site that is asked; `hasher` has read its body.

    Browsers send requests to several hosts over one connection, where its certificate has all their names.
    """
    fields = headers_of(map(_texts, came))
    method, target, authority, _ = (fields.pop(name, "") for name in PSEUDO)
    site = connection.endpoint.sites.named(authority or fields.get("host", ""))
    return site, Request(method or "GET", target or "/", Asked(fields, hasher.result() if hasher else None))


def head_of(reply: Reply) -> list[Field]:
    """Return the fields of an answer's head."""
    head = [(b":status", b"%d" % reply.status), *encoded_fields(reply.headers)]
    if reply.size is not None and not reply.stays_open:
        head.append((b"content-length", b"%d" % reply.size))
    return head


def early_hints_of(reply: Reply) -> list[Field]:
    """Return the fields of the interim head (RFC 8297) that comes before."""
    return [(b":status", b"103"), *encoded_fields(reply.early_hints)]


@lru_cache(maxsize=4096)
def _texts(field: Field) -> tuple[str, str]:
    """Return a header as text: a browser sends most of them with every request."""
    name, value = field
    return name.decode("utf-8", "surrogateescape"), value.decode("utf-8", "surrogateescape")
