"""What was read of a source: its exchanges, whose bodies are files, and what is missing; and that as a recording."""

import hashlib
from math import inf
from pathlib import Path

import msgspec
from msgspec.structs import replace

from harness.files.exchange import Body, Exchange, Fate
from harness.files.headers import BODILESS
from harness.files.urls import decoded, document_url
from harness.mirror.alike import mask_target
from harness.mirror.exchanges import PageExchanges
from harness.mirror.recording import Recording, recording_of

NUMBER = "X-TFO-Lab-Answer"
"""A header that each answer of the recording has: the place of its exchange in `Brought.exchanges`, from 1."""
BODIES = "bodies"
"""The folder of all bodies, in the place of a host's: a body's name is its SHA-256."""


class Missing(msgspec.Struct, frozen=True):
    """Why an answer's body is missing, and how large it was on the network in bytes, 0 where nobody knows."""

    why: str
    bytes: int = 0


class Brought(msgspec.Struct):
    """A source, read. `name` is for messages. `pages` are what it says are its pages, `missing` the answers that it
    lists without their bodies, by URL.

    By the logs of the pages that they belong to, `logs` are the numbers (from 1) of its exchanges, `live` are
    WebSockets, and `load_ends` says when the load events of pages were, in s since the epoch.
    """

    name: str
    exchanges: list[Exchange] = []
    pages: list[str] = []
    missing: dict[str, Missing] = {}
    remarks: list[str] = []
    logs: dict[str, list[int]] = {}
    live: dict[str, list[Exchange]] = {}
    load_ends: dict[str, float] = {}

    def keep(self, exchange: Exchange, directory: Path) -> int:
        """Keep an exchange, its body below `directory` if it has one; return its number."""
        answer, content, body = exchange.answer, exchange.answer.content or b"", None
        if content and exchange.request.method != "HEAD" and answer.status not in BODILESS:
            digest = hashlib.sha256(content).hexdigest()
            body = Body(f"{BODIES}/{digest}", len(content), digest)
            (directory / body.file).write_bytes(content)
        self.exchanges.append(replace(exchange, answer=replace(
            answer, body=body, content=None, content_bytes=len(content), body_bytes=len(content))))
        return len(self.exchanges)

    def numbered(self, number: int, log: str = "") -> Exchange:
        """Return an exchange as one of the page with this `log`, its answer with its number."""
        found = self.exchanges[number - 1]
        headers = ((NUMBER, str(number)), *(found.answer.headers or ()))
        return replace(found, page=log, answer=replace(found.answer, headers=headers))

    def asked_for(self, log: str) -> set[str]:
        """Return which URLs (`mask`) the recorded load of a page got up to its load event; none where nobody knows."""
        got = [self.exchanges[number - 1] for number in self.logs.get(log, ()) if log in self.load_ends]
        return {mask(each.request.url) for each in got if each.fate is not Fate.AFTER_LOAD}

    def recording(self) -> Recording:
        """Return the exchanges as a recording."""
        return recording_of([
            PageExchanges(log, [*(self.numbered(number, log) for number in self.logs.get(log, ())),
                                *self.live.get(log, ())], self.load_ends.get(log, inf))
            for log in sorted(self.logs.keys() | self.live.keys())])


def same_name(url: str) -> str:
    """Return what archives file `url` under: without its scheme and fragment, however it is written."""
    return decoded(document_url(url).partition("://")[2])


def mask(url: str) -> str:
    """Return `url`, whatever its scheme and encoding, with ``*`` in the place of each volatile value."""
    host, _, target = same_name(url).partition("/")
    return host + mask_target(f"/{target}")
