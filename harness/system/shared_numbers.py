"""Numbers that one process writes and others read, in memory that they share: nothing has to be asked or locked.

    with sharing(2) as (descriptor, numbers):      # the process that writes inherits the descriptor
        ...                                         # shared_numbers(descriptor)[0] += 1
        numbers.tolist()
"""

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager

EACH_BYTES = 8


def shared_numbers(descriptor: int) -> "memoryview[float]":
    """Return the numbers in the memory behind a descriptor, as floating-point numbers."""
    return memoryview(mmap.mmap(descriptor, 0)).cast("d")


@contextmanager
def sharing(count: int) -> Iterator[tuple[int, "memoryview[float]"]]:
    """Give fresh memory for so many numbers, all 0, while this lasts: its descriptor, for who writes, and the numbers.

    It has no name in any folder (memfd_create(2)).
    """
    descriptor = os.memfd_create("tfo-lab-numbers")
    try:
        os.ftruncate(descriptor, EACH_BYTES * count)
        yield descriptor, shared_numbers(descriptor)
    finally:
        os.close(descriptor)
