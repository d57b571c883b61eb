"""What a source of pages is, whatever kind of file or service it reads."""

from collections.abc import Sequence
from threading import Lock
from typing import Protocol

from harness.record.sources.answers import ArchivedAnswer, ArchivedRequest, Index


class Source(Protocol):
    """Answers requests from what was recorded. `name` is for messages; `pages` are what it says are its pages."""

    name: str
    pages: Sequence[str]

    def find(self, request: ArchivedRequest) -> ArchivedAnswer | None:
        """Return the answer to a request, None when there is none. For any number of threads at a time."""

    def complaints(self) -> list[str]:
        """Return why not everything could be asked for since the last call, one line each; what was not is unknown."""


class IndexedSource:
    """A source whose exchanges are all known."""

    def __init__(self, name: str, index: Index, pages: Sequence[str] = ()) -> None:
        """Take what a reader has read."""
        self.name, self.pages = name, pages
        self._index, self._lock = index, Lock()

    def find(self, request: ArchivedRequest) -> ArchivedAnswer | None:
        """Return the answer to a request."""
        with self._lock:
            return self._index.find(request)

    def complaints(self) -> list[str]:
        """Return nothing: all is there."""
        return []
