"""The Content-Type of a replayed body: as recorded, else by what the body begins with, else by the file's extension."""

import mimetypes
import re
from posixpath import splitext

MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"), (b"GIF87a", "image/gif"), (b"GIF89a", "image/gif"),
    (b"\xff\xd8\xff", "image/jpeg"), (b"\x00\x00\x01\x00", "image/x-icon"), (b"BM", "image/bmp"),
    (b"wOFF", "font/woff"), (b"wOF2", "font/woff2"),
    (b"%PDF-", "application/pdf"), (b"FWS", "application/x-shockwave-flash"), (b"CWS", "application/x-shockwave-flash"),
    (b"<?xml", "text/xml"))
"""First bytes and their type: WHATWG MIME Sniffing standard, sections 6 and 7, and Flash for the pages of 2013."""
HTML = re.compile(rb"\s*(?:<!--.*?-->\s*)?"
                  rb"<(?:!doctype\s+html|html|head|body|script|iframe|title|table|div|h1|p|a)[\s>]",
                  re.IGNORECASE | re.DOTALL)
SNIFFED = 512
"""Bytes of the body that are looked at."""
MIME_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+", re.ASCII)
CHARSET = re.compile(r"[\w.:+-]+", re.ASCII)
UNKNOWN = "application/octet-stream"
_extensions = mimetypes.MimeTypes(filenames=())    # the same on every machine: /etc/mime.types is not read


def content_type(told: str, name: str, begin: bytes) -> str:
    """Return the Content-Type value of a body that begins with `begin` and stands in the file `name`.

    `told` is the recorded type, and a charset behind it: either may be missing, or nonsense.
    """
    mime, _, charset = map(str.strip, told.partition("; charset="))
    if not MIME_TYPE.fullmatch(mime):
        mime = _sniff(begin[:SNIFFED]) or _by_extension(name) or UNKNOWN
    if CHARSET.fullmatch(charset) and charset not in ("nil", "none", "None"):
        return f"{mime}; charset={charset}"
    return mime


def _sniff(begin: bytes) -> str | None:
    if begin.startswith(b"RIFF") and begin[8:12] == b"WEBP":
        return "image/webp"
    for magic, mime in MAGIC:
        if begin.startswith(magic):
            return mime
    return "text/html" if HTML.match(begin) else None


def _by_extension(name: str) -> str | None:
    path = name.partition("?")[0].partition("#")[0]
    return _extensions.types_map[True].get(splitext(path)[1].lower())
