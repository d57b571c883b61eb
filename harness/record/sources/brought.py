"""What was read of a source: its exchanges, whose bodies are in a recording of our own format, and what is missing."""

import msgspec

from harness.files.exchange import Exchange
from harness.files.urls import decoded, document_url
from harness.mirror.alike import mask_target

NUMBER = "X-TFO-Lab-Answer"
"""A header that each answer of the recording has: the place of its exchange in `Brought.exchanges`, from 1."""


class Missing(msgspec.Struct, frozen=True):
    """Why an answer's body is missing, and how large it was on the network in bytes, 0 where nobody knows."""

    why: str
    bytes: int = 0


class Figures(msgspec.Struct, frozen=True):
    """What pages are made of where a HAR lacks most bodies: their shapes, as text, and the RTT to each host in ms.

    `left_out` are pages that cannot be recorded. `names_pages`: it says which page a request belongs to.
    """

    shapes: str = ""
    rtts_ms: dict[str, float] = {}
    left_out: list[str] = []
    names_pages: bool = True


class Brought(msgspec.Struct):
    """A source, read. `name` is for messages, `exchanges` have no bodies here. `pages` are what it says are its pages,
    `documents` some HTML documents in it, `missing` the answers that it lists without their bodies, by URL,
    `asked_for` what the recorded load of each page got up to its load event, by the page's URL (see `mask`).
    """

    name: str
    exchanges: list[Exchange] = []
    pages: list[str] = []
    documents: list[str] = []
    missing: dict[str, Missing] = {}
    asked_for: dict[str, list[str]] = {}
    remarks: list[str] = []
    figures: Figures | None = None


def same_name(url: str) -> str:
    """Return what archives file `url` under: without its scheme and fragment, however it is written."""
    return decoded(document_url(url).partition("://")[2])


def mask(url: str) -> str:
    """Return `url`, whatever its scheme and encoding, with ``*`` in the place of each volatile value."""
    host, _, target = same_name(url).partition("/")
    return host + mask_target(f"/{target}")
