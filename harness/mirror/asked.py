"""What a request said besides its URL: its headers and its body. They decide between recorded answers to one URL.

Browsers say what they will use an answer for (Fetch Metadata, https://www.w3.org/TR/fetch-metadata/), but only over
https, or to a server on the same machine. Over http a navigation is recognised by Upgrade-Insecure-Requests, which
Chrome and Firefox send with navigations only (https://www.w3.org/TR/upgrade-insecure-requests/#preference).
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from harness.files.exchange import Request
from harness.mirror.alike import mask_body

LARGEST_MASKED = 64 * 1024
"""Bytes of a body that is compared without its volatile values, too; a longer one is compared as it is."""


@dataclass(frozen=True)
class BodyHash:
    """The SHA-256 of a request's body, in hex, as it was sent and without its volatile values ("": not known)."""

    sha256: str
    masked_sha256: str = ""


def hash_body(body: bytes) -> BodyHash | None:
    """Return the hash of a whole body; None for an empty one."""
    if not body:
        return None
    masked = hashlib.sha256(mask_body(body)).hexdigest() if len(body) <= LARGEST_MASKED else ""
    return BodyHash(hashlib.sha256(body).hexdigest(), masked)


@dataclass(frozen=True)
class Asked:
    """A request's headers, names in lower case, and the hash of its body. Without headers, they are not known."""

    headers: dict[str, str] = field(default_factory=dict)
    body: BodyHash | None = None
    tells_navigations: bool = True
    """Whether who sent it marks navigations: crawlers like wget do not."""

    @property
    def navigation(self) -> bool | None:
        """Whether the answer becomes a document of its own (a page, a frame); None when that is not known.

        Node's fetch, which crawlers use, calls all that it asks for "cors", without a Sec-Fetch-Dest: no word of use.
        """
        mode = self.headers.get("sec-fetch-mode")
        if mode:
            return mode == "navigate" if "sec-fetch-dest" in self.headers else None
        if not self.headers or not self.tells_navigations:
            return None
        return "upgrade-insecure-requests" in self.headers or self.headers.get("accept", "").startswith("text/html")

    @property
    def purpose(self) -> tuple[bool | None, bool]:
        """`navigation`, and whether a browser itself said so, in Fetch Metadata."""
        return self.navigation, "sec-fetch-dest" in self.headers

    @property
    def cookies(self) -> frozenset[str]:
        """The names of the cookies that were sent along."""
        return frozenset(pair.partition("=")[0].strip() for pair in self.headers.get("cookie", "").split(";")) - {""}


def headers_of(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return headers by their name in lower case; several of one name are joined (RFC 9110, section 5.3)."""
    headers: dict[str, str] = {}
    for name, value in pairs:
        key = name.lower()
        joint = "; " if key == "cookie" else ", "    # RFC 9113, section 8.2.3
        headers[key] = f"{headers[key]}{joint}{value}" if key in headers else value
    return headers


@lru_cache(2**14)
def asked_of(request: Request, *, tells_navigations: bool = True) -> Asked:
    """Return what a recorded request said."""
    known = hash_body(request.body)
    body = BodyHash(request.sha256, known.masked_sha256 if known else "") if request.sha256 else known
    return Asked(headers_of(request.headers), body, tells_navigations)
