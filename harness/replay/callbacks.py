"""JSONP: a script that calls the function which its URL names (``?callback=jQuery17_1363``), under another name.

jQuery and others make a new name for each load. A stand-in is the answer to another load's URL, so it would call what
is not there, and the page would lack what it was to be given.
"""

import gzip
import re
from collections.abc import Callable

import brotli  # type: ignore[import-untyped]

from harness.replay.matching import parameters

LARGEST = 4_000_000
"""Bytes of a body that is looked at; data in JSONP is far smaller."""
NAME = re.compile(r"[A-Za-z_$][\w$.\[\]'\"]{1,199}")
CODINGS: dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    "": (bytes, bytes), "identity": (bytes, bytes), "br": (brotli.decompress, brotli.compress),
    "gzip": (gzip.decompress, lambda body: gzip.compress(body, mtime=0))}
"""How a body is decoded and encoded, by its Content-Encoding."""
PROBLEMS = (OSError, EOFError, ValueError, brotli.error)


def new_names(recorded: str, asked: str) -> list[tuple[bytes, bytes]]:
    """Return the parameters of two targets (path and query) that differ and may name a function: old and new value."""
    old, new = _values(recorded), _values(asked)
    return [(old[name].encode(), new[name].encode()) for name in old.keys() & new.keys()
            if old[name] != new[name] and NAME.fullmatch(old[name]) and NAME.fullmatch(new[name])]


def renamed(body: bytes, coding: str, names: list[tuple[bytes, bytes]]) -> bytes | None:
    """Return the body as it calls the new name, encoded as `coding` says; None when it begins with no old name."""
    decode, encode = CODINGS.get(coding.strip().lower(), (None, None))
    if decode is None or encode is None:
        return None
    try:
        script = decode(body)
    except PROBLEMS:
        return None
    for old, new in names:
        call = re.match(_call(old), script, re.DOTALL)
        if call:
            return encode(call[0].replace(old, new) + script[call.end():])
    return None


def _call(name: bytes) -> bytes:
    """Return the pattern of a script that begins with a call, bare or as Express and Facebook write it."""
    this = re.escape(name)
    return rb"\s*(?:/\*.*?\*/)?[\s;]*(?:typeof\s+%b\s*===?\s*['\"]function['\"]\s*&&\s*)?%b\s*\(" % (this, this)


def _values(target: str) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in parameters(target)[1] if "=" in pair)
