"""When a page is complete: named rules, one of which harness.browser.page.wait_until is given.

A page has no end of its own. After its load event scripts may fetch more, and what was lost on the way is sent again a
second later. Each rule is a callable that is asked again and again, and says True once it holds.
"""

import time
from collections.abc import Callable
from pathlib import Path

from harness.system import tcp_sockets

IDLE_S = 0.5
"""Silence after which a page is complete when nothing is under way."""
LOOK_S = 0.2
"""So much silence a look tells of at most. Who looks late, since the machine or Chrome stood still, knows no more."""


class Unchanged:
    """Holds when a value has not changed for `quiet_s` seconds, whatever `read` measures."""

    def __init__(self, read: Callable[[], int], quiet_s: float) -> None:
        self._read, self._quiet_s = read, quiet_s
        self._value, self._looked, self._silent_s = read(), time.monotonic(), 0.0

    def __call__(self) -> bool:
        """Look once; tell whether the rule holds."""
        value, now = self._read(), time.monotonic()
        self._silent_s += min(now - self._looked, LOOK_S)
        if value != self._value:
            self._value, self._silent_s = value, 0.0
        self._looked = now
        return self._silent_s >= self._quiet_s


class Idle:
    """Holds when no packet has passed `interface` for `quiet_s`, or for IDLE_S while nothing is under way.

    Silence has to last that long because of what was lost: a SYN is sent again after a second. Where the kernel says
    that every SYN and all data are acknowledged, and every request is answered, nothing can have been lost.
    """

    def __init__(self, interface: str, quiet_s: float, under_way: Callable[[], bool] = tcp_sockets.under_way) -> None:
        self._silent = network_silent(interface, quiet_s)
        self._still = network_silent(interface, min(IDLE_S, quiet_s))
        self._under_way = under_way

    def __call__(self) -> bool:
        """Look once; tell whether the rule holds."""
        silent, still = self._silent(), self._still()
        return silent or (still and not self._under_way())


def network_silent(interface: str, quiet_s: float) -> Unchanged:
    """Return the rule that no packet has passed `interface` for `quiet_s` seconds."""
    return Unchanged(lambda: packets(interface), quiet_s)


def net_log_silent(net_log: Path, quiet_s: float) -> Unchanged:
    """Return the rule that the net-log has not grown: every byte on every connection is an event in it."""
    return Unchanged(lambda: net_log.stat().st_size, quiet_s)


def packets(interface: str) -> int:
    """Return how many packets have arrived on and left an interface of this thread's network (proc(5), net/dev)."""
    for line in Path("/proc/thread-self/net/dev").read_text().splitlines():
        name, _, fields = line.partition(":")
        if name.strip() == interface:
            counts = fields.split()
            return int(counts[1]) + int(counts[9])
    raise ValueError(f"no interface {interface}")
