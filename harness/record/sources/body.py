"""Bodies as they crossed the network, of what archives and other programs kept of them.

An archive may have decoded a body and kept its Content-Encoding, or the other way round; a HAR has bodies decoded, and
calls texts base64, or bytes characters. So what a file says of a body is a claim: as many codings are undone as are
there, and what is left is looked at (harness.files.looks). What cannot be what it is called is missing.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from http import HTTPStatus

from msgspec.structs import replace

from harness.files.encoding import MOST_CODINGS, begins_as, can_be_made, codings, decode, encode, guess, undo
from harness.files.exchange import UNKNOWN, Exchange
from harness.files.headers import Headers, header_in, length_in, without
from harness.files.looks import Fit, Role, fit, role_of

CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;.*)?")
"""A chunk's size, and extensions behind it."""
LEAST_OF_WHOLE = 0.99
"""A body that is smaller on the network than this share of itself was decoded by its archive."""
MOST_BYTES = 4_000_000_000
"""Of all bodies of a source together."""
TOO_MUCH = f"cannot be read (over {MOST_BYTES / 1e9:g} GB when unpacked); give a smaller one"
NOISE = "its body cannot be what it is called, or has another size"
CACHED = "it was there already (304)"
"""Errors of exchanges whose bodies are missing: the latter of what a browser had in its cache, or a crawler stored."""
UNDONE = "x-orig-"
"""What Browsertrix and ArchiveWeb.page put before the names of headers that no longer hold for a body."""
OVER_HTTP = frozenset(("gzip", "x-gzip", "deflate"))
"""Codings that browsers take over http; a crawler may have asked for others."""


@dataclass(frozen=True)
class Body:
    """The bytes of a body as they cross the network, and their Content-Encoding, "" for none.

    `note` says that it had another one, which nobody can make again.
    """

    content: bytes
    coding: str = ""
    note: str = ""


def role_in(status: int, headers: Headers, url: str, mime_type: str = "") -> Role:
    """Return what the body of an answer is called: of an error or a part nobody knows."""
    return role_of(headers, url, mime_type) if status == HTTPStatus.OK else Role.ANY


def as_sent(readings: Iterable[bytes], named: str, role: Role, sent_bytes: int, *, size: int = 0,
            is_decoded: bool = False) -> Body | None:
    """Return a body as it was sent, of what it may be, the best claim first; None where all of that is noise.

    `named` is its Content-Encoding, `sent_bytes` its size on the network (-1: unknown), `size` the decoded one (0:
    unknown). `is_decoded`: whoever wrote it down decodes bodies; then it is encoded again. So is one that is larger
    than its size on the network: its archive decoded it, and does not say so.
    """
    names = codings(named)
    candidates = [each for reading in readings if (each := _undone(reading, names, role))]
    if not candidates:
        return None
    body, left, found = max(candidates, key=lambda each: (min(fit(role, each[1]), Fit.MAYBE), len(each[1]) == size,
                                                          fit(role, each[1])))
    is_smaller = 0 < sent_bytes < LEAST_OF_WHOLE * len(left)
    if found or not names or not (is_decoded or is_smaller or not can_be_made(named)):
        return Body(body, ", ".join(found) if found != names else named)
    content, coding = encode(left, named, sent_bytes if is_decoded or is_smaller else UNKNOWN)
    return Body(content, coding, "" if coding in ("", ", ".join(names)) else f"in {named}, which nobody can make again")


def _undone(body: bytes, names: Sequence[str], role: Role) -> tuple[bytes, bytes, list[str]] | None:
    """Return a body, what is left of it without its codings, and these; None where that cannot be what it is called.

    What begins as it says has its codings, also when its end is missing: browsers show what is there.
    """
    left, undone = undo(body, names)
    found = list(names[len(names) - undone:])
    if undone < len(names) and begins_as(left, names[len(names) - undone - 1]):
        return body, left, list(names)
    while fit(role, left) is Fit.NO:
        left, coding = guess(left)
        if not coding or len(found) == MOST_CODINGS:
            return None
        found = [coding, *found]
    return body, left, found


def over_http(body: Body, url: str) -> Body:
    """Return a body as a browser takes it from `url`: over http none in br or zstd (Chromium asks for gzip alone)."""
    if not url.startswith("http:") or OVER_HTTP.issuperset(codings(body.coding)):
        return body
    plain, known = decode(body.content, body.coding)
    return Body(*encode(plain, "gzip", len(body.content)), body.note) if known else body


def with_coding(headers: Headers, coding: str) -> Headers:
    """Return headers with this Content-Encoding, "" for none, and without a Content-Length if that is a change."""
    if header_in(headers, "content-encoding") == coding:
        return headers
    kept = without(headers, "content-encoding", "content-length")
    return (*kept, ("Content-Encoding", coding)) if coding else kept


def without_chunks(body: bytes) -> tuple[bytes, bool]:
    """Return a body without the framing of Transfer-Encoding: chunked (RFC 9112, section 7.1), as it is if it has none;
    and whether it is whole.

    Some archives say "chunked" of bodies whose chunks were joined already. A stream that was broken off between two
    chunks lacks the last one, which is empty: it is whole. One that was broken off inside a chunk is not.
    """
    joined = bytearray()
    at = 0
    while at < len(body) or not joined:
        end = body.find(b"\r\n", at)
        size = CHUNK_SIZE.fullmatch(body, at, end) if end > at else None
        if size is None:
            return body, True
        chunk = body[end + 2:end + 2 + int(size[1], 16)]
        joined += chunk
        if len(chunk) < int(size[1], 16):
            return bytes(joined), False
        if not chunk:
            break
        at = end + 2 + len(chunk) + 2
    return bytes(joined), True


def stated_bytes(headers: Headers) -> int:
    """Return the size of a body by its Content-Length, 0 where that says nothing, as beside chunks."""
    return 0 if header_in(headers, "transfer-encoding") else length_in(headers) or 0


def with_body(exchange: Exchange, body: bytes) -> Exchange:
    """Return an exchange of an archive with its body, in the Content-Encoding that it has."""
    answer = exchange.answer
    named, undone = answer.header("content-encoding"), answer.header(f"{UNDONE}content-encoding")
    headers = without(answer.headers or (), f"{UNDONE}content-encoding", f"{UNDONE}transfer-encoding")
    if not body or answer.status == HTTPStatus.PARTIAL_CONTENT:
        return replace(exchange, answer=replace(answer, headers=headers, content=body))
    is_decoded = bool(undone) and not named
    found = as_sent([body], named or undone, role_in(answer.status, headers, exchange.request.url),
                    (not is_decoded and stated_bytes(headers)) or UNKNOWN, is_decoded=is_decoded)
    if found is None:
        return replace(exchange, error=NOISE, answer=replace(answer, body_bytes=len(body)))
    return replace(exchange, note=found.note,
                   answer=replace(answer, headers=with_coding(headers, found.coding), content=found.content))
