"""What a source of pages is, whatever kind of file or service it reads."""

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Protocol

from harness.files.urls import document_url
from harness.mirror.live import LiveConnection
from harness.record.sources.answers import Index
from harness.record.sources.archived import ArchivedAnswer, ArchivedRequest


class Source(Protocol):
    """Answers requests from what was recorded. `name` is for messages; `pages` are what it says are its pages, and
    `without_body` the URLs of answers that it lists without their bodies, with the bodies' sizes in bytes (0: unknown).
    `remarks` say what could not be read of it, one line each.
    """

    name: str
    pages: Sequence[str]
    without_body: Mapping[str, int]
    remarks: Sequence[str]

    def begin_page(self, url: str) -> None:
        """Learn which page asks from now on."""

    def find(self, request: ArchivedRequest) -> ArchivedAnswer | None:
        """Return the answer to a request, None when there is none. For any number of threads at a time."""

    def find_live(self, url: str) -> LiveConnection | None:
        """Return the WebSocket that was opened with `url` (http or https), None when there is none."""

    def documents(self) -> list[str]:
        """Return the URLs of a few HTML documents in it, of which some may be pages; none where nobody knows."""

    def urls_asked_for(self, page_url: str) -> frozenset[str]:
        """Return which URLs (`answers.mask`) the recorded load of a page got; none where nobody knows."""

    def complaints(self) -> list[str]:
        """Return why not everything could be asked for since the last call, one line each; what was not is unknown."""


class IndexedSource:
    """A source whose exchanges are all known."""

    def __init__(self, name: str, index: Index, pages: Sequence[str] = (),
                 asked_for: Mapping[str, frozenset[str]] | None = None) -> None:
        """Take what a reader has read; `asked_for` is what the recorded load of each page got."""
        self.name, self.pages, self.without_body = name, pages, index.without_body
        self.remarks = index.remarks
        self._index, self._lock = index, Lock()
        self._asked_for = asked_for or {}

    def begin_page(self, url: str) -> None:
        """Learn which page asks from now on: it gets several answers to one URL from the first one on."""
        with self._lock:
            self._index.begin_page(url)

    def find(self, request: ArchivedRequest) -> ArchivedAnswer | None:
        """Return the answer to a request."""
        with self._lock:
            read = self._index.look_up(request)
        return read() if read is not None else None

    def find_live(self, url: str) -> LiveConnection | None:
        """Return the WebSocket that was opened with `url`."""
        with self._lock:
            return self._index.find_live(url)

    def documents(self) -> list[str]:
        """Return the URLs of a few HTML documents in it."""
        return self._index.documents()

    def urls_asked_for(self, page_url: str) -> frozenset[str]:
        """Return what the recorded load of a page got, where the source says which requests belong to a page."""
        return self._asked_for.get(document_url(page_url), frozenset())

    def complaints(self) -> list[str]:
        """Return nothing: all is there."""
        return []
