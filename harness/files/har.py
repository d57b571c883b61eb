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
STRIPPED = re.compile(r"\[([0-9]{1,9}) bytes were stripped\]")
"""What Chrome's net-log has in place of a cookie or a credential: how long it was."""


def is_over_http2(protocol: str) -> bool:
    """Say whether `protocol`, however a program calls it, is HTTP/2 or HTTP/3.

    The replay has no HTTP/3; to such a server Chrome speaks HTTP/2.
    """
    return protocol.lower().startswith(OVER_HTTP2)


def posted_body(posted: Mapping[str, Any]) -> bytes:
    """Return what a HAR's `postData` says was sent: its text or, in HARs of ours, base64 of what is no text.

    Nothing where somebody has broken the base64.
    """
    text = str(posted.get("text") or "")
    try:
        return base64.b64decode(text) if posted.get("_encoding") == "base64" else text.encode("utf-8", "surrogatepass")
    except ValueError:
        return b""
