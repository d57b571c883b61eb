"""Volatile values: the parts of a URL or of a request's body that are made anew at each load.

Times, random numbers, session ids and the names of JSONP callbacks differ from load to load, although the request is
the same. A masked text has ``*`` in their place: then two requests are equal if they differ in nothing else.
"""

import re

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
