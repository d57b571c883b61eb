"""Bodies as they crossed the network, of what archives and other programs kept of them.

An archive may have decoded a body and kept its Content-Encoding; a HAR has bodies decoded. So what a file says of a
body is a claim: as many of the named codings are undone as are there, and what is left is looked at
(harness.files.looks). What cannot be what it is called is missing.
"""

import io
import re
from http import HTTPStatus

from msgspec.structs import replace
from warcio.bufferedreaders import ChunkedDataException, ChunkedDataReader  # type: ignore[import-untyped]

from harness.files.encoding import NOT_MADE, begins_as, can_be_made, codings, encode, undo
from harness.files.exchange import UNKNOWN, Exchange
from harness.files.headers import Headers, header_in, length_in, without
from harness.files.looks import Role, can_be, role_of

CHUNK_SIZE = re.compile(rb"[0-9A-Fa-f]{1,16}[ \t]*(?:;.*)?\r\n")
"""A chunk's size, and extensions behind it."""
LEAST_OF_WHOLE = 0.99
"""A body that is smaller on the network than this share of itself was decoded by its archive."""
LEAST_OF_TOLD = 0.95
"""A body of less than this share of its told size is not all: Firefox cuts large ones."""
MOST_BYTES = 4_000_000_000
"""Of all bodies of a source together."""
TOO_MUCH = f"cannot be read (over {MOST_BYTES / 1e9:g} GB when unpacked); give a smaller one"
NOISE = "its body cannot be what it is called, or has another size"
CACHED = "it was there already (304)"
"""Errors of exchanges whose bodies are missing: the latter of what a browser had in its cache, or a crawler stored."""
OVER_HTTPS = NOT_MADE | {"br", "zstd"}
"""Codings that browsers take over https only; a crawler may have asked for them over http, too."""


def role_in(exchange: Exchange) -> Role:
    """Return what the body of an answer is called: of an error or a part nobody knows."""
    answer = exchange.answer
    is_whole = answer.status == HTTPStatus.OK
    return role_of(answer.headers or (), exchange.request.url, answer.mime_type) if is_whole else Role.ANY


def with_body(exchange: Exchange, body: bytes, named: str, sent_bytes: int = UNKNOWN, *, size: int = 0,
              is_decoded: bool = False) -> Exchange:
    """Return an exchange with its body as it was sent, or with the error NOISE.

    `named` is its Content-Encoding, `sent_bytes` its size on the network (-1: unknown), `size` the decoded one (0:
    unknown). `is_decoded`: whoever wrote it down decodes bodies; then it is encoded again. So is one that is larger
    than its size on the network (its archive decoded it, and does not say so), and one in a coding that a browser does
    not take.
    """
    answer, names = exchange.answer, codings(named)
    if not size and (not body or answer.status == HTTPStatus.PARTIAL_CONTENT):
        return replace(exchange, answer=replace(answer, content=body))
    left, undone = undo(body, names)
    # What begins as it says has its codings, also when its end is missing: browsers show what is there.
    is_cut = undone < len(names) and begins_as(left, names[len(names) - undone - 1])
    if not is_cut and (not can_be(role_in(exchange), left) or len(left) < LEAST_OF_TOLD * size):
        return replace(exchange, error=NOISE, answer=replace(answer, body_bytes=max(answer.body_bytes, len(body))))
    found = names if is_cut else names[len(names) - undone:]
    content, coding = body, named if found == names else ", ".join(found)
    is_smaller = 0 < sent_bytes < LEAST_OF_WHOLE * len(left)
    is_taken = exchange.request.url.startswith("https:") or OVER_HTTPS.isdisjoint(names)
    if names and not is_cut and not (found and is_taken) and (
            is_decoded or is_smaller or not is_taken or not can_be_made(named)):
        wanted_bytes = len(body) if found else sent_bytes if is_decoded or is_smaller else UNKNOWN
        content, coding = encode(left, named if is_taken else "gzip", wanted_bytes)
    note = f"in {named}" if coding not in ("", named, ", ".join(found or names)) else ""
    return replace(exchange, note=note,
                   answer=replace(answer, headers=with_coding(answer.headers or (), coding), content=content))


def with_coding(headers: Headers, coding: str) -> Headers:
    """Return headers with this Content-Encoding, "" for none, and without a Content-Length if that is a change."""
    if header_in(headers, "content-encoding") == coding:
        return headers
    kept = without(headers, "content-encoding", "content-length")
    return (*kept, ("Content-Encoding", coding)) if coding else kept


def without_chunks(body: bytes) -> bytes | None:
    """Return a body without the framing of Transfer-Encoding: chunked (RFC 9112, section 7.1), None where its last
    chunk, which is empty, is not there. Some archives say "chunked" of bodies whose chunks were joined already.
    """
    try:
        joined: bytes = ChunkedDataReader(io.BytesIO(body), raise_exceptions=True).read()
    except ChunkedDataException:
        return None if CHUNK_SIZE.match(body) else body
    return joined


def stated_bytes(headers: Headers) -> int:
    """Return the size of a body by its Content-Length, 0 where that says nothing, as beside chunks."""
    return 0 if header_in(headers, "transfer-encoding") else length_in(headers) or 0
