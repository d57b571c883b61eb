"""A source that was read into a recording, and what its servers answer."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from harness.files.exchange import Exchange
from harness.mirror.asked import Asked, hash_body
from harness.record.sources.brought import NUMBER, Brought
from harness.record.sources.reader import read_into
from harness.record.sources.served import ServedSource
from harness.replay.connection import Service
from harness.replay.match import Request

NAVIGATES = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document", "upgrade-insecure-requests": "1"}
FETCHES = {"sec-fetch-mode": "cors", "sec-fetch-dest": "empty"}


@dataclass
class ReadSource:
    """What was read, and where its bodies are."""

    brought: Brought
    directory: Path
    served: ServedSource

    @property
    def exchanges(self) -> list[Exchange]:
        """Return what is there with its body, but for WebSockets."""
        return [each for each in self.brought.exchanges if not each.error and each.answer.messages is None]

    def body_of(self, exchange: Exchange) -> bytes:
        """Return the body of one of `brought.exchanges` as it crosses the network."""
        body = exchange.answer.body
        return (self.directory / body.file).read_bytes() if body else b""

    def answer_body(self, *request: Any, **headers: Any) -> bytes | None:
        """Return the body that a request gets, as it crosses the network, None where there is no answer."""
        found = self.answered(*request, **headers)
        return self.body_of(found) if found else None

    def answered(self, url: str, method: str = "GET", sent: bytes = b"", *, headers: Mapping[str, str] = FETCHES
                 ) -> Exchange | None:
        """Return the exchange whose answer a request gets, None without one."""
        parts = urlsplit(url)
        target = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
        site = Service(self.served.sites[parts.scheme], 0, "").named(parts.hostname or "")
        found = site.answer(Request(method, target, Asked({**headers}, hash_body(sent))))
        number = dict(found.headers or ()).get(NUMBER.lower())
        return self.brought.exchanges[int(number) - 1] if number else None


def read_source(path: Path, into: Path | None = None, wanted: Sequence[str] | None = None) -> ReadSource:
    """Read a source in this process, into a folder beside it if none is given. Raises InputError."""
    into = into or Path(tempfile.mkdtemp(prefix="read-", dir=path.parent))
    into.mkdir(exist_ok=True)
    brought = read_into(path, wanted, into)
    return ReadSource(brought, into, ServedSource(brought, into))
