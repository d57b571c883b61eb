"""One page load: of what, and how (tfo-test/load_page.py gets it as JSON), and the load in headless Chrome itself.

The process that does so gives up root first, so that Chrome runs unprivileged in its own sandbox. In the directory that
it is given, which is empty, it leaves:

    PAGE, PAGE.har   the client log in the 2013 format, and as HAR
    load.json        the load's figures, what was started, and what went wrong
    netlog.json      Chrome's own net-log, which all of these come from
"""

import json
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from selenium import webdriver
from selenium.common.exceptions import InvalidSessionIdException, TimeoutException, WebDriverException

from harness.browser import chrome, page
from harness.browser.chrome import ChromeSettings
from harness.browser.devtools import read_initiators
from harness.browser.page import Idle, network_silent
from harness.browser.program import CLOCK_SHIFT_MS, Browser
from harness.browser.warm_pair import forget_all_but_tickets, wait_for_watcher
from harness.errors import ExperimentError, InputError, printable
from harness.files.pages import sanitise
from harness.measure.client_log import REPORT, shows_error_page, write_client_log
from harness.measure.settings import Settings
from harness.netlog.load import NetLog, read_netlog
from harness.system.atomic import write_atomically
from harness.system.privileges import User, become
from harness.system.processes import terminate_as_interrupt

LOOK_S = 0.005
"""How often it is looked whether the network is silent. A look takes less than 0.1 ms, and 5 ms at the end, when the
kernel is asked what is under way."""
READERS_NICE = 5
"""By nice(1): Chrome goes before who reads its net-log, and on a busy machine that is read, too."""
COMMAND_S = 15.0
"""Longest time that Chrome may take to answer a question; a page whose scripts never rest cannot answer."""

NAVIGATION_SCRIPT = f"""{page.BROWSERS_OWN}
const entry = performance.getEntriesByType('navigation')[0];
const entries = type => {{
    const observer = new PerformanceObserver(() => {{}});
    observer.observe({{type: type, buffered: true}});
    const found = observer.takeRecords();
    observer.disconnect();
    return found;
}};
const long_tasks = entries('longtask').map(task => [task.startTime, task.duration]);
const painted = entries('paint').find(paint => paint.name == 'first-contentful-paint');
return {{timing: entry ? entry.toJSON() : null, time_origin_ms: {page.TIME_ORIGIN}, long_tasks: long_tasks,
        fcp_ms: painted?.startTime ?? null, lcp_ms: entries('largest-contentful-paint').pop()?.startTime ?? null,
        now_ms: performance.now(), document_uri: own('documentURI')}};
"""


@dataclass(frozen=True, kw_only=True)
class PageLoad:
    """The page at `url`, loaded by `user` in `browser`, which is started as `chrome` says, in an empty folder.

    The load ends when nothing moves any more on the network interface `interface`.
    """

    url: str
    interface: str
    user: User
    browser: Browser
    chrome: ChromeSettings
    settings: Settings = field(default_factory=Settings)
    asked_as: str = ""
    """Where to go, if the recording's Chrome made another URL of the page's by itself (HSTS)."""
    nice: int = 0
    """Other programs go before Chrome by nice(1), which servers on its own machine need."""

    def to_json(self) -> str:
        """Return it as one line of JSON."""
        return msgspec.json.encode(self, enc_hook=str).decode()


def read_page_load(text: str) -> PageLoad:
    """Read JSON. Raises InputError."""
    try:
        return msgspec.json.decode(text, type=PageLoad, dec_hook=lambda kind, value: kind(value))
    except (msgspec.DecodeError, ValueError) as error:
        raise InputError(f"load_page.py: not a load: {error}; see harness/measure/loading.py") from None


class _Reading:
    """Chrome's net-log, read in a thread from `begin` on while Chrome writes it: when what is measured is over.

    The thread reads until Chrome has written all of it, which `is_over` tells.
    """

    def __init__(self, net_log: Path) -> None:
        self._net_log, self._pool = net_log, ThreadPoolExecutor(1, initializer=os.nice, initargs=(READERS_NICE,))
        self._found: Future[NetLog] | None = None
        self.is_over: Callable[[], bool] = lambda: False

    def begin(self) -> Future[NetLog]:
        """Begin to read, unless that has begun. The result raises ExperimentError."""
        self._found = self._found or self._pool.submit(
            read_netlog, self._net_log, is_over=lambda: self.is_over())     # noqa: PLW0108 (it is set meanwhile)
        return self._found

    def give_up(self) -> None:
        """End the thread, when Chrome has ended."""
        self.is_over = lambda: True
        self._pool.shutdown()


def _load(wanted: PageLoad) -> dict[str, Any]:
    """Load the page; return the contents of load.json. A load that fails has the reason under "errors"."""
    report: dict[str, Any] = {"url": wanted.url, "asked_as": wanted.asked_as or wanted.url, "errors": []}
    try:
        driver = chrome.start(wanted.browser, wanted.chrome)
    except page.ERRORS as error:
        report["errors"].append(f"Chrome did not start: {page.first_line(error)}")
        return report
    reading = _Reading(wanted.chrome.net_log)
    try:
        try:
            report["versions"] = page.versions(driver)
            report["argv"] = page.argv(driver)
            driver.set_page_load_timeout(wanted.settings.timeout_s)
            page.limit_commands(driver, wanted.settings.timeout_s + COMMAND_S)
            if not wanted.settings.warm_pairs or _first_visit(driver, wanted, report):
                _visit(driver, wanted, report, reading.begin)
        except page.ERRORS as error:
            report["errors"].append(f"Chrome: {page.first_line(error)}")
        reading.is_over = chrome.ending(driver)
        netlog = reading.begin().result()
        if chrome.replaced_network_process(wanted.chrome):
            report["errors"].append("Chrome: its network process ended, and it started another")
    except ExperimentError as error:
        report["errors"].append(str(error))
        return report
    finally:
        try:
            chrome.kill(driver)
        finally:                # a second Ctrl-C must not leave a thread that Python waits for
            reading.give_up()
    if shows_error_page(report):
        report["errors"].append("Chrome shows an error page")
    return {**report, **write_client_log(wanted.chrome.work_dir, sanitise(wanted.url), netlog, report)}


def _first_visit(driver: webdriver.Chrome, wanted: PageLoad, report: dict[str, Any]) -> bool:
    """Visit the page without timing it, for the servers' tickets; say whether the visit that is timed can begin."""
    settings = wanted.settings
    try:
        page.navigate(driver, report["asked_as"], time.monotonic() + settings.timeout_s)
        page.wait_until(Idle(wanted.interface, settings.quiet_s), time.monotonic() + settings.quiet_limit_s, LOOK_S)
        forget_all_but_tickets(driver)
        if wanted.chrome.initiators:
            read_initiators(driver)     # of this visit
        wait_for_watcher(wanted.chrome.work_dir)
    except (WebDriverException, TimeoutError) as error:
        report["errors"].append(f"Chrome, in the visit before: {page.first_line(error)}")
        return False
    report["warm_ms"] = time.time() * 1000 + CLOCK_SHIFT_MS
    return True


def _visit(driver: webdriver.Chrome, wanted: PageLoad, report: dict[str, Any], loaded: Callable[[], object]) -> None:
    """Go to the page, call `loaded` after its load event, wait for silence on the network, and read its timing."""
    settings = wanted.settings
    late = False
    try:
        has_loaded = page.navigate(driver, report["asked_as"], time.monotonic() + settings.timeout_s)
        if has_loaded:
            loaded()
        rule = (Idle if has_loaded else network_silent)(wanted.interface, settings.quiet_s)
        report["quiet"] = page.wait_until(rule, time.monotonic() + settings.quiet_limit_s, LOOK_S)
    except TimeoutException:
        late = True
        report["timed_out_s"] = settings.timeout_s
    except InvalidSessionIdException:
        report["errors"].append("Chrome ended in the middle of the load")
        return
    except WebDriverException as error:
        report["errors"].append(f"Chrome: {page.first_line(error)}")
    page.limit_commands(driver, COMMAND_S)
    try:
        report.update(page.run_script(driver, NAVIGATION_SCRIPT, time.monotonic() + page.DIALOGS_S))
    except WebDriverException as error:
        report["errors"].append(f"navigation timing: {page.first_line(error)}")
    if wanted.chrome.initiators:
        report["initiators"] = read_initiators(driver)
    if late and report.get("timing"):
        report["timing"]["loadEventEnd"] = None    # a page that is told to stop has a load event too


def load_page(wanted: PageLoad) -> int:
    """Load a page and write load.json; return 1 when the load failed, else 0. Whoever calls this ends soon after."""
    terminate_as_interrupt()                 # Chrome is ended on the way out
    os.nice(wanted.nice)
    chrome.deterministic_script()            # read now: the project may lie in a directory closed to Chrome's user
    become(wanted.user)
    try:
        report = _load(wanted)
    except KeyboardInterrupt:
        return 1
    write_atomically(wanted.chrome.work_dir / REPORT, json.dumps(report, indent=1))
    for error in report["errors"]:
        print(printable(error), file=sys.stderr)
    return 1 if report["errors"] or not report.get("plt_ms") else 0
