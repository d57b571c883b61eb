"""A visit of a page before the one that is timed, from which Chrome has nothing left but the servers' session tickets.

Chrome keeps tickets in memory only, by site, so both visits are those of one Chrome and of one page. In between, cache,
cookies and storage are emptied and all connections closed, TCP's and QUIC's (chrome://net-internals does that).

Whoever watches the load begins to count between the visits: `wait_for_watcher` and `watching_second_visit`.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from selenium import webdriver
from selenium.common.exceptions import WebDriverException

from harness.browser import page
from harness.system import tcp
from harness.system.background import beside

WARM, GO = "warm", "go"
"""Files in a load's folder: the first visit is over; and the second may begin."""
LOOK_S = 0.005
WATCHER_S = 20.0
"""How long whoever watches may take to read the counters of a hundred hosts."""
NET_INTERNALS = "chrome://net-internals/#sockets"
FLUSH = "chrome.send('flushSocketPools')"
READY_S = 5.0


def forget_all_but_tickets(driver: webdriver.Chrome) -> None:
    """Leave the page, empty cache, cookies and storage, and close all connections.

    Raises WebDriverException when Chrome does not do so.
    """
    driver.get("about:blank")
    for command, how in (("Network.clearBrowserCache", {}), ("Network.clearBrowserCookies", {}),
                         ("Storage.clearDataForOrigin", {"origin": "*", "storageTypes": "all"})):
        driver.execute_cdp_cmd(command, how)
    ours = driver.current_window_handle
    driver.switch_to.new_window("tab")
    driver.get(NET_INTERNALS)
    if not page.wait_until(lambda: driver.execute_script("return typeof chrome.send === 'function'"),
                           time.monotonic() + READY_S):
        raise WebDriverException("chrome://net-internals cannot close connections in this Chrome")
    driver.execute_script(FLUSH)
    if not page.wait_until(lambda: not tcp.connected(), time.monotonic() + READY_S):
        raise WebDriverException("chrome://net-internals did not close all connections")
    driver.close()
    driver.switch_to.window(ours)


def wait_for_watcher(folder: Path) -> None:
    """Say that the first visit is over, and wait until the second may begin. Raises TimeoutError."""
    (folder / WARM).touch()
    if not page.wait_until((folder / GO).exists, time.monotonic() + WATCHER_S, LOOK_S):
        raise TimeoutError("nobody watches the second visit")


@contextmanager
def watching_second_visit(folder: Path, begin: Callable[[], None]) -> Iterator[None]:
    """While this lasts, call `begin` from a thread as soon as the first visit is over, then let the second begin."""
    def watch(ended: threading.Event) -> None:
        while not ended.wait(LOOK_S):
            if os.path.lexists(folder / WARM):
                begin()
                with suppress(FileExistsError):     # Chrome's user may have made it, and what is wrong then shows
                    os.close(os.open(folder / GO, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644))
                return

    with beside(watch, "second visit"):
        yield
