"""How many SYNs a middlebox saw and touched: counted by it in shared memory, read by whoever measures a load."""

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

SIZE_BYTES = 16


@dataclass(frozen=True)
class SynCounts:
    """How many SYNs came to the box, and to how many of them it did what it does."""

    seen: int
    touched: int

    def since(self, before: "SynCounts") -> "SynCounts":
        """Return what was counted since `before` was read."""
        return SynCounts(self.seen - before.seen, self.touched - before.touched)


class SharedSynCounts:
    """Those counts in shared memory; they only ever grow."""

    def __init__(self, descriptor: int) -> None:
        """Use the memory behind `descriptor` (see `counting_syns`), which stays open and the caller's."""
        self._memory = mmap.mmap(descriptor, SIZE_BYTES)
        self._counts = memoryview(self._memory).cast("Q")

    def count(self, *, touched: bool) -> None:
        """Count a SYN."""
        self._counts[0] += 1
        self._counts[1] += touched

    def read(self) -> SynCounts:
        """Return the counts so far."""
        return SynCounts(*self._counts.tolist())

    def close(self) -> None:
        """Give the mapping back."""
        self._counts.release()
        self._memory.close()


@contextmanager
def counting_syns() -> Iterator[tuple[int, SharedSynCounts]]:
    """Give fresh shared memory while this lasts: its descriptor, for the box, and the counts."""
    descriptor = os.memfd_create("tfo-lab-middlebox")
    try:
        os.ftruncate(descriptor, SIZE_BYTES)
        counts = SharedSynCounts(descriptor)
        try:
            yield descriptor, counts
        finally:
            counts.close()
    finally:
        os.close(descriptor)
