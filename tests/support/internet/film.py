"""A real video whose index stands at its end, as cameras and most programs write it: a browser has to ask for parts.

Pillow's encoder (libavif) writes moving pictures as AVIF: AV1 in the boxes of ISO 14496-12, with the index (`moov`)
before the pictures (`mdat`). With the boxes in the other order and the names of a film, it is an MP4.
"""

import functools
import io
import random
import struct
from collections.abc import Iterator

from PIL import Image

SIZE = (320, 240)
"""Pixels: width and height."""
FRAMES = 24
"""About 78 kB each: noise cannot be compressed. More than Chrome reads before it looks for the index elsewhere."""
FRAME_MS = 40
FILE_TYPE = struct.pack(">I4s4sI4s4s4s", 28, b"ftyp", b"isom", 512, b"isom", b"av01", b"mp41")


@functools.cache
def film() -> bytes:
    """Return an MP4 of FRAMES pictures (AV1), its index last; the same bytes each time."""
    pixels = SIZE[0] * SIZE[1] * 3
    frames = [Image.frombytes("RGB", SIZE, random.Random(300 + number).randbytes(pixels)) for number in range(FRAMES)]
    written = io.BytesIO()
    frames[0].save(written, "avif", save_all=True, append_images=frames[1:], quality=95, speed=10, max_threads=1,
                   duration=FRAME_MS)
    return _index_last(written.getvalue())


def _index_last(avif: bytes) -> bytes:
    """Return the moving pictures of an AVIF file as an MP4 with its index behind them."""
    boxes = {kind: (start, end) for kind, start, end in _boxes(avif)}
    index, pictures = (avif[slice(*boxes[kind])] for kind in (b"moov", b"mdat"))
    moved_by = len(FILE_TYPE) - boxes[b"mdat"][0]
    return FILE_TYPE + pictures + _of_a_film(_moved(index, moved_by))


def _boxes(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Yield the outermost boxes: kind, start, end."""
    start = 0
    while start < len(data):
        length, kind = struct.unpack_from(">I4s", data, start)
        yield kind, start, start + length
        start += length


def _moved(index: bytes, by: int) -> bytes:
    """Return the index with the places of its chunks (the box `stco`) moved by so many bytes."""
    changed = bytearray(index)
    start = index.index(b"stco") + 8        # kind, version and flags
    count = struct.unpack_from(">I", index, start)[0]
    for place in range(start + 4, start + 4 + 4 * count, 4):
        struct.pack_into(">I", changed, place, struct.unpack_from(">I", index, place)[0] + by)
    return bytes(changed)


def _of_a_film(index: bytes) -> bytes:
    """Return the index with its track called a video instead of pictures."""
    return index.replace(b"pict", b"vide")
