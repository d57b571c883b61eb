"""Content codings: bodies between the form in which they cross the network and the one that browsers see.

Source: RFC 9110, section 8.4; RFC 7932 (br), RFC 8878 (zstd).
"""

import gzip
import io
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import brotli  # type: ignore[import-untyped]
import zstandard

LARGEST_BODY = 2**29
"""Bytes of one answer, on the wire and decoded."""
BEGINNINGS = {"gzip": b"\x1f\x8b\x08", "x-gzip": b"\x1f\x8b\x08", "zstd": b"\x28\xb5\x2f\xfd"}
"""What every body begins with that is encoded so (RFC 1952, section 2.3.1; RFC 8878, section 3.1.1)."""
ZSTD_PIECE = 1024
"""Bytes that are decoded at a time: they become 32 MB at most, and nothing else bounds it."""


def decode(body: bytes, encoding: str) -> tuple[bytes, bool]:
    """Return `body` without the Content-Encoding that it is said to have, and whether it had it (or there is none).

    What would become larger than LARGEST_BODY is left as it is: it was made to fill somebody's memory.
    """
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return body, True
    if name not in CODINGS or not body:
        return body, False
    try:
        decoded = CODINGS[name].decode(body)
    except (OSError, EOFError, ValueError, zlib.error, brotli.error, zstandard.ZstdError):
        return body, False
    return (decoded, True) if len(decoded) <= LARGEST_BODY else (body, False)


def begins_as(body: bytes, encoding: str) -> bool:
    """Say whether `body` begins as one that is encoded so; False also for an encoding that has no mark of its own."""
    beginning = BEGINNINGS.get(encoding.strip().lower())
    return beginning is not None and body.startswith(beginning)


def encode(body: bytes, encoding: str, wanted_bytes: int) -> tuple[bytes, str]:
    """Compress `body` again as `encoding` names it, at the level whose size is nearest to `wanted_bytes` (-1: unknown).

    Return it and the encoding it has, "" where nobody knows how.
    """
    coding = CODINGS.get(encoding.strip().lower())
    if coding is None or not body:
        return body, ""
    if wanted_bytes <= 0:
        return coding.encode(body, coding.levels[1]), encoding
    made = [coding.encode(body, level) for level in coding.levels]
    return min(made, key=lambda candidate: abs(len(candidate) - wanted_bytes)), encoding


@dataclass(frozen=True)
class _Coding:
    """One way to encode; `levels` are a fast, a usual and a thorough one.

    `decode` returns one byte more than LARGEST_BODY at most.
    """

    decode: Callable[[bytes], bytes]
    encode: Callable[[bytes, int], bytes]
    levels: tuple[int, int, int]


def _unzip(body: bytes) -> bytes:
    return gzip.GzipFile(fileobj=io.BytesIO(body)).read(LARGEST_BODY + 1)


def _inflate(body: bytes) -> bytes:
    """Undo "deflate": zlib's format, or the bare one that some servers send."""
    try:
        return _inflate_as(body, zlib.MAX_WBITS)
    except zlib.error:
        return _inflate_as(body, -zlib.MAX_WBITS)


def _inflate_as(body: bytes, window_bits: int) -> bytes:
    stream = zlib.decompressobj(window_bits)
    decoded = stream.decompress(body, LARGEST_BODY + 1)
    if not stream.eof and len(decoded) <= LARGEST_BODY:
        raise zlib.error("cut off")
    return decoded


def _unbrotli(body: bytes) -> bytes:
    stream = brotli.Decompressor()
    decoded: bytes = stream.process(body, output_buffer_limit=LARGEST_BODY + 1)
    if not stream.is_finished() and len(decoded) <= LARGEST_BODY:
        raise brotli.error("cut off")
    return decoded[:LARGEST_BODY + 1]


def _unzstd(body: bytes) -> bytes:
    """Undo "zstd": one frame after the other."""
    decoded, at = bytearray(), 0
    while at < len(body):
        frame = zstandard.ZstdDecompressor().decompressobj()
        while not frame.eof:
            if at >= len(body):
                raise zstandard.ZstdError("cut off")
            decoded += frame.decompress(body[at:at + ZSTD_PIECE])
            at += ZSTD_PIECE
            if len(decoded) > LARGEST_BODY:
                return bytes(decoded[:LARGEST_BODY + 1])
        at = min(at, len(body)) - len(frame.unused_data)
    return bytes(decoded)


GZIP = _Coding(_unzip, lambda body, level: gzip.compress(body, level, mtime=0), (1, 6, 9))
CODINGS = {
    "gzip": GZIP, "x-gzip": GZIP, "deflate": _Coding(_inflate, zlib.compress, (1, 6, 9)),
    "br": _Coding(_unbrotli, lambda body, level: brotli.compress(body, quality=level), (4, 7, 11)),
    "zstd": _Coding(_unzstd, lambda body, level: zstandard.ZstdCompressor(level).compress(body), (3, 9, 19))}
