"""Text and images of exactly a given number of bytes, which a browser reads without complaint.

All text is ASCII, so that a character is a byte in every charset of 2013. An image is drawn as large as the bytes
allow. What is left of them are zeros behind its end, where decoders stop.
"""

import io
import random
from itertools import count

from PIL import Image, ImageDraw

SUBJECTS = ("The client", "A server", "The kernel", "A router", "The browser", "Each segment", "The cookie",
            "A resolver", "The receiver", "A proxy", "The sender", "Every acknowledgement")
VERBS = ("sends", "waits for", "opens", "answers", "counts", "keeps", "resends", "forgets", "measures", "closes",
         "delays", "accepts")
OBJECTS = ("the first packet", "one more round trip", "a new connection", "the request", "its window", "a small image",
           "the handshake", "the whole document", "a stored cookie", "its queue", "the last byte", "a timer")
ENDINGS = ("before anything else", "without a pause", "when the link is slow", "as long as the page loads",
           "in both directions", "after the timeout", "on every path", "at the far end", "once more", "for each host",
           "in order", "by itself")
PIECES = {
    "html": ('<p id="part-{number}">{prose}</p>\n', '<ul class="links">\n<li><a href="#part-{other}">{prose}</a></li>\n'
             '</ul>\n', '<div class="part" data-part="{number}" data-note="{prose}"></div>\n', "<!-- {prose} -->\n"),
    "script": (*("function part{number}(a, b) {{\n  var sum = a * {other} + (b || 7);\n  for (var i = 0; i < 9; i++) {{"
                 '\n    sum = (sum * {other} + i) % 9973;\n  }}\n  return {{name: "part", sum: sum}};\n}}\n',) * 8,
               "/* {prose} */\n"),
    "style": (*(".part-{number} .item-{other} {{ color: #{number:06x}; margin: 0 {other}px; padding: 1px; }}\n",) * 10,
              "/* {prose} */\n")}
"""What texts of a kind are filled with, in turn. Nothing calls the functions, and no element has the classes: they cost
their parsing, as the real ones did."""
COMMENTS = {"html": ("<!--", "-->\n"), "script": ("/*", "*/\n"), "style": ("/*", "*/\n")}
PROSE_CHARS = 200
"""Of a piece."""
SMALLEST_GIF = (b"GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00"
                b"\x2c\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02\x44\x01\x00\x3b")
"""The smallest GIF with a palette: one white pixel, 35 bytes."""
AREA_PER_BYTE = {"image/png": 0.6, "image/jpeg": 6.0, "image/gif": 1.6}
"""Pixels an encoded byte holds, about, in the pictures drawn here: where the search for the right area begins."""
SHRINK = 0.8
"""What is left of a picture's area in each step of that search."""


def sentence(rng: random.Random) -> str:
    """Return one sentence of prose."""
    return f"{rng.choice(SUBJECTS)} {rng.choice(VERBS)} {rng.choice(OBJECTS)} {rng.choice(ENDINGS)}. "


def prose(rng: random.Random, length: int) -> str:
    """Return `length` characters of prose on one line, cut where they end."""
    sentences, made = [], 0
    while made < length:
        sentences.append(sentence(rng))
        made += len(sentences[-1])
    return "".join(sentences)[:length]      # += would copy all of a long text again and again


def filler(rng: random.Random, kind: str, room: int) -> str:
    """Return exactly `room` characters of a kind of PIECES: whole pieces as long as they fit, then a comment."""
    pieces = []
    for number in count(1):
        template = PIECES[kind][number % len(PIECES[kind])]
        words = prose(rng, PROSE_CHARS) if "{prose}" in template else ""
        piece = template.format(number=number, other=rng.randrange(2, 99), prose=words)
        if len(piece) > room:
            break
        pieces.append(piece)
        room -= len(piece)
    return "".join(pieces) + comment(rng, kind, room)


def comment(rng: random.Random, kind: str, room: int) -> str:
    """Return a comment of `room` characters (line ends when that is too short for one)."""
    start, end = COMMENTS[kind]
    inside = room - len(start) - len(end)
    return "\n" * room if inside < 0 else f"{start}{prose(rng, inside)}{end}"


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
