"""What a URL, or a request's body, has in common with another one: the parts of a replay's score that are about text.

- Volatile values: times, random numbers, session ids and the names of JSONP callbacks differ from load to load,
  although the request is the same. A masked text has ``*`` in their place.
- Forms of one file under several names, of which each browser takes the best that it knows. A page offers a font in
  several formats, and an image in several sizes and formats. Today's Chrome asks for the newest (.woff2, .webp), an
  older browser asked for what it knew. So a recording holds one form, and a load asks for another.
- Targets: the path and query of a URL, the parameters in it, and how much two of them share.
- JSONP: a script that calls the function which its URL names (``?callback=jQuery17_1363``). jQuery and others make a
  new name for each load. A stand-in is the answer to another load's URL, so it would call what is not there, and the
  page would lack what it was to be given: it is sent with the name that is asked for.
"""

import re
from contextlib import suppress
from os.path import commonprefix

from harness.files.encoding import decode, encode
from harness.files.urls import split_url

MASK = "*"
UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
HEX = r"(?<![0-9A-Za-z])(?=[a-fA-F]*[0-9])[0-9a-fA-F]{8,}(?![0-9A-Za-z])"
"""Hexadecimal of 8 digits and more that stands alone and is no word."""
DIGITS = r"(?<![0-9A-Za-z])[0-9A-Za-z]*?[0-9]{8,}[0-9A-Za-z]*"
"""A decimal number of 8 digits and more, with the letters and digits around it: ``WPi3WwXM1363139394945``."""
BOUNDARY = r"(?<=FormBoundary)[0-9A-Za-z]{8,}"
"""What divides a form's parts (Chrome's ``----WebKitFormBoundary...``, RFC 7578)."""
LONG_FLOAT = r"(?<![0-9.])[0-9]+\.[0-9]{4,}(?![0-9.])"
FLOAT = r"(?<![0-9.])[0-9]+\.[0-9]+(?![0-9.])"
VOLATILE_NAMES = r"_|cb|ord|rnd|rand|random|cachebuster|(?=[\w.\-]*(?:callback|jsonp))[\w.\-]+"
"""Parameters whose whole value is volatile: against caches (``_=``, ``cb=``, ``ord=``), and names of callbacks, whose
word is looked for once, not once for each time that it is there."""
PARAMETER = re.compile(rf"(?i)(?<=[?&;])({VOLATILE_NAMES})=[^&;?#]*")
ANYWHERE = re.compile(f"{UUID}|{HEX}|{LONG_FLOAT}|{DIGITS}")
IN_QUERY = re.compile(f"{UUID}|{HEX}|{FLOAT}|{DIGITS}")
TOKEN = re.compile(r"(?<![0-9A-Za-z_\-])(?=[A-Za-z_\-]*[0-9])[0-9A-Za-z_\-]{16,}")
"""16 digits and letters and more, at least one of them a digit."""
CHANGE = re.compile(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])")
"""Where a capital or a digit follows another kind of character, or a letter a digit; not where a word begins (`Ab`)."""
FEWEST_CHANGES = 1 / 6
"""A path's token has so many changes for each of its characters: random ones have 0.4, in base 36 and in base 64, and
words with numbers between them, such as `hero-image-1920x1080-v2`, 0.15 and less."""
IN_BODY = re.compile(f"{BOUNDARY}|{UUID}|{HEX}|{LONG_FLOAT}|{DIGITS}")


def mask_target(path_and_query: str) -> str:
    """Return a URL's path and query without volatile values.

    Short fractions are masked in the query only: in a path they are versions (``/jquery-1.8.js``). Tokens (ids of
    nanoid, public keys) are masked in the path only: what differs in its query alone is found by its parameters.
    """
    named = PARAMETER.sub(rf"\1={MASK}", path_and_query)
    path, mark, query = named.partition("?")
    return TOKEN.sub(_without_token, ANYWHERE.sub(MASK, path)) + mark + IN_QUERY.sub(MASK, query)


def _without_token(found: re.Match[str]) -> str:
    text = found[0]
    return MASK if len(CHANGE.findall(text)) >= FEWEST_CHANGES * len(text) else text


def mask_body(body: bytes) -> bytes:
    """Return a request's body without volatile values."""
    return IN_BODY.sub(MASK, body.decode("latin-1")).encode("latin-1")


IMAGE_SIZE = re.compile(r"-[0-9]{2,5}x[0-9]{2,5}(?=\.(?:jpe?g|png|gif|webp|avif)$)", re.IGNORECASE)
"""As WordPress names an image's sizes, of which each browser chooses by its window and its age."""
FONT = re.compile(r"\.(?:woff2?|[ot]tf)$", re.IGNORECASE)
"""Formats that Chrome reads. It looks into the file, whatever its name and its type say."""
TYPEKIT, TYPEKIT_FONT = "use.typekit.net", re.compile(r"(?<=/)[adl]$")
"""There the last letter of a path names the format: ``a`` OpenType, ``d`` WOFF, ``l`` WOFF2."""
IMAGE = re.compile(r"(?:\.(?:jpe?g|png|gif|webp|avif)){1,3}$", re.IGNORECASE)
"""Also two of them: some sites make ``photo.jpg.webp`` of ``photo.jpg``. Not any number: from each of 8000 on it would
be looked for again."""
PICTURE = re.compile(r"\.(?:jpe?g|png|webp|avif)$", re.IGNORECASE)
NEW_IMAGE = re.compile(r"\.(?:webp|avif)$", re.IGNORECASE)
"""Formats that a page offers beside an older one (``<picture>``), which is what an older browser took."""


def without_size(path: str) -> str:
    """Return an image's path without its size; any other path as it is."""
    return IMAGE_SIZE.sub("", path)


def without_format(host: str, path: str) -> str | None:
    """Return the path of a host's font or image without its format; None for what is neither."""
    if host == TYPEKIT and path.startswith("/af/"):
        return TYPEKIT_FONT.sub("", path)
    if FONT.search(path):
        return FONT.sub(" (font)", path)
    return IMAGE.sub(" (image)", path) if IMAGE.search(path) else None


def is_never_empty(path: str) -> bool:
    """Say whether a path, or a file's name in a mirror, is that of a font or picture, which have some bytes at least.

    A beacon is often a ``.gif`` without any.
    """
    name = path.partition("?")[0]
    return FONT.search(name) is not None or PICTURE.search(name) is not None


def may_be_in_another_format(path: str) -> bool:
    """Say whether a request for this path may get the same file in another format, if that is what was recorded."""
    return not IMAGE.search(path) or NEW_IMAGE.search(path) is not None


SEPARATOR = re.compile(r"[?&;]|%3[Ff]|%26")


def path_and_query(target: str) -> str:
    """Return a request's target as path and query: it may be an absolute URL (RFC 9112, section 3.2.2)."""
    if not target.startswith("/") and "://" in target:
        with suppress(ValueError):
            target = split_url(target)[1]
    return target.partition("#")[0]


def parameters(target: str) -> tuple[str, frozenset[str]]:
    """Split a target into its path and its parameters.

    Some sites write parameters into the path, after semicolons (RFC 3986, section 3.3) or as an encoded query.
    """
    path, *rest = SEPARATOR.split(target)
    return path, frozenset(rest)


def in_common(target: str, other: str) -> tuple[int, ...]:
    """Return what two targets share: the path, then how many parameters, names, characters in them, at the start."""
    (path, own), (other_path, others) = parameters(target), parameters(other)
    shared = own & others
    names = {pair.partition("=")[0] for pair in own} & {pair.partition("=")[0] for pair in others}
    begin = commonprefix([target, other])  # noqa: RUF071 (characters are what is compared)
    return path == other_path, len(shared), len(names), sum(map(len, shared)), len(begin)


def alike_path(target: str) -> str:
    """Return the path as `best-match` compares it: without volatile values, and an image's without its size."""
    return without_size(mask_target(parameters(target)[0]))


LARGEST_SCRIPT = 4_000_000
"""Bytes of a body that is looked at; data in JSONP is far smaller."""
CALLBACK = re.compile(r"[A-Za-z_$][\w$.\[\]'\"]{1,199}")


def new_names(recorded: str, asked: str) -> list[tuple[bytes, bytes]]:
    """Return the parameters of two targets (path and query) that differ and may name a function: old and new value."""
    old, new = _values(recorded), _values(asked)
    return [(old[name].encode(), new[name].encode()) for name in old.keys() & new.keys()
            if old[name] != new[name] and CALLBACK.fullmatch(old[name]) and CALLBACK.fullmatch(new[name])]


def renamed(body: bytes, coding: str, names: list[tuple[bytes, bytes]]) -> bytes | None:
    """Return the body as it calls the new name, encoded as `coding` says; None when it begins with no old name."""
    if not names or len(body) > LARGEST_SCRIPT:
        return None
    script, known = decode(body, coding)
    for old, new in names if known else ():
        call = re.match(_call(old), script, re.DOTALL)
        if call:
            return encode(call[0].replace(old, new) + script[call.end():], coding, -1)[0]     # quickly: a load waits
    return None


def _call(name: bytes) -> bytes:
    """Return the pattern of a script that begins with a call, bare or as Express and Facebook write it.

    No two parts of it take the same characters one after the other: white space without end is looked at once.
    """
    this = re.escape(name)
    return rb"[\s;]*(?:/\*.*?\*/[\s;]*)?(?:typeof\s+%b\s*===?\s*['\"]function['\"]\s*&&\s*)?%b\s*\(" % (this, this)


def _values(target: str) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in parameters(target)[1] if "=" in pair)
