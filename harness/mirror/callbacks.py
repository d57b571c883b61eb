"""JSONP: a script that calls the function which its URL names (``?callback=jQuery17_1363``), under another name.

jQuery and others make a new name for each load. A stand-in is the answer to another load's URL, so it would call what
is not there, and the page would lack what it was to be given.
"""

import re

from harness.files.encoding import decode, encode
from harness.mirror.alike import parameters

LARGEST = 4_000_000
"""Bytes of a body that is looked at; data in JSONP is far smaller."""
NAME = re.compile(r"[A-Za-z_$][\w$.\[\]'\"]{1,199}")


def new_names(recorded: str, asked: str) -> list[tuple[bytes, bytes]]:
    """Return the parameters of two targets (path and query) that differ and may name a function: old and new value."""
    old, new = _values(recorded), _values(asked)
    return [(old[name].encode(), new[name].encode()) for name in old.keys() & new.keys()
            if old[name] != new[name] and NAME.fullmatch(old[name]) and NAME.fullmatch(new[name])]


def renamed(body: bytes, coding: str, names: list[tuple[bytes, bytes]]) -> bytes | None:
    """Return the body as it calls the new name, encoded as `coding` says; None when it begins with no old name."""
    if not names or len(body) > LARGEST:
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
