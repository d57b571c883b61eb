"""The race as a state machine: its options, whose turn it is, and what became of whom. It opens no socket."""

import errno
import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from connie.addresses import Address, Preference
from connie.cache import CACHE, DnsCache
from connie.errors import ConnectError, FailedAttempt, connect_error

SHORTAGES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
"""What this process or machine has too few of: descriptors, memory (socket(2), connect(2)). No address is to blame."""

PATIENCE_S = 0.2
"""How long to wait in a shortage when this race has no attempt that could end it: other races may end one."""

RETRY_S = 0.01


@dataclass(frozen=True)
class RaceOptions:
    """The keyword options of connie_connect, for what connects on its caller's behalf: connie.http, the adapters.

    max_attempts: handshakes under way at the same time, at most; None: as many as there are addresses. An address that
        never answers keeps its place until the kernel gives it up (Linux: about 2 minutes), so that with as many dead
        addresses in front as there are places the others wait.
    stagger: seconds between the starts of two attempts (RFC 8305 recommends 0.25); 0: all at once. A failed attempt
        makes the next one start without waiting.
    prefer: the address family (socket.AF_INET6) to begin with; families take turns. None: getaddrinfo's first.
    cache: where names are looked up; None asks each time anew.
    """

    max_attempts: int | None = None
    stagger: float = 0.0
    prefer: Preference = None
    cache: DnsCache | None = field(default=CACHE)

    def __post_init__(self) -> None:
        """Raise ValueError for options that make no race."""
        if self.max_attempts is not None and self.max_attempts < 1:
            raise ValueError(f"max_attempts is {self.max_attempts}, and a race needs at least 1")
        if not 0 <= self.stagger < math.inf:
            raise ValueError(f"stagger is {self.stagger}, and has to be seconds, 0 or more")


class Racing:
    """Stands before a class of others', takes `race` besides its arguments, and keeps it."""

    def __init__(self, *arguments: Any, race: RaceOptions | None = None, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._race = RaceOptions() if race is None else race


class Race:
    """Hands out addresses in their order: at most `at_once` (None: all) under way, at least `stagger_s` apart.

    A failure makes the next attempt start without waiting. A shortage is no failure: the address goes back to the head
    of the queue until an attempt under way ends and frees what it has. With no attempt under way the race tries again
    for PATIENCE_S; then all that wait fail with the error of the shortage.
    `now` and `deadline` (None: no limit) are seconds of any monotonic clock.
    """

    def __init__(self, addresses: Sequence[Address], at_once: int | None, stagger_s: float,
                 deadline: float | None) -> None:
        self._addresses = addresses
        self._places = math.inf if at_once is None else at_once
        self._stagger_s = stagger_s
        self._deadline = math.inf if deadline is None else deadline
        self._waiting = deque(addresses)
        self._running = 0
        self._next_at = -math.inf
        self._give_up_at = math.inf
        self._failed: dict[Address, OSError] = {}

    def take(self, now: float) -> Address | None:
        """Return the next address to try, or None when it is nobody's turn yet."""
        if not self._waiting or self._running >= self._places or now < self._next_at:
            return None
        self._running += 1
        self._next_at = now + self._stagger_s
        return self._waiting.popleft()

    def failed(self, address: Address, error: OSError, now: float) -> None:
        """Note that the attempt to connect to `address` ended with `error`, and that its socket is closed."""
        self._running -= 1
        self._failed[address] = error
        if error.errno not in SHORTAGES:
            self._next_at, self._give_up_at = -math.inf, math.inf
            return
        self._waiting.appendleft(address)
        if self._running:
            self._next_at = math.inf                # until one of those under way fails
            return
        self._give_up_at = min(self._give_up_at, now + PATIENCE_S)
        self._next_at = now + RETRY_S
        if now >= self._give_up_at:
            self._failed.update(dict.fromkeys(self._waiting, error))
            self._waiting.clear()

    def wait_s(self, now: float) -> float | None:
        """Return the seconds until something is to be done whatever the network does; None for never."""
        turn = self._next_at if self._waiting and self._running < self._places else math.inf
        wait_s = max(0.0, min(turn, self._deadline) - now)
        return None if math.isinf(wait_s) else wait_s

    def is_lost(self) -> bool:
        """Tell whether every address has failed."""
        return not self._running and not self._waiting

    def is_late(self, now: float) -> bool:
        """Tell whether the time is over."""
        return now >= self._deadline

    def error(self, name: str) -> ConnectError:
        """Return the error of a race to the addresses of `name` that nobody won; those under way ran out of time."""
        late = TimeoutError(errno.ETIMEDOUT, "timed out")
        attempts = [FailedAttempt(address, self._failed.get(address, late)) for address in self._addresses]
        return connect_error(f"no connection to {name}", attempts, timed_out=not self.is_lost())
