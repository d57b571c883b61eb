"""Bodies between the form in which archives keep them and the one in which they crossed the network."""

import re
from collections.abc import Sequence
from dataclasses import replace
from http import HTTPStatus

from harness.errors import first_few, many
from harness.files.encoding import MOST_CODINGS, begins_as, can_be_made, codings, decode, encode, guess, undo
from harness.files.exchange import UNKNOWN
from harness.files.headers import Headers, header_in
from harness.files.looks import Fit, Role, fit, role_of
from harness.record.sources.archived import ArchivedAnswer

CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;.*)?")
"""A chunk's size, and extensions behind it."""
NUMBER = re.compile("[0-9]{1,18}")
ENCODING_ADDS = 64
"""Bytes by which an encoded body may be larger than the decoded one, if that is small."""
UNDONE = "x-orig-"
"""What Browsertrix and ArchiveWeb.page put before the names of headers that no longer hold for a body."""
LEAST_OF_WHOLE = 0.99
"""A body of this share of its Content-Length is whole: somebody edited it (GitHub iipc/webarchive-commons)."""


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


def says_chunked(headers: Headers) -> bool:
    """Say whether an answer came in chunks by its headers."""
    return any(name.lower() == "transfer-encoding" and "chunked" in value.lower() for name, value in headers)


def told_bytes(headers: Headers) -> int:
    """Return the size of a body by its Content-Length, 0 where that says nothing, as beside chunks."""
    length = header_in(headers, "content-length")
    return int(length) if NUMBER.fullmatch(length) and not header_in(headers, "transfer-encoding") else 0


def is_as_long_as_told(headers: Headers, size: int) -> bool:
    """Say whether a body of `size` bytes can be all that its Content-Length tells of.

    Crawlers that decode bodies keep the Content-Length of the encoded one: a few bytes decode to fewer.
    """
    adds = ENCODING_ADDS if header_in(headers, "content-encoding") else 0
    return size >= LEAST_OF_WHOLE * told_bytes(headers) - adds


def believed(answer: ArchivedAnswer) -> ArchivedAnswer | None:
    """Return an answer with the Content-Encoding that its body has; None where the body is noise, and no answer.

    Archives that decode often keep the header, with all of its codings or some; others lose it. So as many codings are
    undone as there are, and what comes of it is looked at. What begins as it says has it, also when its end is missing
    or something stands behind it: browsers show that. What was decoded is encoded again where its archive says what it
    was (`UNDONE`) or how large (Content-Length), or where nobody can make its coding (`recoded`): it had few bytes, and
    must not get many.
    """
    named = answer.header("content-encoding")
    names, body = codings(named), answer.body
    if not body or answer.status == HTTPStatus.PARTIAL_CONTENT:
        return _encoded_again(answer)
    role = role_of(answer.headers, answer.url) if answer.status == HTTPStatus.OK else Role.ANY
    left, undone = undo(body, names)
    found = names[len(names) - undone:]
    if undone < len(names) and begins_as(left, ", ".join(names[:len(names) - undone])):
        return answer
    while fit(role, left) is Fit.NO:
        left, coding = guess(left)
        if not coding or len(found) == MOST_CODINGS:
            return None
        found = [coding, *found]
    told = told_bytes(answer.headers)
    if names and not found and (0 < told < LEAST_OF_WHOLE * len(left) or not can_be_made(named)):
        body, coding = encode(left, named, told if told < len(left) else UNKNOWN)
        return replace(answer, headers=_with_coding(answer.headers, coding), body=body,
                       recoded="" if coding in ("", ", ".join(names)) else named)
    return _encoded_again(answer if found == names else
                          replace(answer, headers=_with_coding(answer.headers, ", ".join(found))))


def remark_on_noise(urls: Sequence[str]) -> list[str]:
    """Return what is to be said of answers that are noise, if any are."""
    if not urls:
        return []
    return [f"{many(len(urls), 'answer')} whose body cannot be what it is called (binary for a text, a text for a "
            f"picture, or of another size), which count as missing: {first_few(urls)}"]


def _with_coding(headers: Headers, coding: str) -> Headers:
    kept = tuple(pair for pair in headers if pair[0].lower() != "content-encoding")
    return (*kept, ("Content-Encoding", coding)) if coding else kept


def _encoded_again(answer: ArchivedAnswer) -> ArchivedAnswer:
    """Return an answer in the Content-Encoding that it had, where its archive decoded it and says so.

    How large it was is told by nobody: the Content-Length there is the decoded body's.
    """
    named = answer.header(f"{UNDONE}content-encoding")
    kept = tuple(pair for pair in answer.headers
                 if pair[0].lower() not in (f"{UNDONE}content-encoding", f"{UNDONE}transfer-encoding"))
    body, encoding = encode(answer.body, named, UNKNOWN)
    if not encoding or answer.header("content-encoding") or answer.status == HTTPStatus.PARTIAL_CONTENT:
        return replace(answer, headers=kept)
    kept = tuple(pair for pair in kept if pair[0].lower() != "content-length")
    return replace(answer, headers=(*kept, ("Content-Encoding", encoding)), body=body,
                   recoded="" if encoding == ", ".join(codings(named)) else named)


def as_accepted(answer: ArchivedAnswer, accepted: str) -> ArchivedAnswer:
    """Return an answer in an encoding that a request's Accept-Encoding names (RFC 9110, section 12.5.3), or in gzip.

    Over http browsers take no ``br`` or ``zstd``, which a crawler may have asked for.
    """
    named = answer.header("content-encoding")
    offered = {part.partition(";")[0].strip().lower() for part in accepted.split(",")}
    if offered.issuperset(codings(named)) or "gzip" not in offered:
        return answer
    body, known = decode(answer.body, named)
    if not known:
        return answer
    zipped, gzip_name = encode(body, "gzip", len(answer.body))
    kept = tuple(pair for pair in answer.headers if pair[0].lower() not in ("content-encoding", "content-length"))
    return replace(answer, headers=(*kept, ("Content-Encoding", gzip_name)), body=zipped)
