"""Headers of HTTP messages, as pairs of name and value in their order, and the statuses that lead elsewhere."""

import re

Headers = tuple[tuple[str, str], ...]
NUMBER = re.compile("[0-9]{1,18}")
PART = re.compile(r"bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18}|\*)")
REDIRECTS = (301, 302, 303, 307, 308)
"""Statuses of an answer that leads to another URL (RFC 9110, section 15.4)."""
EVENT_STREAM = "text/event-stream"
"""What an EventSource is answered with (HTML, section 9.2)."""
WITHOUT_BODY = (204, 205)
BODILESS = (*WITHOUT_BODY, 304)
"""Statuses of answers that browsers read no body of, whatever their headers say (RFC 9110, section 15)."""


def header_in(headers: Headers, wanted: str) -> str:
    """Return the value of the first header of this name, whatever its case; "" without one."""
    return next((value.strip() for name, value in headers if name.lower() == wanted.lower()), "")


def without(headers: Headers, *names: str) -> Headers:
    """Return headers without those of these names, which are in lower case."""
    return tuple((name, value) for name, value in headers if name.lower() not in names)


def length_in(headers: Headers) -> int | None:
    """Return the size of a body by its Content-Length, None where that says nothing."""
    length = header_in(headers, "content-length")
    return int(length) if NUMBER.fullmatch(length) else None


def part_in(headers: Headers) -> tuple[int, int, int | None] | None:
    """Return the first and the last byte of a part, by its Content-Range, and the size of the whole, None where nobody
    knows; None for what is no part of bytes (RFC 9110, section 14.4).
    """
    found = PART.fullmatch(header_in(headers, "content-range"))
    return (int(found[1]), int(found[2]), int(found[3]) if found[3].isdigit() else None) if found else None
