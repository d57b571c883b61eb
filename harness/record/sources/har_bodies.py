"""Bodies of foreign HARs: what each text stands for, or why the answer's body is missing."""

from http import HTTPStatus

from msgspec.structs import replace

from harness.files.encoding import encode_text
from harness.files.exchange import UNKNOWN, Exchange
from harness.files.har import STILL_ENCODED
from harness.files.har_entry import Content, ResponsePart, from_base64, is_base64
from harness.files.headers import REDIRECTS, WITHOUT_BODY, Headers, header_in, length_in
from harness.files.looks import Role
from harness.record.sources.body import CACHED, role_in, with_body

NO_BODY = "the HAR does not have its body"
LARGEST_HEAD = 8192
"""Bytes that a response's head can have, cookies and all."""


def with_content(known: Exchange, response: ResponsePart, page_charset: str) -> Exchange:
    """Return an exchange with the body that its entry has, or the error that says why it is missing.

    A script without a charset of its own is in its page's.
    """
    content, answer = response.content, known.answer
    if answer.status == HTTPStatus.NOT_MODIFIED:        # a text's size is then its decoded one
        is_packed = answer.mime_type.startswith(("image/", "font/"))
        return replace(known, error=CACHED, answer=replace(answer, body_bytes=answer.body_bytes if is_packed else 0))
    if answer.status in (0, *WITHOUT_BODY, *REDIRECTS) or known.request.method == "HEAD":
        return replace(known, answer=replace(answer, content=b""))
    named = answer.header("content-encoding")
    is_plain = answer.status == HTTPStatus.OK and not named
    told = (length_in(answer.headers or ()) or 0) if is_plain else 0
    # What crossed the network is asked last: it counts chunks' framing, too.
    size = max(0, answer.content_bytes, told) or max(0, answer.body_bytes if is_plain else 0)
    body = _body(content, known, size, page_charset)
    if body is None and answer.content_bytes == 0:
        body = b""
    sent_bytes = max(answer.body_bytes, int(response.transfer_bytes) - LARGEST_HEAD)
    # Chrome has an empty text of what a script read as a blob, Firefox of what its cache had.
    is_lost = not body and answer.status in (HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT) and max(size, sent_bytes) > 0
    if body is None or is_lost:
        return replace(known, error=NO_BODY, answer=replace(answer, content_bytes=answer.content_bytes or UNKNOWN))
    if content.comment.startswith(STILL_ENCODED):       # as our own exports say
        return replace(known, answer=replace(answer, content=body))
    return with_body(known, body, named, answer.body_bytes if named else UNKNOWN, size=size, is_decoded=True)


def _body(content: Content, known: Exchange, size: int, page_charset: str) -> bytes | None:
    """Return the body that a text stands for, None without one: some call a text base64 that is none."""
    text = content.text
    if text is None:
        return None
    if is_base64(content.encoding) and (in_base64 := from_base64(text)) is not None:
        return in_base64
    if text and _has_bytes(text, known, size):
        return text.encode("latin-1")       # a character a byte
    if role_in(known) is Role.ANY and len(text) > size > 0 and len(from_base64(text) or b"") == size:
        return None                         # base64 that is not called so
    return encode_text(text, known.answer.header("content-type") or known.answer.mime_type, size=size,
                       page_charset=page_charset)


def _has_bytes(text: str, known: Exchange, size: int) -> bool:
    """Tell whether each character stands for a byte: of a picture always, of what nobody knows if the size says so."""
    role = role_in(known)
    return max(text) <= "\xff" and (role is Role.PICTURE or (role is Role.ANY and len(text) == size))


def wire_bytes(response: ResponsePart, headers: Headers) -> int:
    """Return the size of the encoded body, as far as anything says it: Content-Length, bodySize, or what Chrome says
    that crossed the network, which counts the head, too.
    """
    if (length := length_in(headers)) is not None:
        return length
    rest = (response.transfer_bytes - max(0, response.head_bytes) if header_in(headers, "content-encoding")
            else response.content.size)
    return int(next((size for size in (response.body_bytes, rest) if size > 0), UNKNOWN))
