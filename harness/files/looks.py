"""What a body is by its looks: whether it can be what its Content-Type and its URL call it.

Source: WHATWG MIME Sniffing standard, section 3 (binary data bytes) and section 6 (beginnings of pictures and fonts).
"""

from codecs import getincrementaldecoder
from enum import Enum
from posixpath import splitext
from urllib.parse import urlsplit

from harness.files.headers import Headers, header_in


class Role(Enum):
    """What a body is called: its kind decides what cannot be in it."""

    TEXT = "a document, script or style sheet"
    PICTURE = "a picture"
    ANY = "anything"


TEXT_TYPES = ("text/html", "text/css", "application/xhtml+xml", "image/svg+xml", "text/javascript",
              "application/javascript", "application/x-javascript", "application/ecmascript", "text/ecmascript")
TEXT_ENDINGS = (".html", ".htm", ".js", ".mjs", ".css", ".svg")
OTHER_ENDINGS = (".png", ".gif", ".jpg", ".jpeg", ".webp", ".avif", ".ico", ".bmp", ".woff", ".woff2", ".ttf", ".otf",
                  ".eot")
UNKNOWN_TYPES = ("", "text/plain", "application/octet-stream", "binary/octet-stream", "x-unknown")
BINARY_DATA = bytes({*range(0x20)} - set(b"\t\n\x0c\r\x1b"))
"""Control characters that no text has."""
BYTE_ORDER_MARKS = (b"\xff\xfe", b"\xfe\xff")
"""Of UTF-16 and UTF-32, whose texts have NULs."""
MAGIC = (b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"\x89PNG\r\n\x1a\n", b"GIF87a", b"GIF89a",
         b"\xff\xd8\xff", b"\x00\x00\x01\x00", b"wOFF", b"wOF2", b"OTTO", b"\x00\x01\x00\x00", b"\x00asm", b"RIFF")
"""First bytes of gzip, zstd, zip, PNG, GIF, JPEG, icons, fonts, WebAssembly, and WebP."""
ARCHIVES = MAGIC[:3]
UTF_8 = getincrementaldecoder("utf-8")
LOOKED_AT = 4096
"""Bytes of the beginning that are looked at."""
MOST_CONTROLS = 0.02
"""Share of control characters in a text, in which a script may have some; of compressed bytes they are a tenth."""
REPLACED = "\ufffd".encode()
"""What a browser that takes an answer for text puts in the place of each byte that is none (U+FFFD)."""
MOST_REPLACED = 0.01
"""Share of such characters in a text with a few wrong bytes, which loads as it did. Chrome exports so a font that its
server calls text."""


def role_of(headers: Headers, url: str, mime_type: str = "") -> Role:
    """Return what an answer is called; ANY where type and URL contradict each other, or say nothing."""
    content_type = (header_in(headers, "content-type") or mime_type).lower()
    named = content_type.partition(";")[0].strip()
    ending = splitext(urlsplit(url).path.lower())[1]
    of_url = Role.TEXT if ending in TEXT_ENDINGS else Role.PICTURE if ending in OTHER_ENDINGS else Role.ANY
    if "charset=utf-16" in content_type or "charset=utf-32" in content_type:
        return Role.ANY
    if named in UNKNOWN_TYPES:
        return of_url if of_url is Role.TEXT else Role.ANY
    of_type = (Role.TEXT if named in TEXT_TYPES else
               Role.PICTURE if named.startswith("image/")
               else Role.ANY)
    return of_type if of_url in (of_type, Role.ANY) else Role.ANY


def can_be(role: Role, body: bytes) -> bool:
    """Say whether a body, decoded and whole or a beginning, can be what it is called. Nothing looks like all."""
    begin = body[:LOOKED_AT]
    if not body or begin.startswith(BYTE_ORDER_MARKS):
        return True
    if role is Role.TEXT:
        return not (begin.startswith(MAGIC) or _controls(begin) > MOST_CONTROLS * len(begin))
    if role is Role.PICTURE and (begin.startswith(ARCHIVES) or _is_text(begin)):
        return False
    return b"\0" not in body or len(REPLACED) * body.count(REPLACED) <= MOST_REPLACED * len(body)


def _controls(begin: bytes) -> int:
    return len(begin) - len(begin.translate(None, BINARY_DATA))


def _is_text(begin: bytes) -> bool:
    """Say whether these bytes are a text, and no XML: an SVG may be called any picture."""
    if _controls(begin) or begin.lstrip()[:4].lower() in (b"<svg", b"<?xm"):
        return False
    try:
        UTF_8().decode(begin)       # its last character may be cut
    except UnicodeDecodeError:
        return False
    return True
