"""Text of exactly a given number of bytes: prose, HTML, CSS, script and JSON that a browser reads without complaint.

All of it is ASCII, so that a character is a byte in every charset of 2013.
"""

import itertools
import random
from collections.abc import Callable, Iterator

SUBJECTS = ("The client", "A server", "The kernel", "A router", "The browser", "Each segment", "The cookie",
            "A resolver", "The receiver", "A proxy", "The sender", "Every acknowledgement")
VERBS = ("sends", "waits for", "opens", "answers", "counts", "keeps", "resends", "forgets", "measures", "closes",
         "delays", "accepts")
OBJECTS = ("the first packet", "one more round trip", "a new connection", "the request", "its window", "a small image",
           "the handshake", "the whole document", "a stored cookie", "its queue", "the last byte", "a timer")
ENDINGS = ("before anything else", "without a pause", "when the link is slow", "as long as the page loads",
           "in both directions", "after the timeout", "on every path", "at the far end", "once more", "for each host",
           "in order", "by itself")


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


def filler(room: int, pieces: Iterator[str], comment: Callable[[int], str]) -> str:
    """Return exactly `room` characters: whole `pieces` as long as they fit, then a comment.

    `comment` makes one of the length it is given.
    """
    chosen = []
    for piece in pieces:
        if len(piece) > room:
            break
        chosen.append(piece)
        room -= len(piece)
    return "".join(chosen) + comment(room)


def html_pieces(rng: random.Random) -> Iterator[str]:
    """Paragraphs, headings, lists of links and, for more than half of the bytes, what is not seen, without end."""
    while True:
        kind, number = rng.randrange(10), rng.randrange(1000)
        if kind == 0:
            yield f"<h3>{sentence(rng).strip()}</h3>\n"
        elif kind == 1:
            links = "".join(f'<li><a href="#part-{rng.randrange(1000)}">{rng.choice(OBJECTS)}</a></li>\n'
                            for _ in range(3))
            yield f'<ul class="links">\n{links}</ul>\n'
        elif kind <= 3:
            yield f'<p id="part-{number}">{"".join(sentence(rng) for _ in range(2)).strip()}</p>\n'
        elif kind <= 6:
            yield f'<div class="part" data-part="{number}" data-note="{prose(rng, 200 + rng.randrange(400))}"></div>\n'
        else:
            yield f"<!-- {prose(rng, 200 + rng.randrange(600))} -->\n"


def html_comment(rng: random.Random) -> Callable[[int], str]:
    """A maker of HTML comments of an exact length (line ends when that is too short for one)."""
    return lambda room: "\n" * room if room < 8 else f"<!--{prose(rng, room - 8)}-->\n"


def script_pieces(rng: random.Random) -> Iterator[str]:
    """Function definitions and comments, without end. Nothing calls the functions: they cost their parsing."""
    def function(number: int) -> str:
        factor, limit = rng.randrange(2, 99), rng.randrange(2, 30)
        return (f"function part{number}(a, b) {{\n  var sum = a * {factor} + (b || {limit});\n"
                f"  for (var i = 0; i < {limit}; i++) {{\n    sum = (sum * {factor} + i) % 9973;\n  }}\n"
                f"  return {{name: \"{rng.choice(OBJECTS)}\", sum: sum}};\n}}\n")

    return _with_comments(rng, 9, function)


def style_pieces(rng: random.Random) -> Iterator[str]:
    """Rules for classes and comments, without end. No element has the classes: they cost their parsing."""
    def rule(number: int) -> str:
        colour, size, gap = rng.randrange(0x1000000), rng.randrange(9, 30), rng.randrange(20)
        return (f".part-{number} .item-{rng.randrange(100)} {{ color: #{colour:06x}; font-size: {size}px; "
                f"margin: 0 {gap}px; padding: {gap}px; }}\n")

    return _with_comments(rng, 11, rule)


def _with_comments(rng: random.Random, every: int, piece: Callable[[int], str]) -> Iterator[str]:
    """Yield the pieces 1, 2, 3, ... with a comment in the place of each one whose number `every` divides."""
    for number in itertools.count(1):
        yield piece(number) if number % every else f"/* {sentence(rng)}*/\n"


def code_comment(rng: random.Random) -> Callable[[int], str]:
    """A maker of script and style comments of an exact length (line ends when that is too short for one)."""
    return lambda room: "\n" * room if room < 5 else f"/*{prose(rng, room - 5)}*/\n"


def json_text(rng: random.Random, size: int) -> str:
    """Return a JSON object of `size` bytes (prose cut to `size`, where that is too small for one)."""
    start, end = '{"synthetic":true,"parts":[', '"]}'
    room = size - len(start) - len(end) - 1
    if room < 0:
        return prose(rng, size)
    pieces = (f'{{"id":{number},"text":"{sentence(rng).strip()}"}},\n' for number in itertools.count(1))
    return start + filler(room, pieces, lambda rest: '"' + prose(rng, rest)) + end
