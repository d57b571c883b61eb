"""The bytes of a body: one file of the mirror, or several that are parts of it; and the part that a request wants (RFC
9110, section 14).
"""

import os
import re
import sys
from collections.abc import Mapping
from errno import ENOENT
from functools import lru_cache
from operator import itemgetter

from harness.files.exchange import Answer
from harness.mirror.paths import open_file

KEPT_BYTES = 64 * 1024
"""Files up to so large are not looked at again once they were read: to open one takes as long as half of the rest of an
answer. Larger ones are looked at again, and stay in memory, too.
"""
ONE_RANGE = re.compile(r"bytes=(?:([0-9]{1,18})-([0-9]{1,18})?|-([0-9]{1,18}))", re.ASCII | re.IGNORECASE)

Piece = tuple[int, bytes]
"""A piece of a body, and at which byte of that it stands."""
ALL = range(sys.maxsize)


class Bodies:
    """The files that hold bodies, below descriptors of `directories` by host."""

    def __init__(self, directories: Mapping[str, int]) -> None:
        self._directories = directories
        self._kept: dict[str, tuple[tuple[int, int], bytes]] = {}
        """What was read, with when the file was changed (ns since the epoch), and its size then."""

    def content(self, name: str) -> bytes:
        """Return what the file `name` (``host/name``) holds. Raises OSError."""
        kept = self._kept.get(name)
        if kept is not None and len(kept[1]) <= KEPT_BYTES:
            return kept[1]
        host, _, path = name.partition("/")
        if host not in self._directories:
            raise FileNotFoundError(ENOENT, "no directory of the mirror")
        with os.fdopen(open_file(self._directories[host], path), "rb") as file:
            is_now = os.fstat(file.fileno())
            version = is_now.st_mtime_ns, is_now.st_size
            if kept is None or kept[0] != version:
                kept = self._kept[name] = version, file.read()
        return kept[1]


@lru_cache(maxsize=4)     # a large body is asked for part by part
def stretch(pieces: tuple[Piece, ...], span: range = ALL) -> bytes:
    """Return the bytes of a `span` that the pieces hold: from its start on, up to the first gap."""
    found, at = [], span.start
    for begin, content in sorted(pieces, key=itemgetter(0)):
        if begin <= at < min(span.stop, begin + len(content)):
            found.append(content[at - begin:span.stop - begin])
            at += len(found[-1])
    return b"".join(found)


def wanted_span(answer: Answer, asked: Mapping[str, str], size: int) -> range | None:
    """Return the part of a body of `size` bytes that a request wants; None when the whole body is to be sent.

    Sites that did not say Accept-Ranges when they were recorded send the whole body, and so does every recording that
    has no headers. With If-Range the part is wanted only of the very body that the client knows. An empty part: the
    wanted one lies behind the body's end. Who wants several parts at once gets the whole body.
    """
    text = asked.get("range", "").strip()
    if not text or answer.status != 200 or answer.header("accept-ranges").lower() != "bytes":
        return None
    if "if-range" in asked and not _is_same(asked["if-range"].strip(), answer):
        return None
    match = ONE_RANGE.fullmatch(text)
    if match is None:
        return None
    first, last, suffix = match.groups()
    if last and int(last) < int(first):
        return None    # no range at all (RFC 9110, section 14.1.1)
    begin, end = (max(0, size - int(suffix)), size) if suffix else (int(first), int(last) + 1 if last else size)
    return range(size)[begin:end]


def _is_same(validator: str, answer: Answer) -> bool:
    """Compare strongly (RFC 9110, section 13.1.5): a weak tag never matches."""
    return validator == answer.header("etag" if validator.startswith('"') else "last-modified")
