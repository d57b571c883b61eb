"""Images of exactly a given number of bytes.

An image is drawn as large as the bytes allow. What is left of them are zeros behind its end, where decoders stop.
"""

import io
import random

from PIL import Image, ImageDraw

SMALLEST_GIF = (b"GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00"
                b"\x2c\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02\x44\x01\x00\x3b")
"""The smallest GIF with a palette: one white pixel, 35 bytes."""
AREA_PER_BYTE = {"image/png": 0.6, "image/jpeg": 6.0, "image/gif": 1.6}
"""Pixels an encoded byte holds, about, in the pictures drawn here: where the search for the right area begins."""
SHRINK = 0.8
"""What is left of a picture's area in each step of that search."""


def make_image(mime: str, size: int, rng: random.Random) -> bytes:
    """Return a PNG, JPEG or GIF of exactly `size` bytes; a GIF for any other type, as Chrome goes by what it finds.

    What is too small for its type is a GIF, too: sites send pixels of 43 bytes as "image/png". Raises ValueError for
    less than the smallest GIF's bytes.
    """
    if size < len(SMALLEST_GIF):
        raise ValueError(f"no image of {size} bytes can be made")
    mime = mime if mime in AREA_PER_BYTE else "image/gif"
    area = size * AREA_PER_BYTE[mime]
    while len(encoded := _drawn(mime, area, rng)) > size and area > 1:
        area *= SHRINK
    return (encoded if len(encoded) <= size else SMALLEST_GIF).ljust(size, b"\0")


def _drawn(mime: str, area: float, rng: random.Random) -> bytes:
    """Return a picture of soft colours, 4:3, with the word "synthetic" where there is room for it."""
    width, height = max(1, round((area * 4 / 3) ** 0.5)), max(1, round((area * 3 / 4) ** 0.5))
    blobs = (max(1, width // 6), max(1, height // 6))
    colours = Image.frombytes("RGB", blobs, rng.randbytes(3 * blobs[0] * blobs[1]))
    picture = colours.resize((width, height), Image.Resampling.BICUBIC)
    if width > 70:
        draw = ImageDraw.Draw(picture)
        draw.rectangle((4, 4, 62, 20), fill="white")
        draw.text((8, 6), "synthetic", fill="black")
    if mime == "image/gif":
        picture = picture.quantize(32, dither=Image.Dither.NONE)
    stream = io.BytesIO()
    picture.save(stream, mime.partition("/")[2], **({"quality": 80} if mime == "image/jpeg" else {}))
    return stream.getvalue()
