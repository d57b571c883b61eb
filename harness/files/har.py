"""The words of our HAR files that more than one program must know; HAR itself is described in harness.netlog.har."""

import base64
import re
from collections.abc import Mapping
from typing import Any

H2 = "h2"
"""HTTP/2: the name by which TLS agrees on it (ALPN, RFC 9113, section 3.1), and what `httpVersion` says of it."""
OVER_HTTP2 = (H2, "http/2", "h3", "http/3")
"""How HTTP/2 and HTTP/3 are called, lower case, without what may follow (``HTTP/2.0``, ``h3-29``)."""
ABORTED = "net::ERR_ABORTED"
"""What `_error` says of a request that the page, or Chrome, took back."""
UNFINISHED = "unfinished"
"""What `_error` says of a request that was not over when the load ended."""
UNKNOWN = -1
"""A size that nobody knows."""
STILL_ENCODED = "still encoded as"
"""What a `content.comment` begins with whose body could not be decoded; the encoding follows."""
LINE_ENDS = dict.fromkeys(map(ord, "\r\n"))
STRIPPED = re.compile(r"\[([0-9]{1,9}) bytes were stripped\]")
"""What Chrome's net-log has in place of a cookie or a credential: how long it was."""


def is_over_http2(protocol: str) -> bool:
    """Say whether `protocol`, however a program calls it, is HTTP/2 or HTTP/3.

    The replay has no HTTP/3; to such a server Chrome speaks HTTP/2.
    """
    return protocol.lower().startswith(OVER_HTTP2)


def is_base64(labelled: Mapping[str, Any]) -> bool:
    """Say whether a HAR's `content` or `postData` calls its text base64, however that is written."""
    return any(str(labelled.get(name) or "").strip().lower() == "base64" for name in ("encoding", "_encoding"))


def from_base64(text: str) -> bytes | None:
    """Return the bytes of base64 in lines or not, with its padding or not; None for what is none (RFC 4648)."""
    packed = text.translate(LINE_ENDS).rstrip("=")
    try:
        return base64.b64decode(packed + "=" * (-len(packed) % 4), validate=True)
    except ValueError:
        return None


def posted_body(posted: Mapping[str, Any], size: int = UNKNOWN) -> bytes:
    """Return what a HAR's `postData` says was sent, of `size` bytes: base64, a text, or bytes as characters of Latin-1.

    What it says of its text is a claim: what has the size counts, if something has.
    """
    text = str(posted.get("text") or "")
    in_base64 = from_base64(text) if is_base64(posted) else None
    readings = [] if in_base64 is None else [in_base64]
    readings.append(text.encode("utf-8", "surrogatepass"))
    if all(character <= "\xff" for character in text):
        readings.append(text.encode("latin-1"))
    return next((body for body in readings if len(body) == size), readings[0])
