"""The body of an answer in a HAR of another program: all of it, its beginning, what is left of it, or none.

Labels are claims: HARs call texts base64, hold bodies that are still compressed, or bytes as characters. A body is
decoded in each way that it can be, and then looked at (harness.files.looks).

Firefox keeps the beginning of a large one; the limit is a setting of its developer tools, 1 MiB by itself
(devtools.netmonitor.responseBodyLimit). Older versions count the decoded text. Version 153 counts base64 of the answer
as it came, puts NULs in the place of the rest, and decodes all of that: the end of such a body is garbage (seen with
answers of 0.2 to 6 MB, with and without gzip).
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from harness.files.charsets import encode_text
from harness.files.encoding import MOST_CODINGS, codings, guess, undo
from harness.files.har import from_base64, is_base64
from harness.files.har_file import Attached
from harness.files.looks import Fit, Role, fit

FIREFOX = "Firefox"
DATA_URL = re.compile(r"data:[^,]{0,200};base64,", re.IGNORECASE)
LEAST_OF_BODY = 0.45
"""A body of less than this share of the size that the HAR says is not the body. (A text that is kept in two bytes a
character can have half.)"""
FIREFOX_LIMIT, LEAST_OF_LARGE_BODY = 2**20, 0.95
"""Bytes above which Firefox cuts. A body of so many or a few more, but less than that share of its size, is not all."""
KEPT_OF_BASE64 = 3 * 2**18
"""Bytes of an answer in 1 MiB of base64."""
MOST_OF_BODY, A_LITTLE = 1.02, 64
"""A body with more than so much of the told size, and so many bytes beside, is not the body: a HAR may be edited."""
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
    """The decoded `content`, None where the HAR lacks it. `cut`: its end is NULs, as many as there were bytes.

    `coding` is what it still had when the HAR was written, "" for none; so it has `encoded_bytes`. `is_noise`: the HAR
    has something, which cannot be this body.
    """

    content: bytes | None
    cut: bool = False
    coding: str = ""
    encoded_bytes: int = 0
    is_noise: bool = False


@dataclass(frozen=True)
class BodyClaims:
    """What a HAR says of a body, apart from its text. `size` is how large it is decoded, 0 where nobody knows, and
    certainly so with `is_size_exact`; `encoded_bytes` its size on the network, 0 for one without a Content-Encoding.
    `is_counted`: nothing was encoded, so the sizes on the network are the body's, too.
    """

    role: Role
    content_type: str
    encoding: str
    size: int
    encoded_bytes: int
    is_size_exact: bool = False
    is_counted: bool = False


def read_body(content: dict[str, Any], claims: BodyClaims, context: HarContext, page: str) -> ForeignBody:
    """Return what the `content` of an entry of `page` has of its body.

    What a HAR says of its text is a claim, so all that the text can be is looked at, what it says first. The first that
    has the size that is told counts, if it looks like what it is called, and else the one that looks most like it. A
    picture of which only the end is missing is kept, at its size: browsers draw what they have of it.
    """
    size, text = claims.size, content.get("text")
    encoded = partial(encode_text, content_type=claims.content_type, size=size,
                      page_charset=context.charsets.get(page, ""))
    if isinstance(content.get("_file"), str):
        attached, text = _as_served(context.attached(content["_file"]), encoded), ""
        readings = [] if attached is None else [attached]
    else:
        readings = list(_readings(text, content, encoded, size)) if isinstance(text, str) else []
    if not readings or (context.creator == FIREFOX and claims.encoded_bytes > FIREFOX_LIMIT):
        return ForeignBody(None)
    candidates = [candidate for reading in readings for candidate in _forms(reading, claims)]
    best = max(candidates, key=lambda candidate: (min(candidate.fit, Fit.MAYBE), len(candidate.content) == size,
                                                  candidate.fit))
    return _judged(best, str(text), claims)


def _judged(found: "_Candidate", text: str, claims: BodyClaims) -> ForeignBody:
    """Return what was chosen of the readings of `text`, if it can be the body."""
    body = found.content
    if not found.fit:
        return ForeignBody(None, is_noise=True)
    if _is_picture(claims.content_type) and not claims.encoded_bytes and FIREFOX_LIMIT < claims.size <= MOST_PADDED:
        if len(body) in (FIREFOX_LIMIT, KEPT_OF_BASE64):
            return ForeignBody(body.ljust(claims.size, b"\0"), cut=True)
        if _is_padded(body):
            return ForeignBody(body, cut=True)
    if _is_padded(body):
        return ForeignBody(None)
    if not _can_have_size(body, text, claims):
        return ForeignBody(None, is_noise=True)
    return ForeignBody(body, coding=found.coding, encoded_bytes=found.encoded_bytes)


@dataclass(frozen=True)
class _Candidate:
    """What a body may be; `coding` was undone, which left `encoded_bytes`."""

    content: bytes
    fit: Fit
    coding: str = ""
    encoded_bytes: int = 0


def _readings(text: str, content: dict[str, Any], encoded: Callable[[str], bytes], size: int) -> Iterator[bytes]:
    """Give what `text` can stand for, what the HAR says first: base64, a text, base64 that nobody names, bytes as
    characters of Latin-1, and a data: URL.
    """
    in_base64, claimed, plain = from_base64(text), is_base64(content), encoded(text)
    if claimed and in_base64 is not None:
        yield in_base64
    if not claimed or in_base64 is None or len(plain) == size:
        yield plain
    if in_base64 and not claimed and (len(in_base64) == size or fit(Role.ANY, in_base64) is Fit.CERTAIN):
        yield in_base64
    try:
        in_latin_1 = text.encode("latin-1")
    except UnicodeEncodeError:
        in_latin_1 = b""
    if not text.isascii() and in_latin_1:
        yield in_latin_1
    if of_url := DATA_URL.match(text):
        inside = from_base64(text[of_url.end():])
        if inside is not None:
            yield inside


def _forms(body: bytes, claims: BodyClaims) -> Iterator[_Candidate]:
    """Give a body as it is and, where it still has codings though a HAR has bodies decoded, without them."""
    names = codings(claims.encoding)
    decoded, undone = undo(body, names)
    if undone:
        yield _Candidate(decoded, fit(claims.role, decoded), ", ".join(names[-undone:]), len(body))
    plain = fit(claims.role, body)
    yield _Candidate(body, plain)
    left, found = body, ""
    for _ in range(MOST_CODINGS):
        if fit(claims.role, left):
            break
        left, coding = guess(left)
        if not coding:
            break
        found = f"{coding}, {found}" if found else coding
        yield _Candidate(left, fit(claims.role, left), found, len(body))


def _can_have_size(body: bytes, text: str, claims: BodyClaims) -> bool:
    """Say whether a body can have the size that is told.

    A text may be kept in one or two bytes a character, and have lost the CRs of its lines; a picture is as large as it
    is. chrome-har counts a body twice, as it is and as it stands in the HAR. Firefox and mitmproxy write the encoded
    size where the decoded one should be.
    """
    size, got = claims.size, len(body)
    if size <= 0 or size in (got, len(text), got + len(text)):
        return True
    is_text = claims.role is not Role.PICTURE and got < FIREFOX_LIMIT and not claims.is_size_exact
    if got < (LEAST_OF_BODY if is_text else LEAST_OF_LARGE_BODY) * size:
        return False
    is_size_of_encoded = bool(claims.encoding) and (claims.encoded_bytes <= 0 or size <= claims.encoded_bytes)
    if is_size_of_encoded or not claims.is_counted:
        return True
    characters = len(body.decode("utf-8", "replace"))
    return min(got, characters) <= MOST_OF_BODY * size + A_LITTLE


def _as_served(attached: bytes | None, encoded: Callable[[str], bytes]) -> bytes | None:
    """Return the bytes of an attached body as its server sent them: Playwright keeps every text in UTF-8."""
    try:
        return encoded(attached.decode("utf-8")) if attached else attached
    except UnicodeDecodeError:
        return attached


def _is_padded(body: bytes) -> bool:
    """Say whether it has NULs only from where Firefox cuts."""
    return len(body) > FIREFOX_LIMIT and not body[KEPT_OF_BASE64:].strip(b"\0")


def _is_picture(content_type: str) -> bool:
    """Say whether a browser draws the beginning of it: an SVG is a text, which its end makes valid."""
    return content_type.startswith("image/") and "svg" not in content_type
