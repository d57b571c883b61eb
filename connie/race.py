"""The race itself, for threads: start what is due, wait, look who is first."""

import os
import selectors
import time
from collections.abc import Sequence

from connie.addresses import Address
from connie.attempt import Attempt, Setup, begin, close_all
from connie.errors import all_failed
from connie.schedule import Schedule

# A few sockets for a short while: poll() is one system call and no descriptor, where epoll and kqueue need both.
_Selector = getattr(selectors, "PollSelector", selectors.DefaultSelector)
_LONGEST_WAIT_S = 3600.0
"""poll() counts milliseconds in an int; a longer wait is made of several."""


class Race:
    """Attempts to connect to the addresses of one host, of which at most one wins."""

    def __init__(self, addresses: Sequence[Address], setup: Setup, schedule: Schedule, deadline: float | None) -> None:
        self._addresses = addresses
        self._setup = setup
        self._schedule = schedule
        self._deadline = deadline
        self._running: list[Attempt] = []           # in the order started, which decides between several ready at once
        self._failed: dict[Address, OSError] = {}
        self._selector: selectors.BaseSelector = _Selector()

    def run(self, name: str) -> Attempt:
        """Return the first attempt whose handshake completes; every other socket is closed.

        `name` says in the error whose addresses these were. Raises ConnectError.
        """
        winner = None
        try:
            while winner is None:
                self._start_due()
                if not self._running:
                    raise all_failed(name, self._addresses, self._failed)
                ready = self._selector.select(self._wait_s())
                winner = self._first_of({key.fd for key, _ in ready})
                if winner is None and self._is_over():
                    raise all_failed(name, self._addresses, self._failed, timed_out=True)
        finally:
            self._selector.close()
            close_all(attempt.sock for attempt in self._running if attempt is not winner)
        return winner

    def _start_due(self) -> None:
        while (address := self._schedule.take(time.monotonic())) is not None:
            self._start(address)

    def _start(self, address: Address) -> None:
        try:
            attempt = begin(address, self._setup)
        except OSError as error:
            self._failed[address] = error
            self._schedule.failed()
        else:
            self._running.append(attempt)
            self._selector.register(attempt.sock, selectors.EVENT_WRITE)

    def _wait_s(self) -> float | None:
        now = time.monotonic()
        waits = [_LONGEST_WAIT_S, self._schedule.wait_s(now), None if self._deadline is None else self._deadline - now]
        return max(0.0, min(wait for wait in waits if wait is not None))

    def _first_of(self, ready: set[int]) -> Attempt | None:
        """Return the first attempt that completed its handshake, and drop those that failed."""
        for attempt in [attempt for attempt in self._running if attempt.sock.fileno() in ready]:
            code = attempt.outcome()
            if code == 0:
                return attempt
            self._selector.unregister(attempt.sock)
            self._running.remove(attempt)
            attempt.sock.close()
            self._failed[attempt.address] = OSError(code, os.strerror(code))
            self._schedule.failed()
        return None

    def _is_over(self) -> bool:
        return self._deadline is not None and time.monotonic() >= self._deadline
