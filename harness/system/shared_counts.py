"""Numbers that one process counts and others read, in memory that they share: nothing has to be asked or locked.

    with counting(LatenessCounts) as (descriptor, counts):      # the process that counts inherits the descriptor
        before = counts.read()
        ...
        grown = [now - then for now, then in zip(counts.read(), before, strict=True)]

They only ever grow, each in eight bytes of its own.
"""

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, TypeVar

EACH_BYTES = 8


class SharedCounts:
    """So many counts, `number`, in the memory behind a descriptor, which stays open and the caller's."""

    number: ClassVar[int]

    def __init__(self, descriptor: int) -> None:
        """Use that memory (see `counting`)."""
        self._memory = mmap.mmap(descriptor, EACH_BYTES * self.number)
        self._counts = memoryview(self._memory).cast("Q")

    def read(self) -> list[int]:
        """Return the counts so far."""
        return self._counts.tolist()

    def close(self) -> None:
        """Give the mapping back."""
        self._counts.release()
        self._memory.close()


Kind = TypeVar("Kind", bound=SharedCounts)


@contextmanager
def counting(kind: type[Kind]) -> Iterator[tuple[int, Kind]]:
    """Give fresh memory for counts of a kind while this lasts: its descriptor, for the process that counts, and them.

    It has no name in any folder (memfd_create(2)).
    """
    descriptor = os.memfd_create("tfo-lab-counts")
    try:
        os.ftruncate(descriptor, EACH_BYTES * kind.number)
        counts = kind(descriptor)
        try:
            yield descriptor, counts
        finally:
            counts.close()
    finally:
        os.close(descriptor)
