"""Bodies of foreign HARs: a text may be base64, a text, or bytes as characters, and is what has the size that is told.

A body with another size than the HAR tells is missing: it was cut, spoilt, or replaced by somebody's words.
"""

from collections.abc import Iterator
from http import HTTPStatus

from msgspec.structs import replace

from harness.files.charsets import encode_text
from harness.files.encoding import codings, decode, undo
from harness.files.exchange import UNKNOWN, Answer, Exchange
from harness.files.har import STILL_ENCODED, from_base64, is_base64
from harness.files.har_file import Attached
from harness.files.headers import REDIRECTS, WITHOUT_BODY, header_in
from harness.record.sources.body import CACHED, NOISE, Body, as_sent, with_coding
from harness.record.sources.har_form import Content, Entry, ResponsePart, transferred

NO_BODY = "the HAR does not have its body"
NOTHING_ENCODED, LARGEST_HEAD = 64, 8192
"""Bytes that an empty body can have (20 in gzip), and that a response's head can have, cookies and all."""
LITTLE, A_LITTLE = 0.05, 64
"""A body with so much more or less than the told size, and so many bytes beside, is another, or not all of it."""
REPLACED, MOST_REPLACED = "\ufffd".encode(), 0.01
"""What stands for bytes that are no text, and which share of it spoils nothing."""


def with_content(known: Exchange, entry: Entry, attached: Attached, page_charset: str) -> Exchange:
    """Return an exchange with the body that its entry has, or the error that says why it is missing.

    `attached` gives what lies beside the HAR; a script without a charset of its own is in its page's.
    """
    response = entry.response or ResponsePart()
    content = response.content or Content()
    answer = known.answer
    named = answer.header("content-encoding")
    has_text = content.text is not None or content.file is not None
    # What was pushed has no status, and a 304's body was in the cache.
    status = HTTPStatus.OK if content.text and answer.status in (0, HTTPStatus.NOT_MODIFIED) else answer.status
    if status == HTTPStatus.NOT_MODIFIED:
        return replace(known, error=CACHED)
    is_empty = status in (*WITHOUT_BODY, *REDIRECTS) or known.request.method == "HEAD"
    if not status or is_empty or (not has_text and answer.content_bytes == 0):
        return _completed(known, status, Body(b"", answer.header("content-encoding") if is_empty else ""))
    size = _decoded_bytes(known, entry, content, named)
    readings = list(_readings(content, known, size, attached, page_charset))
    if not readings or (not any(readings) and _is_lost(answer, response)):
        return replace(known, error=NO_BODY, answer=replace(answer, content_bytes=answer.content_bytes or UNKNOWN))
    reading = next((each for each in readings if size in (len(each), len(undo(each, codings(named))[0]))), readings[0])
    if str(content.comment).startswith(STILL_ENCODED):     # as our own exports say
        return _completed(known, status, Body(reading, named))
    body = as_sent(reading, named, answer.body_bytes if named else UNKNOWN, is_decoded=True)
    if body is None or not _is_as_told(decode(body.content, body.coding)[0], size):
        return replace(known, error=NOISE)
    return _completed(known, status, body)


def _readings(content: Content, known: Exchange, size: int, attached: Attached, page_charset: str) -> Iterator[bytes]:
    """Give what the text of a body can stand for, what the HAR says first. Attached texts are in UTF-8 (Playwright)."""
    def encoded(text: str) -> bytes:
        return encode_text(text, known.answer.header("content-type") or known.answer.mime_type, size=size,
                           page_charset=page_charset)

    text = content.text
    if content.file is not None:
        there = attached(content.file)
        if there is None:
            return
        try:
            text = there.decode("utf-8")
        except UnicodeDecodeError:
            yield there
            return
    elif text is not None and (in_base64 := from_base64(text)) is not None and (
            is_base64({"encoding": content.encoding}) or len(in_base64) == size):
        yield in_base64
    if text is not None:
        yield encoded(text)
        if all(character <= "\xff" for character in text):
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


def _decoded_bytes(known: Exchange, entry: Entry, content: Content, named: str) -> int:
    """Return how large a body is decoded, 0 where nobody knows."""
    answer = known.answer
    is_plain = answer.headers is not None and not named and answer.status == HTTPStatus.OK
    size = int(entry.content_bytes or 0) or int(content.size or 0)
    return max(size, answer.body_bytes) if is_plain else max(0, size)


def _is_as_told(body: bytes, size: int) -> bool:
    """Say whether a body, decoded, can be the one of which the HAR tells the size: some tools count characters, or two
    bytes for each. Chrome puts U+FFFD for what is none in a font that its server calls text: that one is spoilt.
    """
    text = body.decode("utf-8", "ignore")
    twice = 2 * len(text) if len(text.encode()) == len(body) else 0
    is_spoilt = b"\0" in body and len(REPLACED) * body.count(REPLACED) > MOST_REPLACED * len(body)
    return not is_spoilt and (size <= 0 or any(abs(each - size) <= LITTLE * size + A_LITTLE
                                               for each in (len(body), len(text), twice)))


def _is_lost(answer: Answer, response: ResponsePart) -> bool:
    """Say whether an answer whose body is empty here had one: Chrome has none of what a script read as a blob."""
    if answer.status not in (HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT):
        return False
    length = answer.header("content-length")
    if length.isdigit():
        return int(length) > (NOTHING_ENCODED if answer.header("content-encoding") else 0)
    return transferred(response) > LARGEST_HEAD

