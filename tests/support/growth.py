"""How much longer work takes when there is four times as much of it: about 4 times if it is linear, 16 if quadratic."""

import time
from collections.abc import Callable

LINEAR = 9.0
"""Above what linear work takes on a busy machine, and below what quadratic work takes."""


def growth(work: Callable[[int], object], size: int) -> float:
    """Return how many times as long `work` of 4 times `size` takes; of three tries of each the fastest counts."""
    return min(_seconds(work, 4 * size) for _ in range(3)) / min(_seconds(work, size) for _ in range(3))


def _seconds(work: Callable[[int], object], size: int) -> float:
    begin_s = time.process_time()
    work(size)
    return time.process_time() - begin_s
