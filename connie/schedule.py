"""Whose turn it is in a race."""

import math
from collections import deque
from collections.abc import Iterable

from connie.addresses import Address


class Schedule:
    """Hands out addresses: so many at once, so far apart. Keeps no clock; `now` is any monotonic time in seconds."""

    def __init__(self, addresses: Iterable[Address], at_once: int | None, stagger_s: float) -> None:
        self.waiting = deque(addresses)
        self._at_once = math.inf if at_once is None else at_once
        self._stagger_s = stagger_s
        self._running = 0
        self._next_at = -math.inf

    def take(self, now: float) -> Address | None:
        """Return the next address to try, or None when it is nobody's turn yet."""
        if not self.waiting or self._running >= self._at_once or now < self._next_at:
            return None
        self._running += 1
        self._next_at = now + self._stagger_s
        return self.waiting.popleft()

    def failed(self) -> None:
        """One under way failed: its place is free, and the next need not keep its distance."""
        self._running -= 1
        self._next_at = -math.inf

    def wait_s(self, now: float) -> float | None:
        """Return the seconds until somebody's turn comes by itself; None when only a failure can bring it about."""
        if not self.waiting or self._running >= self._at_once:
            return None
        return max(0.0, self._next_at - now)
