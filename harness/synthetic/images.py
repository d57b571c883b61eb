"""Images of exactly a given number of bytes.

An image is drawn as large as the bytes allow. What is left of them are zeros behind its end, where decoders stop.
"""

import io
import random

from PIL import Image, ImageDraw

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
        if len(encoded) <= size and (len(encoded) > 0.8 * size or area <= 1 or size < 1000):
            return encoded.ljust(size, b"\0")
        area *= min(2.0, max(0.2, 0.93 * size / len(encoded)))
    smallest = next((image for image in map(_smallest, (mime, "image/gif")) if len(image) <= size), None)
    if smallest is None:
        raise ValueError(f"no {mime} of {size} bytes can be made")
    return smallest.ljust(size, b"\0")


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
