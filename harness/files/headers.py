"""Headers of HTTP messages, as pairs of name and value in their order, and the statuses that lead elsewhere."""

from typing import Any

Headers = tuple[tuple[str, str], ...]
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


def headers_of_har(listed: Any) -> Headers:
    """Return headers as HAR lists them, without those that begin with a colon: they belong to HTTP/2's framing."""
    return tuple((str(pair["name"]), str(pair["value"])) for pair in listed or ()
                 if not str(pair["name"]).startswith(":"))
