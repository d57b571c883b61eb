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
NOTHING_ENCODED, LARGEST_HEAD = 64, 8192
"""Bytes that an empty body can have (20 in gzip), and that a response's head can have, cookies and all."""
LEAST_OF_BODY, LEAST_OF_LARGE, LARGE_BYTES = 0.45, 0.95, 2**20
"""A body of less than this share of the told size is not all. A small text may be kept in two bytes a character."""
MOST_OF_BODY, A_LITTLE = 1.02, 64
"""A body with more than so much of the told size, and so many bytes beside, is another: a HAR may be edited."""


def with_content(known: Exchange, entry: Entry, attached: Attached, page_charset: str) -> Exchange:
    """Return an exchange with the body that its entry has, or the error that says why it is missing.

    `attached` gives what lies beside the HAR; a script without a charset of its own is in its page's.
    """
    response, content, answer = entry.response, entry.response.content, known.answer
    named = answer.header("content-encoding")
    has_text = content.text is not None or content.file is not None
    # What was pushed has no status, and a 304's body was in the cache.
    status = HTTPStatus.OK if content.text and answer.status in (0, HTTPStatus.NOT_MODIFIED) else answer.status
    if status == HTTPStatus.NOT_MODIFIED:
        return replace(known, error=CACHED)
    is_empty = status in (*WITHOUT_BODY, *REDIRECTS) or known.request.method == "HEAD"
    if not status or is_empty or (not has_text and answer.content_bytes == 0):
        return _completed(known, status, Body(b"", answer.header("content-encoding") if is_empty else ""))
    size, is_counted = _decoded_bytes(known, entry, named)
    readings = list(_readings(content, known, size, attached, page_charset))
    if readings and content.comment.startswith(STILL_ENCODED):     # as our own exports say
        return _completed(known, status, Body(readings[0], named))
    if not readings or (not any(readings) and _is_lost(answer, response)):
        return replace(known, error=NO_BODY, answer=replace(answer, content_bytes=answer.content_bytes or UNKNOWN))
    role = role_in(status, answer.headers or (), known.request.url, answer.mime_type)
    body = as_sent(readings, named, role, answer.body_bytes if named else UNKNOWN, size=size, is_decoded=True)
    if body is None or not _can_have_size(body, size, role, content.text or "", is_counted=is_counted):
        return replace(known, error=NOISE)
    return _completed(known, status, body)


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


def _completed(known: Exchange, status: int, body: Body) -> Exchange:
    """Return an exchange with this status and body."""
    answer = known.answer
    headers = answer.headers
    if headers is not None:
        headers = with_coding(headers, body.coding)
        if answer.redirect_url and not header_in(headers, "location"):
            headers += (("Location", answer.redirect_url),)
        if answer.mime_type and not header_in(headers, "content-type") and body.content:
            headers += (("Content-Type", answer.mime_type),)
    reason = answer.reason if status == answer.status else HTTPStatus(status).phrase
    return replace(known, note=body.note, answer=replace(
        answer, status=status, reason=reason, headers=headers, content=body.content,
        content_bytes=len(body.content) if answer.content_bytes < 0 else answer.content_bytes))


def _decoded_bytes(known: Exchange, entry: Entry, named: str) -> tuple[int, bool]:
    """Return how large a body is decoded, 0 where nobody knows, and whether its sizes are known to be its own."""
    answer = known.answer
    is_plain = answer.headers is not None and not named and answer.status == HTTPStatus.OK
    length = length_in(answer.headers or ()) or 0
    size = int(entry.content_bytes) or max(int(entry.response.content.size), length if is_plain else 0)
    if size <= 0 and is_plain:
        size = answer.body_bytes
    is_of_encoded = bool(named) and not 0 < answer.body_bytes < size     # as Firefox and mitmproxy write it
    return max(0, size), (is_plain or bool(named)) and not is_of_encoded


def _can_have_size(body: Body, size: int, role: Role, text: str, *, is_counted: bool) -> bool:
    """Say whether a body can have the size that is told."""
    plain, _ = decode(body.content, body.coding)
    got = len(plain)
    if size <= 0 or size in (got, len(text)):
        return True
    is_text = role is not Role.PICTURE and got < LARGE_BYTES
    if got < (LEAST_OF_BODY if is_text else LEAST_OF_LARGE) * size:
        return False
    return not is_counted or min(got, len(plain.decode("utf-8", "replace"))) <= MOST_OF_BODY * size + A_LITTLE


def _is_lost(answer: Answer, response: ResponsePart) -> bool:
    """Say whether an answer whose body is empty here had one: Chrome has none of what a script read as a blob."""
    if answer.status not in (HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT):
        return False
    length = length_in(answer.headers or ())
    if length is not None:
        return length > (NOTHING_ENCODED if answer.header("content-encoding") else 0)
    return transferred(response) > LARGEST_HEAD


def _as_served(attached: bytes, encoded: Callable[[str], bytes]) -> bytes:
    """Return the bytes of an attached body as its server sent them: Playwright keeps every text in UTF-8."""
    try:
        return encoded(attached.decode("utf-8")) if attached else attached
    except UnicodeDecodeError:
        return attached


def wire_bytes(response: ResponsePart, headers: Headers) -> int:
    """Return the size of the encoded body: Content-Length says it; bodySize only when it is below the decoded size."""
    if (length := length_in(headers)) is not None:
        return length
    size, decoded = int(response.body_bytes or UNKNOWN), int(response.content.size)
    encoded = bool(header_in(headers, "content-encoding"))
    if encoded and size < 0:
        size = transferred(response)
    if size > 0 and (not encoded or size < decoded or decoded <= 0):
        return size
    return UNKNOWN if encoded or decoded <= 0 else decoded


def transferred(response: ResponsePart) -> int:
    """Return the size of the encoded body by what Chrome says that crossed the network, 0 where it does not.

    That counts the head, too, whose compressed size over HTTP/2 nobody tells.
    """
    return max(0, int(response.transfer_bytes) - max(0, int(response.head_bytes)))
