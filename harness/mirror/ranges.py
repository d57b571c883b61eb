"""Requests for a part of a body (RFC 9110, section 14): which bytes are wanted, and whether they may be sent."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from harness.files.exchange import Answer

ONE_RANGE = re.compile(r"bytes=(?:([0-9]{1,18})-([0-9]{1,18})?|-([0-9]{1,18}))", re.ASCII | re.IGNORECASE)
SEVERAL = re.compile(r"bytes=[^,]*,.*", re.ASCII | re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class Span:
    """The bytes of a body from `start` up to but without `end`."""

    start: int
    end: int


class NotSatisfiableError(Exception):
    """The wanted range lies behind the body's end, or several are wanted at once (a multipart answer): 416."""


def wanted_span(answer: Answer, asked: Mapping[str, str], size: int) -> Span | None:
    """Return the part of a body of `size` bytes that a request wants; None when the whole body is to be sent.

    Sites that did not say Accept-Ranges when they were recorded send the whole body, and so does every recording that
    has no headers. With If-Range the part is wanted only of the very body that the client knows. Raises
    NotSatisfiableError.
    """
    text = asked.get("range", "").strip()
    if not text or answer.status != 200 or answer.header("accept-ranges").lower() != "bytes":
        return None
    if "if-range" in asked and not _is_same(asked["if-range"].strip(), answer):
        return None
    if SEVERAL.fullmatch(text):
        raise NotSatisfiableError
    match = ONE_RANGE.fullmatch(text)
    if match is None:
        return None
    first, last, suffix = match.groups()
    if suffix is not None:
        start, end = max(0, size - int(suffix)), size
    else:
        start, end = int(first), min(size, int(last) + 1 if last else size)
        if last and int(last) < start:
            return None    # no range at all (RFC 9110, section 14.1.1)
    if start >= end:
        raise NotSatisfiableError
    return Span(start, end)


def _is_same(validator: str, answer: Answer) -> bool:
    """Compare strongly (RFC 9110, section 13.1.5): a weak tag never matches."""
    return validator == answer.header("etag" if validator.startswith('"') else "last-modified")
