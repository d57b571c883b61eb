"""Codings of bodies: between the form in which they cross the network and the one that browsers see; and charsets.

Sources: RFC 9110, section 8.4; RFC 7932 (br), RFC 8878 (zstd). HARs have texts decoded: to cross the network, they
become bytes in their charset, which browsers decode once more.
"""

import codecs
import gzip
import io
import re
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import brotli  # type: ignore[import-untyped]
import zstandard

LARGEST_BODY = 2**29
"""Bytes of one answer, on the wire and decoded."""
BEGINNINGS = {"gzip": b"\x1f\x8b\x08", "x-gzip": b"\x1f\x8b\x08", "zstd": b"\x28\xb5\x2f\xfd"}
"""What every body begins with that is encoded so (RFC 1952, section 2.3.1; RFC 8878, section 3.1.1)."""
MOST_CODINGS = 5
"""Of a body, one in the other. Seen are two; a hundred are made to keep somebody busy."""
SUBSTITUTES = ("br", "gzip")
"""Codings that stand for one that nobody can make again."""
NOT_MADE = frozenset(("dcb", "dcz", "sdch", "compress", "x-compress", "lzma", "xz", "bzip2"))
"""Codings that are seen, and that nobody can make again here: some need a dictionary that no recording has."""
FAST, USUAL, THOROUGH = range(3)
"""Places in a coding's `levels`."""
SLOW_BYTES = 2**20
"""A larger body is not compressed at the most thorough level: br's takes 2 s a MB."""
ZSTD_PIECE = 1024
"""Bytes that are decoded at a time: they become 32 MB at most, and nothing else bounds it."""


def codings(encoding: str) -> list[str]:
    """Return the codings that a Content-Encoding lists, in the order in which they were applied: "GZip, , br" gives
    ["gzip", "br"]. "identity" is none.
    """
    names = (item.strip().lower() for item in encoding.split(","))
    return [name for name in names if name not in ("", "identity")]


def decode(body: bytes, encoding: str) -> tuple[bytes, bool]:
    """Return `body` without the Content-Encoding that it is said to have, and whether it had it (or there is none).

    What would become larger than LARGEST_BODY is left as it is: it was made to fill somebody's memory.
    """
    names = codings(encoding)
    decoded, undone = undo(body, names)
    return (decoded, True) if undone == len(names) else (body, False)


def undo(body: bytes, names: Sequence[str]) -> tuple[bytes, int]:
    """Undo as many of these codings as `body` has, the last applied first. Return what is left, and how many."""
    undone = 0
    for name in reversed(names[-MOST_CODINGS:]):
        if name not in CODINGS or not body:
            break
        try:
            decoded = CODINGS[name].decode(body)
        except (OSError, EOFError, ValueError, zlib.error, brotli.error, zstandard.ZstdError):
            break
        if len(decoded) > LARGEST_BODY:
            break
        body, undone = decoded, undone + 1
    return body, undone


def begins_as(body: bytes, coding: str) -> bool:
    """Say whether `body` begins as one in this coding; False also for one that has no mark of its own."""
    beginning = BEGINNINGS.get(coding)
    return beginning is not None and body.startswith(beginning)


def can_be_made(encoding: str) -> bool:
    """Say whether we know how to encode so. Nobody can without the dictionary of dcb, dcz (RFC 9842) and sdch."""
    names = codings(encoding)
    return len(names) <= MOST_CODINGS and all(name in CODINGS for name in names)


def encode(body: bytes, encoding: str, wanted_bytes: int) -> tuple[bytes, str]:
    """Compress `body` again as `encoding` names it, at the level whose size is nearest to `wanted_bytes` (-1: unknown).

    Return it and the encoding it has: where nobody can make the named one, the one of SUBSTITUTES whose size is
    nearest; "" where none is named. Servers call plain bodies "utf-8" or "none", too: these have all of their bytes.
    """
    names = codings(encoding)
    if not can_be_made(encoding) and NOT_MADE.isdisjoint(names) and not 0 < wanted_bytes < len(body):
        names = [name for name in names if name in CODINGS][:MOST_CODINGS]
    if not names or not body:
        return body, ""
    if all(name in CODINGS for name in names):
        return _nearest(body, names, wanted_bytes), ", ".join(names)
    made = [(_nearest(body, [name], wanted_bytes), name) for name in SUBSTITUTES]
    return min(made, key=lambda candidate: abs(len(candidate[0]) - max(0, wanted_bytes)))


def _nearest(body: bytes, names: Sequence[str], wanted_bytes: int) -> bytes:
    """Encode at the usual level and, where a size is wanted, at the one beside it that can come nearer."""
    usual = _encoded(body, names, USUAL)
    if wanted_bytes <= 0:
        return usual
    other = _encoded(body, names, THOROUGH if len(usual) > wanted_bytes else FAST)
    return min(usual, other, key=lambda candidate: abs(len(candidate) - wanted_bytes))


def _encoded(body: bytes, names: Sequence[str], level: int) -> bytes:
    for name in names:
        coding = CODINGS[name]
        in_time = level if len(body) <= SLOW_BYTES else min(level, USUAL)
        body = coding.encode(body, coding.levels[in_time])
    return body


@dataclass(frozen=True)
class _Coding:
    """One way to encode; `levels` are a fast, a usual and a thorough one.

    `decode` raises an error for what is cut off. It stops when it has more than LARGEST_BODY bytes.
    """

    decode: Callable[[bytes], bytes]
    encode: Callable[[bytes, int], bytes]
    levels: tuple[int, int, int]


def _unzip(body: bytes) -> bytes:
    return gzip.GzipFile(fileobj=io.BytesIO(body)).read(LARGEST_BODY + 1)


def _inflate(body: bytes) -> bytes:
    """Undo "deflate": zlib's format, or the bare one that some servers send."""
    for window_bits in (zlib.MAX_WBITS, -zlib.MAX_WBITS):
        stream = zlib.decompressobj(window_bits)
        with suppress(zlib.error):
            decoded = stream.decompress(body, LARGEST_BODY + 1)
            if stream.eof or len(decoded) > LARGEST_BODY:
                return decoded
    raise EOFError


def _unbrotli(body: bytes) -> bytes:
    stream = brotli.Decompressor()
    decoded: bytes = stream.process(body, output_buffer_limit=LARGEST_BODY + 1)
    if stream.is_finished() or len(decoded) > LARGEST_BODY:
        return decoded
    raise EOFError


def _unzstd(body: bytes) -> bytes:
    """Undo "zstd": one frame after the other."""
    decoded, at = bytearray(), 0
    while at < len(body):
        frame = zstandard.ZstdDecompressor().decompressobj()
        while not frame.eof:
            if at >= len(body):
                raise EOFError
            decoded += frame.decompress(body[at:at + ZSTD_PIECE])
            at += ZSTD_PIECE
            if len(decoded) > LARGEST_BODY:
                return bytes(decoded)
        at = min(at, len(body)) - len(frame.unused_data)
    return bytes(decoded)


GZIP = _Coding(_unzip, lambda body, level: gzip.compress(body, level, mtime=0), (1, 6, 9))
CODINGS = {
    "gzip": GZIP, "x-gzip": GZIP, "deflate": _Coding(_inflate, zlib.compress, (1, 6, 9)),
    "br": _Coding(_unbrotli, lambda body, level: brotli.compress(body, quality=level), (4, 7, 11)),
    "zstd": _Coding(_unzstd, lambda body, level: zstandard.ZstdCompressor(level).compress(body), (3, 9, 19))}

CHARSET = re.compile(r"""charset\s*=\s*["']?([^\s;"'>/]+)""", re.IGNORECASE)
IN_PAGE = re.compile(rf"<meta\s[^>]*?{CHARSET.pattern}", re.IGNORECASE)
HEAD_CHARACTERS = 1024
"""Characters of a page in which its <meta> counts (HTML, section 4.2.5.4)."""
AS_BROWSERS_READ = {"ascii": "cp1252", "iso8859-1": "cp1252", "iso8859-9": "cp1254", "tis-620": "cp874",
                    "gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949",
                    "big5": "big5hkscs", "utf-16": "utf-16-le"}
"""Python's encoding for a charset -> the one that browsers mean by it (https://encoding.spec.whatwg.org/)."""
OF_NO_CHARSET = "windows-1252"
"""What browsers of Western languages read a document in that names no charset (HTML, section 13.2.3.2)."""
KNOWN = re.compile(r"iso8859-\d+|cp125\d|cp866|cp874|cp932|cp949|koi8-[ru]|euc_jp|iso2022_jp|gb18030|big5hkscs|"
                   "utf-16-[lb]e")


def encode_text(text: str, content_type: str, *, size: int = 0, page_charset: str = "") -> bytes:
    """Return `text` in the charset that its Content-Type or, without one there, a page's <meta> names, where it is one
    of the Web's and has all of its characters; else in UTF-8.

    A script or style sheet that names none is read in its page's. It is taken for that if it has `size` bytes in it,
    and has not in UTF-8: what a script asks for itself is read in UTF-8. So is known, too, what began with a byte order
    mark, which browsers leave out of a text.
    """
    named, utf_8 = charset_of(text, content_type), text.encode("utf-8", "surrogatepass")
    in_named = _in_charset(text, named)
    if in_named is not None:
        return in_named
    if len(utf_8) + len(codecs.BOM_UTF8) == size:
        return codecs.BOM_UTF8 + utf_8
    if len(utf_8) != size and not named:
        for charset in filter(None, (page_charset, OF_NO_CHARSET if _is_html(content_type) else "")):
            encoded = _in_charset(text, charset)
            if encoded is not None and len(encoded) == size:
                return encoded
    return utf_8


def charset_of(text: str, content_type: str) -> str:
    """Return the charset that a Content-Type or a page's <meta> names, "" without one."""
    named = CHARSET.search(content_type)
    if named is None and _is_html(content_type):
        named = IN_PAGE.search(text[:HEAD_CHARACTERS])
    return named[1] if named else ""


def _is_html(content_type: str) -> bool:
    return "html" in content_type.lower()


def _in_charset(text: str, charset: str) -> bytes | None:
    """Return `text` in a charset other than UTF-8, None if that is none of the Web's or lacks a character of it."""
    try:
        encoding = codecs.lookup(charset).name
        encoding = AS_BROWSERS_READ.get(encoding, encoding)
        if not KNOWN.fullmatch(encoding):
            return None
        encoded = text.encode(encoding)
        return encoded if encoded.decode(encoding) == text else None
    except (LookupError, ValueError):
        return None
