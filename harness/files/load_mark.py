"""Which page load is under way: a small file that the experiment writes and all replay servers have mapped.

The servers answer several recordings of one URL in recorded order, anew in each load, and prefer what the log of the
load's page has. When a load begins cannot be seen in requests for sure: so whoever loads a page says it here, before
the browser starts. The file has a fixed size and is mapped, so every server sees a mark with the next request, and
reading it costs no system call.
"""

import mmap
from pathlib import Path

import msgspec

NAME = "load-mark"
SIZE = 4096
"""Bytes: a page of memory, which a mark fits into."""


class Load(msgspec.Struct, frozen=True):
    """A load: its number, from 1 (0: none has begun), its page's file name, and the one-way delay, which says where
    servers log; `early`: whether sessions of QUIC that are made now may be taken up with early data.
    """

    number: int = 0
    page: str = ""
    delaynet_ms: float = 0.0
    early: bool = True


def make_mark(path: Path) -> None:
    """Make the file: no load has begun."""
    path.write_bytes(_written(Load()))


def mark_load(path: Path, page: str, delaynet_ms: float = 0.0, *, early: bool = True) -> None:
    """Say that a load of the page whose file name is `page` begins now; see `Load`."""
    mark = _written(Load(_read(path.read_bytes()).number + 1, page, delaynet_ms, early))
    with path.open("r+b", buffering=0) as file:     # all of it in one write
        file.write(mark)


class LoadMark:
    """The mark as servers see it: the experiment's file; without one no load ever begins."""

    def __init__(self, path: Path | None = None) -> None:
        """Map the file. Raises OSError, or ValueError when it is not one that `make_mark` made."""
        self._map: mmap.mmap | bytes = _written(Load())
        if path is not None:
            with path.open("rb") as file:
                self._map = mmap.mmap(file.fileno(), SIZE, access=mmap.ACCESS_READ)
            self.load()

    def load(self) -> Load:
        """Return the load that is under way, or was last."""
        return _read(self._map[:])


def _written(load: Load) -> bytes:
    return msgspec.json.encode(load).ljust(SIZE)


def _read(mark: bytes) -> Load:
    return msgspec.json.decode(mark.rstrip(), type=Load)       # which skips blanks one by one
