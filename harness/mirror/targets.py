"""A request's target: the path and query of a URL, the parameters in it, and how much two targets have in common."""

import re
from os.path import commonprefix
from urllib.parse import urlsplit

from harness.mirror.forms import without_size
from harness.mirror.masks import mask_target

SEPARATOR = re.compile(r"[?&;]|%3[Ff]|%26")


def path_and_query(target: str) -> str:
    """Return a request's target as path and query: it may be an absolute URL (RFC 9112, section 3.2.2)."""
    if not target.startswith("/") and "://" in target:
        try:
            parts = urlsplit(target)
            target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        except ValueError:
            pass
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
