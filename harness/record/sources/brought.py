"""What was read of a source: its exchanges, whose bodies are files; and these as a recording."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

import msgspec
from msgspec.structs import replace

from harness.files.exchange import Body, Exchange, Fate
from harness.files.headers import BODILESS
from harness.files.urls import decoded, document_url
from harness.mirror.alike import mask_target
from harness.mirror.answers import redirect_of
from harness.mirror.exchanges import PageExchanges
from harness.mirror.recording import Recording

NUMBER = "X-TFO-Lab-Answer"
"""A header that each answer of the recording has: the place of its exchange in `Brought.exchanges`, from 1."""
BODIES = "bodies"
"""The folder of all bodies, in the place of a host's: a body's name is its SHA-256."""
OTHER = {"http": "https", "https": "http"}


@dataclass
class Source:
    """A file while it is read. `pages` are the URLs of its pages by their ids, `load_ends` when their load events were,
    in s since the epoch; `remarks` say what could not be read, once the exchanges were.
    """

    exchanges: Iterable[Exchange]
    pages: Mapping[str, str]
    load_ends: Mapping[str, float] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)


class Brought(msgspec.Struct):
    """A source, read. `name` is for messages, `pages` are what it says are its pages.

    Of each exchange `page` is the log of the page it belongs to. One with an `error` is missing: the source lists it
    without its body, which had `answer.body_bytes` on the network (0: unknown). `load_ends` says by log when the load
    events of pages were, in s since the epoch.
    """

    name: str
    exchanges: list[Exchange] = []
    pages: list[str] = []
    remarks: list[str] = []
    load_ends: dict[str, float] = {}

    def keep(self, exchange: Exchange, directory: Path) -> int:
        """Keep an exchange, its body below `directory` if it has one; return its number."""
        answer, content, body = exchange.answer, exchange.answer.content or b"", None
        if content and exchange.request.method != "HEAD" and answer.status not in BODILESS:
            digest = hashlib.sha256(content).hexdigest()
            body = Body(f"{BODIES}/{digest}", len(content), digest)
            (directory / body.file).write_bytes(content)
        size = max(0, answer.body_bytes) if exchange.error else len(content)
        self.exchanges.append(replace(exchange, answer=replace(
            answer, body=body, content=None, content_bytes=size, body_bytes=size)))
        return len(self.exchanges)

    def numbered(self, number: int, url: str) -> Exchange:
        """Return an exchange as one of this URL, its answer with its number."""
        found = self.exchanges[number - 1]
        headers = ((NUMBER, str(number)), *(found.answer.headers or ()))
        return replace(found, request=replace(found.request, url=url), answer=replace(found.answer, headers=headers))

    def asked_for(self, log: str) -> set[str]:
        """Return which URLs (`mask`) the recorded load of a page got up to its load event; none where nobody knows."""
        return {mask(each.request.url) for each in self.exchanges if each.page == log and log in self.load_ends
                and not each.error and each.answer.messages is None and each.fate is not Fate.AFTER_LOAD}

    def recording(self) -> Recording:
        """Return what is not missing as a recording.

        Archives file a URL under one name for http and https alike: what is not there over one scheme is answered as
        over the other, unless it is a redirect from there to here, which would lead nowhere.
        """
        there = {(each.request.method, each.request.url) for each in self.exchanges if not each.error}
        pages = defaultdict[str, list[Exchange]](list)
        for number, each in enumerate(self.exchanges, start=1):
            if each.error:
                continue
            if each.answer.messages is not None:
                pages[each.page].append(each)
                continue
            scheme, _, rest = each.request.url.partition(":")
            pages[each.page].append(self.numbered(number, each.request.url))
            twin = f"{OTHER[scheme]}:{rest}"
            if (each.request.method, twin) not in there and document_url(redirect_of(each)) != twin:
                pages[each.page].append(self.numbered(number, twin))
        return Recording([PageExchanges(log, pages[log], self.load_ends.get(log, inf)) for log in sorted(pages)])


def same_name(url: str) -> str:
    """Return what archives file `url` under: without its scheme and fragment, however it is written."""
    return decoded(document_url(url).partition("://")[2])


def mask(url: str) -> str:
    """Return `url`, whatever its scheme and encoding, with ``*`` in the place of each volatile value."""
    host, _, target = same_name(url).partition("/")
    return host + mask_target(f"/{target}")
