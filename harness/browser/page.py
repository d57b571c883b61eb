"""A page in Chrome: go to it, wait for its load event, wait until it is complete, and ask its scripts.

A page has no end of its own. After its load event scripts may fetch more, and what was lost on the way is sent again a
second later. So there are rules for when it is complete, one of which `wait_until` is given: callables that are asked
again and again, and say True once they hold.

Nothing here waits for ever. A command to Chrome may raise selenium's WebDriverException, and urllib3's HTTPError when
chromedriver itself has ended or hangs: ERRORS are both, and `first_line` says what they mean.
"""

import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.common.exceptions import UnexpectedAlertPresentException, WebDriverException
from selenium.webdriver.remote.remote_connection import RemoteConnection
from urllib3.exceptions import HTTPError

from harness.system import tcp

ERRORS = (WebDriverException, HTTPError, OSError)
LOAD_EVENT_GRACE_S = 2.0
"""How long after a document is complete its load event may still be missing: its handlers run, or it has none."""
POLL_S = 0.05
DIALOGS_S = 5.0
"""How long one dialog after the other may keep a page from answering a script of ours."""

BROWSERS_OWN = """
const performance = window[Symbol.for('tfo-lab.performance')] ?? window.performance;
const own = name => Object.getOwnPropertyDescriptor(Document.prototype, name).get.call(document);
"""
"""JavaScript with which our scripts begin, since a page may mean something else by a name of the browser's: its own
object (`var performance = ...`), or an element (document.title, with <form name=title>; own('title') is the title)."""
TIME_ORIGIN = "(performance[Symbol.for('tfo-lab.timeOrigin')] ?? performance.timeOrigin)"
"""JavaScript, behind BROWSERS_OWN, for the real time origin: deterministic.js shows another one to pages."""

LOAD_EVENT_SCRIPT = f"""{BROWSERS_OWN}
const entry = performance.getEntriesByType('navigation')[0];
return {{complete: own('readyState') == 'complete', ended: Boolean(entry && entry.loadEventEnd)}};
"""


def navigate(driver: webdriver.Chrome, url: str, deadline: float) -> bool:
    """Go to the page and wait for its load event, past any dialogs it opens, until `deadline` (monotonic).

    Returns whether the load event was seen. Meanwhile the page is asked nothing, so that nothing but itself takes its
    time. Raises selenium's TimeoutException after the driver's page load timeout.
    """
    with contextlib.suppress(UnexpectedAlertPresentException):     # get() returned at a dialog, and the load goes on
        driver.get(url)
    return wait_for_load_event(driver, deadline)


def begin_navigation(driver: webdriver.Chrome, url: str) -> dict[str, Any]:
    """Go to the page until its document begins to arrive; return Chrome's answer (CDP, Page.navigate)."""
    answer: dict[str, Any] = driver.execute_cdp_cmd("Page.navigate", {"url": url})
    return answer


def wait_for_load_event(driver: webdriver.Chrome, deadline: float) -> bool:
    """Wait until the load event's handlers have run: get() may return while they do, or at a dialog before.

    Returns whether they have before `deadline`, or LOAD_EVENT_GRACE_S after the document was complete.
    """
    while time.monotonic() < deadline:
        state = run_script(driver, LOAD_EVENT_SCRIPT, deadline)
        if state["ended"]:
            return True
        if state["complete"]:
            deadline = min(deadline, time.monotonic() + LOAD_EVENT_GRACE_S)
        time.sleep(POLL_S)
    return False


def run_script(driver: webdriver.Chrome, script: str, deadline: float) -> Any:
    """Return what the script returns. A dialog that opens while it runs is dismissed, and the script run again.

    Raises UnexpectedAlertPresentException when at `deadline` (monotonic) the page still opens dialogs.
    """
    while time.monotonic() < deadline:
        with contextlib.suppress(UnexpectedAlertPresentException):
            return driver.execute_script(script)
    return driver.execute_script(script)


def wait_until(is_complete: Callable[[], bool], deadline: float, poll_s: float = POLL_S) -> bool:
    """Ask `is_complete`, one of the rules below, until it says so; return whether before `deadline`."""
    while time.monotonic() < deadline:
        if is_complete():
            return True
        time.sleep(poll_s)
    return False


def limit_commands(driver: webdriver.Chrome, seconds: float) -> None:
    """Have no command to the driver wait longer than `seconds`: it fails with urllib3's TimeoutError instead."""
    if isinstance(driver.command_executor, RemoteConnection):      # the other type selenium names is never there
        driver.command_executor.client_config.timeout = seconds


def argv(driver: webdriver.Chrome) -> list[str]:
    """Return Chrome's command line as it runs, chromedriver's own additions included."""
    pid = driver.capabilities["goog:processID"]
    return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").rstrip("\0").split("\0")


def versions(driver: webdriver.Chrome) -> dict[str, str]:
    """Return the versions of Chrome, its driver and Selenium."""
    found = driver.capabilities
    return {"chrome": found["browserVersion"], "selenium": webdriver.__version__,
            "chromedriver": found["chrome"]["chromedriverVersion"].split()[0]}


def first_line(error: Exception) -> str:
    """Return the one line of the error's message that says something."""
    if isinstance(error, HTTPError):
        return "chromedriver ended, or does not answer"
    text = (error.msg if isinstance(error, WebDriverException) else None) or str(error) or type(error).__name__
    return text.splitlines()[0].partition("; For documentation")[0]


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

    def __init__(self, interface: str, quiet_s: float) -> None:
        self._silent = network_silent(interface, quiet_s)
        self._still = network_silent(interface, min(IDLE_S, quiet_s))

    def __call__(self) -> bool:
        """Look once; tell whether the rule holds."""
        silent, still = self._silent(), self._still()
        return silent or (still and not tcp.under_way())


def network_silent(interface: str, quiet_s: float) -> Unchanged:
    """Return the rule that no packet has passed `interface` for `quiet_s` seconds."""
    return Unchanged(lambda: packets(interface), quiet_s)


def net_log_silent(net_log: Path, quiet_s: float) -> Unchanged:
    """Return the rule that the net-log has not grown: every byte on every connection is an event in it."""
    return Unchanged(lambda: net_log.stat().st_size, quiet_s)


def packets(interface: str) -> int:
    """Return how many packets have arrived on and left an interface of this thread's network (proc(5), net/dev).

    Raises OSError where it is gone.
    """
    lines = (line.partition(":") for line in Path("/proc/thread-self/net/dev").read_text().splitlines())
    counts = next((fields.split() for name, _, fields in lines if name.strip() == interface), None)
    if counts is None:
        raise OSError(f"no interface {interface}")
    return int(counts[1]) + int(counts[9])
