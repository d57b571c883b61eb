"""Text of exactly a given number of bytes: prose, HTML, CSS and script that a browser reads without complaint.

All of it is ASCII, so that a character is a byte in every charset of 2013.
"""

import random
from itertools import count

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
