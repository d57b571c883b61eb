"""Bodies of foreign HARs: what each text can stand for, and whether that can be the answer's body."""

from collections.abc import Callable, Iterator
from http import HTTPStatus

from msgspec.structs import replace

from harness.files.encoding import decode, encode_text
from harness.files.exchange import UNKNOWN, Answer, Exchange
from harness.files.har import STILL_ENCODED
from harness.files.har_entry import Content, Entry, ResponsePart, from_base64, is_base64
from harness.files.headers import REDIRECTS, WITHOUT_BODY, Headers, header_in, length_in
from harness.files.looks import Fit, Role, fit
from harness.files.packed import Attached
from harness.record.sources.body import CACHED, NOISE, Body, as_sent, role_in, with_coding

NO_BODY = "the HAR does not have its body"
LEAST_OF_BODY, LEAST_OF_LARGE, LARGE_BYTES = 0.45, 0.95, 2**20
"""A body of less than this share of the told size is not all. A small text may be kept in two bytes a character."""
LARGEST_HEAD = 8192
"""Bytes that a response's head can have, cookies and all."""


def with_content(known: Exchange, entry: Entry, attached: Attached, page_charset: str) -> Exchange:
    """Return an exchange with the body that its entry has, or the error that says why it is missing.

    `attached` gives what lies beside the HAR; a script without a charset of its own is in its page's.
    """
    content, answer = entry.response.content, known.answer
    named = answer.header("content-encoding")
    if answer.status == HTTPStatus.NOT_MODIFIED:
        return replace(known, error=CACHED)
    is_empty = answer.status in (*WITHOUT_BODY, *REDIRECTS) or known.request.method == "HEAD"
    if not answer.status or is_empty:
        return _completed(known, Body(b"", named if is_empty else ""))
    size = _decoded_bytes(entry, answer)
    readings = list(_readings(content, known, size, attached, page_charset))
    if not readings and answer.content_bytes == 0:
        readings = [b""]
    if readings and content.comment.startswith(STILL_ENCODED):     # as our own exports say
        return _completed(known, Body(readings[0], named))
    if not readings or (not any(readings) and _is_lost(entry.response, answer, size)):
        return replace(known, error=NO_BODY, answer=replace(answer, content_bytes=answer.content_bytes or UNKNOWN))
    role = role_in(answer.status, answer.headers or (), known.request.url, answer.mime_type)
    body = as_sent(readings, named, role, answer.body_bytes if named else UNKNOWN, size=size, is_decoded=True)
    if body is None or not _can_have_size(body, size, role, content.text or ""):
        return replace(known, error=NOISE)
    return _completed(known, body)


def _readings(content: Content, known: Exchange, size: int, attached: Attached, page_charset: str) -> Iterator[bytes]:
    """Give what the text of a body can stand for, what the HAR says first: base64, a text, base64 that nobody
    names, bytes as characters of Latin-1.
    """
    def encoded(text: str) -> bytes:
        return encode_text(text, known.answer.header("content-type") or known.answer.mime_type, size=size,
                           page_charset=page_charset)

    if content.file is not None:
        if (there := attached(content.file)) is not None:
            yield _as_served(there, encoded)
        return
    if content.text is None:
        return
    text = content.text
    in_base64, claimed, plain = from_base64(text), is_base64(content.encoding), encoded(text)
    if claimed and in_base64 is not None:
        yield in_base64
    if not claimed or in_base64 is None or len(plain) == size:
        yield plain
    if in_base64 and not claimed and (len(in_base64) == size or fit(Role.ANY, in_base64) is Fit.CERTAIN):
        yield in_base64
    if not text.isascii() and all(character <= "\xff" for character in text):
        yield text.encode("latin-1")


def _completed(known: Exchange, body: Body) -> Exchange:
    """Return an exchange with this body."""
    answer = known.answer
    headers = answer.headers
    if headers is not None:
        headers = with_coding(headers, body.coding)
        if answer.redirect_url and not header_in(headers, "location"):
            headers += (("Location", answer.redirect_url),)
        if answer.mime_type and not header_in(headers, "content-type") and body.content:
            headers += (("Content-Type", answer.mime_type),)
    return replace(known, note=body.note, answer=replace(
        answer, headers=headers, content=body.content,
        content_bytes=len(body.content) if answer.content_bytes < 0 else answer.content_bytes))


def _decoded_bytes(entry: Entry, answer: Answer) -> int:
    """Return how large a body is decoded, as far as anything says it, 0 where nobody knows."""
    is_plain = answer.headers is not None and not answer.header("content-encoding") and answer.status == HTTPStatus.OK
    return int(entry.content_bytes) or max(0, int(entry.response.content.size), answer.body_bytes if is_plain else 0)


def _is_lost(response: ResponsePart, answer: Answer, size: int) -> bool:
    """Say whether an answer whose body is empty here had one: Chrome has none of what a script read as a blob."""
    sent_bytes = int(response.transfer_bytes) - LARGEST_HEAD
    is_good = answer.status in (HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT)
    return is_good and max(size, sent_bytes, length_in(answer.headers or ()) or 0) > 0


def _can_have_size(body: Body, size: int, role: Role, text: str) -> bool:
    """Say whether a body can have the size that is told: Firefox cuts large ones."""
    got = len(decode(body.content, body.coding)[0])
    is_text = role is not Role.PICTURE and got < LARGE_BYTES
    return len(text) == size or got >= (LEAST_OF_BODY if is_text else LEAST_OF_LARGE) * size


def _as_served(attached: bytes, encoded: Callable[[str], bytes]) -> bytes:
    """Return the bytes of an attached body as its server sent them: Playwright keeps every text in UTF-8."""
    try:
        return encoded(attached.decode("utf-8")) if attached else attached
    except UnicodeDecodeError:
        return attached


def wire_bytes(response: ResponsePart, headers: Headers) -> int:
    """Return the size of the encoded body: Content-Length says it; bodySize only when it is below the decoded size, and
    what Chrome says that crossed the network, which counts the head, too.
    """
    if (length := length_in(headers)) is not None:
        return length
    size, decoded = int(response.body_bytes or UNKNOWN), int(response.content.size)
    encoded = bool(header_in(headers, "content-encoding"))
    if encoded and size < 0:
        size = int(response.transfer_bytes) - max(0, int(response.head_bytes))
    if size > 0 and (not encoded or size < decoded or decoded <= 0):
        return size
    return UNKNOWN if encoded or decoded <= 0 else decoded
