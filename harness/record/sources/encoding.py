"""Bodies between the form in which archives keep them and the one in which they crossed the network."""

import gzip
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import brotli  # type: ignore[import-untyped]
import zstandard

Pairs = tuple[tuple[str, str], ...]


def without_chunks(body: bytes) -> bytes:
    """Return a body without the framing of Transfer-Encoding: chunked (RFC 9112, section 7.1); as it is if it has none.

    Some archives say "chunked" of bodies whose chunks were joined already.
    """
    joined = bytearray()
    at = 0
    while True:
        end = body.find(b"\r\n", at)
        try:
            size = int(body[at:end].partition(b";")[0], 16) if end > at else -1
        except ValueError:
            return body
        if size < 0 or len(body) < end + 2 + size:
            return body
        if size == 0:
            return bytes(joined)
        joined += body[end + 2:end + 2 + size]
        at = end + 2 + size + 2


def honest_encoding(headers: Pairs, body: bytes) -> Pairs:
    """Return `headers` without a Content-Encoding that `body` does not have: archives that decode often keep it."""
    encoding = next((value for name, value in headers if name.lower() == "content-encoding"), "")
    if not encoding or decode(body, encoding)[1]:
        return headers
    return tuple((name, value) for name, value in headers if name.lower() != "content-encoding")


def decode(body: bytes, encoding: str) -> tuple[bytes, bool]:
    """Return `body` without the Content-Encoding that it is said to have, and whether it had it (or there is none)."""
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return body, True
    if name not in CODINGS or not body:
        return body, False
    try:
        return CODINGS[name].decode(body), True
    except (OSError, EOFError, ValueError, zlib.error, brotli.error, zstandard.ZstdError):
        return body, False


def encode(body: bytes, encoding: str, wanted_bytes: int) -> tuple[bytes, str]:
    """Compress `body` again as `encoding` names it, at the level whose size is nearest to `wanted_bytes` (-1: unknown).

    Return it and the encoding it has, "" where nobody knows how.
    """
    coding = CODINGS.get(encoding.strip().lower())
    if coding is None or not body:
        return body, ""
    made = [coding.encode(body, level) for level in coding.levels]
    if wanted_bytes <= 0:
        return made[1], encoding
    return min(made, key=lambda candidate: abs(len(candidate) - wanted_bytes)), encoding


@dataclass(frozen=True)
class _Coding:
    """One way to encode; `levels` are a fast, a usual and a thorough one."""

    decode: Callable[[bytes], bytes]
    encode: Callable[[bytes, int], bytes]
    levels: tuple[int, int, int]


def _inflate(body: bytes) -> bytes:
    """Undo "deflate": zlib's format, or the bare one that some servers send."""
    try:
        return zlib.decompress(body)
    except zlib.error:
        return zlib.decompress(body, -zlib.MAX_WBITS)


GZIP = _Coding(gzip.decompress, lambda body, level: gzip.compress(body, level, mtime=0), (1, 6, 9))
CODINGS = {
    "gzip": GZIP, "x-gzip": GZIP, "deflate": _Coding(_inflate, zlib.compress, (1, 6, 9)),
    "br": _Coding(brotli.decompress, lambda body, level: brotli.compress(body, quality=level), (4, 7, 11)),
    "zstd": _Coding(lambda body: zstandard.ZstdDecompressor().decompressobj().decompress(body),
                    lambda body, level: zstandard.ZstdCompressor(level).compress(body), (3, 9, 19))}
