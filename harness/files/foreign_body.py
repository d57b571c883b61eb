"""The body of an answer in a HAR of another program: all of it, its beginning, what is left of it, or none.

Firefox keeps the beginning of a large one; the limit is a setting of its developer tools, 1 MiB by itself
(devtools.netmonitor.responseBodyLimit). Older versions count the decoded text. Version 153 counts base64 of the answer
as it came, puts NULs in the place of the rest, and decodes all of that: the end of such a body is garbage (seen with
answers of 0.2 to 6 MB, with and without gzip).
"""

import base64
import binascii
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from harness.files.charsets import encode_text
from harness.files.har_file import Attached

FIREFOX = "Firefox"
IS_BINARY = re.compile(r"image/(?!svg)|font/|audio/|video/|application/(?:octet-stream|(?:x-)?font|vnd\.ms-fontobject)")
LEAST_OF_BODY = 0.45
"""A body of less than this share of the size that the HAR says is not the body. (A text that is kept in two bytes a
character can have half.)"""
FIREFOX_LIMIT, LEAST_OF_LARGE_BODY = 2**20, 0.95
"""Bytes above which Firefox cuts. A body of so many or a few more, but less than that share of its size, is not all."""
KEPT_OF_BASE64 = 3 * 2**18
"""Bytes of an answer in 1 MiB of base64."""
REPLACED = "\ufffd".encode()
"""What a browser that takes an answer for text puts in the place of each byte that is none (U+FFFD)."""
MOST_REPLACED = 0.01
"""A body with a NUL in it, as pictures and fonts have, and with more than this share of such characters is not it:
Chrome exports so a font that its server calls text. A text with a few wrong bytes loads as it did."""
MOST_PADDED = 100_000_000
"""Bytes of a picture whose end is made up."""


@dataclass(frozen=True)
class HarContext:
    """A HAR, as far as its bodies need it: the program that wrote it, what is attached to it, and the charset that the
    document of each page names, by the page's id.
    """

    creator: str
    attached: Attached
    charsets: Mapping[str, str]


@dataclass(frozen=True)
class ForeignBody:
    """The decoded `content`, None where the HAR lacks it. `cut`: its end is NULs, as many as there were bytes."""

    content: bytes | None
    cut: bool = False


def read_body(content: dict[str, Any], content_type: str, context: HarContext, *, page: str, size: int,
              encoded_bytes: int, is_size_exact: bool = False) -> ForeignBody:
    """Return what the `content` of an entry of `page` has of a body of `size` bytes.

    `encoded_bytes` is its size on the network, 0 for one without a Content-Encoding; with `is_size_exact` the `size` is
    that of the decoded body for certain. A picture of which only the end is missing is kept, at its size: browsers draw
    what they have of it.
    """
    body = _body(content, context.attached, partial(encode_text, content_type=content_type, size=size,
                                                   page_charset=context.charsets.get(page, "")))
    if body is not None and len(body) + len(content.get("text") or "") == size:
        size = len(body)        # chrome-har counts a body twice, as it is and as it stands in the HAR
    if body is None or (context.creator == FIREFOX and encoded_bytes > FIREFOX_LIMIT) or _is_spoilt(body):
        return ForeignBody(None)
    if _is_picture(content_type) and not encoded_bytes and FIREFOX_LIMIT < size <= MOST_PADDED:
        if len(body) in (FIREFOX_LIMIT, KEPT_OF_BASE64):
            return ForeignBody(body.ljust(size, b"\0"), cut=True)
        if _is_padded(body):
            return ForeignBody(body, cut=True)
    least = LEAST_OF_BODY if len(body) < FIREFOX_LIMIT and not is_size_exact else LEAST_OF_LARGE_BODY
    return ForeignBody(None if len(body) < least * size or _is_padded(body) else body)


def _body(content: dict[str, Any], attached: Attached, encoded: Callable[[str], bytes]) -> bytes | None:
    text, file = content.get("text"), content.get("_file")
    if isinstance(file, str):
        return _as_served(attached(file), encoded)
    if not isinstance(text, str):
        return None
    try:
        is_base64 = content.get("encoding") == "base64" or _is_unnamed_base64(text, content)
        return base64.b64decode(text) if is_base64 else encoded(text)
    except binascii.Error:
        return None


def _is_unnamed_base64(text: str, content: dict[str, Any]) -> bool:
    """Say whether a picture or a font is in base64 though nobody says so: Chrome's Web Inspector of 2013 did not."""
    size = content.get("size")
    if not IS_BINARY.match(str(content.get("mimeType"))) or not isinstance(size, int) or not size:
        return False
    try:
        return len(text) == 4 * math.ceil(size / 3) and len(base64.b64decode(text, validate=True)) == size
    except ValueError:
        return False


def _as_served(attached: bytes | None, encoded: Callable[[str], bytes]) -> bytes | None:
    """Return the bytes of an attached body as its server sent them: Playwright keeps every text in UTF-8."""
    try:
        return encoded(attached.decode("utf-8")) if attached else attached
    except UnicodeDecodeError:
        return attached


def _is_spoilt(body: bytes) -> bool:
    """Say whether it is what is left after a browser took it for text."""
    return b"\0" in body and len(REPLACED) * body.count(REPLACED) > MOST_REPLACED * len(body)


def _is_padded(body: bytes) -> bool:
    """Say whether it has NULs only from where Firefox cuts."""
    return len(body) > FIREFOX_LIMIT and not body[KEPT_OF_BASE64:].strip(b"\0")


def _is_picture(content_type: str) -> bool:
    """Say whether a browser draws the beginning of it: an SVG is a text, which its end makes valid."""
    return content_type.startswith("image/") and "svg" not in content_type
