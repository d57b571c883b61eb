"""Waiting in a test for what another process does: for as long as it takes, up to pytest's own limit.

That one (pyproject.toml, timeout) is the only limit; waits, subprocesses and connections have none of their own. On a
busy machine anything takes ten times as long now and then, or stands still for seconds: only what hangs takes so long.
"""

import time
from collections.abc import Callable

POLL_S = 0.05
"""Looking through /proc takes some ms of a processor, which what is waited for needs itself."""


def wait_until(happened: Callable[[], object]) -> None:
    """Poll until `happened()` holds."""
    while not happened():
        time.sleep(POLL_S)
