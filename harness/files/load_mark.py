"""Which page load is under way: a small file that the experiment writes and all replay servers have mapped.

The servers answer several recordings of one URL in recorded order, anew in each load, and prefer what the log of the
load's page has. When a load begins cannot be seen in requests for sure: so whoever loads a page says it here, before
the browser starts. The file is a number that grows with each load, the one-way delay (which says where servers log),
whether sessions of QUIC that are made now may be taken up with early data (1) or not (0), and the page's file name, a
line each. It has a fixed size and is mapped, so every server sees a mark with the next request, and reading it costs no
system call.
"""

import mmap
from pathlib import Path

NAME = "load-mark"
SIZE = 4096
"""Bytes: a page of memory, which a load's number and the name of its page fit into."""
NO_LOAD = b"0\n0\n1\n".ljust(SIZE, b"\0")
"""Before the first load."""


def make_mark(path: Path) -> None:
    """Make the file: no load has begun."""
    path.write_bytes(NO_LOAD)


def mark_load(path: Path, page: str, delaynet_ms: float = 0.0, *, early: bool = True) -> None:
    """Say that a load of the page whose file name is `page` begins now, at this one-way delay in ms; whether `early`
    data may be sent on connections that take up a session of its.
    """
    content = _next(path.read_bytes(), page, delaynet_ms, early=early)
    with path.open("r+b", buffering=0) as file:     # all of it in one write
        file.write(content)


class LoadMark:
    """The mark as servers see it: the experiment's file, or without one memory that they share (`own`)."""

    def __init__(self, path: Path | None = None) -> None:
        """Map the file. Raises OSError, or ValueError when it is not one that `make_mark` made."""
        self.own = path is None
        if path is None:
            self._map = mmap.mmap(-1, SIZE)
            self._map[:] = NO_LOAD
        else:
            with path.open("rb") as file:
                self._map = mmap.mmap(file.fileno(), SIZE, access=mmap.ACCESS_READ)

    def read(self) -> tuple[bytes, str]:
        """Return what is different in each load, and the file name of the load's page ("" before the first)."""
        number, *_, page = self._lines()
        return number, page.decode("utf-8", "surrogateescape")

    def delaynet_ms(self) -> float:
        """Return the one-way delay of the load that is under way, in ms."""
        return float(self._lines()[1])

    def early(self) -> bool:
        """Tell whether early data is sent in the load that is under way, or after it."""
        return self._lines()[2] == b"1"

    def begin(self, page: str) -> None:
        """Say that a load of `page` begins: for servers without an experiment, which share this since they forked."""
        self._map[:] = _next(self._map[:], page)

    def _lines(self) -> list[bytes]:
        return self._map[:self._map.find(b"\0")].split(b"\n", 3)


def _next(content: bytes, page: str, delaynet_ms: float = 0.0, *, early: bool = True) -> bytes:
    """Return the mark of the load after the one of which `content` is."""
    lines = f"{int(content.split()[0]) + 1}\n{delaynet_ms:g}\n{early:d}\n{page}"
    return lines.encode("utf-8", "surrogateescape")[:SIZE - 1].ljust(SIZE, b"\0")
