"""Images of exactly a given number of bytes.

An image is drawn as large as the bytes allow and filled up with what its format has for remarks: a private ancillary
chunk in PNG, COM segments in JPEG, comment extensions in GIF.
"""

import io
import random
import struct
import zlib
from collections.abc import Iterator

from PIL import Image, ImageDraw

from harness.synthetic import text

GIF_START = b"GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00"
GIF_END = b"\x2c\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02\x44\x01\x00\x3b"
"""Together the smallest GIF with a palette: one white pixel, 35 bytes."""
TRIES = 12
"""Pictures that are drawn in the search for one of the right size."""
AREA_PER_BYTE = {"image/png": 0.6, "image/jpeg": 6.0, "image/gif": 1.6}
"""Pixels an encoded byte holds, about, in the pictures drawn here: where the search for the right area begins."""


def make_image(mime: str, size: int, rng: random.Random) -> bytes:
    """Return a PNG, JPEG or GIF of exactly `size` bytes; a GIF for any other type, as Chrome goes by what it finds.

    What is too small for its type is a GIF, too: sites send pixels of 43 bytes as "image/png". Raises ValueError for
    less than the smallest GIF's 35 bytes.
    """
    mime = mime if mime in AREA_PER_BYTE else "image/gif"
    area = size * AREA_PER_BYTE[mime]
    for _ in range(TRIES):
        encoded = _encode(_draw(max(1, area), rng), mime)
        padded = _pad(encoded, mime, size, rng)
        if padded is not None and (len(encoded) > 0.8 * size or area <= 1 or size < 1000):
            return padded
        area *= min(2.0, max(0.2, 0.93 * size / len(encoded)))
    smallest = _smallest(mime)
    if len(smallest) > size:
        smallest = _smallest("image/gif")
    if len(smallest) > size:
        raise ValueError(f"no {mime} of {size} bytes can be made")
    return smallest.ljust(size, b"\0")      # where no remark is so short: decoders stop at the image's end


def _draw(area: float, rng: random.Random) -> Image.Image:
    """A picture of soft colours, 4:3, with the word "synthetic" where there is room for it."""
    width, height = max(1, round((area * 4 / 3) ** 0.5)), max(1, round((area * 3 / 4) ** 0.5))
    blobs = (max(1, width // 6), max(1, height // 6))
    colours = Image.frombytes("RGB", blobs, rng.randbytes(3 * blobs[0] * blobs[1]))
    picture = colours.resize((width, height), Image.Resampling.BICUBIC)
    if width > 70:
        draw = ImageDraw.Draw(picture)
        draw.rectangle((4, 4, 62, 20), fill="white")
        draw.text((8, 6), "synthetic", fill="black")
    return picture


def _encode(picture: Image.Image, mime: str) -> bytes:
    stream = io.BytesIO()
    if mime == "image/png":
        picture.save(stream, "PNG")
    elif mime == "image/jpeg":
        picture.save(stream, "JPEG", quality=80, optimize=True)
    else:
        picture.quantize(32, dither=Image.Dither.NONE).save(stream, "GIF")
    return stream.getvalue()


def _smallest(mime: str) -> bytes:
    return GIF_START + GIF_END if mime == "image/gif" else _encode(Image.new("L", (1, 1), 200), mime)


def _pad(encoded: bytes, mime: str, size: int, rng: random.Random) -> bytes | None:
    """Fill `encoded` up to `size` bytes, or return None when no remark has the missing length."""
    missing = size - len(encoded)
    if missing == 0:
        return encoded
    remark = {"image/png": _png_remark, "image/jpeg": _jpeg_remark, "image/gif": _gif_remark}[mime](missing, rng)
    if remark is None:
        return None
    # behind a PNG's IHDR, a JPEG's SOI, before a GIF's trailer
    offset = {"image/png": 33, "image/jpeg": 2}.get(mime, len(encoded) - 1)
    return encoded[:offset] + remark + encoded[offset:]


def _remark_text(rng: random.Random, length: int) -> bytes:
    return text.prose(rng, length).encode("ascii")


def _png_remark(missing: int, rng: random.Random) -> bytes | None:
    """A chunk "syNt": ancillary, private, safe to copy (PNG specification, section 5.4); 12 bytes around its data."""
    if missing < 12:
        return None
    chunk = b"syNt" + _remark_text(rng, missing - 12)
    return struct.pack(">I", missing - 12) + chunk + struct.pack(">I", zlib.crc32(chunk))


def _jpeg_remark(missing: int, rng: random.Random) -> bytes | None:
    """COM segments (ITU-T T.81, B.2.4.5): marker, and a length of at most 65535 that counts its own two bytes."""
    if missing < 4:
        return None
    return b"".join(b"\xff\xfe" + struct.pack(">H", length - 2) + _remark_text(rng, length - 4)
                    for length in _parts(missing, most=65_000, least=4))


def _gif_remark(missing: int, rng: random.Random) -> bytes | None:
    """Comment extensions (GIF89a, section 24), each of one block: 3 bytes around its length and its 1 to 255 bytes."""
    if missing == 3:
        return b"\x21\xfe\x00"
    if missing < 5:
        return None
    return b"".join(b"\x21\xfe" + bytes([length - 4]) + _remark_text(rng, length - 4) + b"\x00"
                    for length in _parts(missing, most=3 + 256, least=5))


def _parts(total: int, *, most: int, least: int) -> Iterator[int]:
    """Give `total` in parts of at most `most`, none of which is shorter than `least`."""
    while total > 0:
        part = min(total, most)
        if 0 < total - part < least:
            part = total - least
        yield part
        total -= part
