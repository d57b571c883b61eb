"""How much longer work takes when there is four times as much of it: about 4 times if it is linear, 16 if quadratic."""

import math
import time
from collections.abc import Callable
from timeit import timeit

LINEAR = 9.0
"""Above what linear work takes on a busy machine, and below what quadratic work takes."""


LEAST, MOST = 3, 30
"""Tries. A busy machine makes work slower, never faster, so that more of them find out what it takes."""


def assert_linear(work: Callable[[int], object], size: int) -> None:
    """Fail unless `work` of 4 times `size` takes less than LINEAR times as long, the fastest try of each."""
    small_s = large_s = math.inf
    for tried in range(1, MOST + 1):
        small_s = min(small_s, timeit(lambda: work(size), timer=time.process_time, number=1))
        large_s = min(large_s, timeit(lambda: work(4 * size), timer=time.process_time, number=1))
        if tried >= LEAST and large_s < LINEAR * small_s:
            return
    raise AssertionError(f"{large_s / small_s:.1f} times as long")
