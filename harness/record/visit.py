"""Visit one page in Chrome as a person would, in a process of its own: harness.record.recorder starts it and can end
it.

It gives up root, and leaves Chrome's net-log and visit.json (a Visit). Whatever the page does, it ends: every command
to Chrome has a limit, and so has every wait.
"""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.common.exceptions import UnexpectedAlertPresentException, WebDriverException
from urllib3.exceptions import HTTPError

from harness.browser import chrome, page, program
from harness.browser.page import net_log_silent
from harness.system.privileges import User, become
from harness.system.processes import die_with_parent, terminate_as_interrupt

VISIT = "visit.json"
POLL_S = 0.1
MOST_NETLOG_BYTES = 500_000_000
"""A visit ends when its net-log has grown to this, some 150 MB of bodies: films have no end."""
HASTE_S = 0.5
"""How long Chrome may take to end when the visit is cut short."""
WINDOWS_EVERY_S = 1.0
SCROLL_STEPS, SCROLL_PAUSE_S = 50, 0.1
BEING_REPLACED = ("navigat", "context", "frame", "timeout")
"""Words of chromedriver's when the page goes elsewhere while it is asked. On a busy machine it is just "timeout"."""
PAGE_SCRIPT = f"""{page.BROWSERS_OWN}
const entry = performance.getEntriesByType('navigation')[0];
return {{timing: entry ? entry.toJSON() : {{}}, time_origin_ms: {page.TIME_ORIGIN},
        document_uri: own('documentURI'), ready: own('readyState')}};
"""
SCROLL_SCRIPT = """
const root = document.scrollingElement || document.documentElement;
window.scrollTo({top: root.scrollTop + innerHeight, behavior: 'instant'});
return root.scrollTop + innerHeight + 1 < root.scrollHeight;
"""


@dataclass(frozen=True)
class VisitSettings:
    """One visit: what to load and how long to wait, in seconds. `user_agent` "" stands for Chrome's own, not headless.

    `rules`, `trusted_key`: see harness.browser.chrome.ChromeSettings. `shim` is what is preloaded: pages of archives
    need it, since Chrome's list of HSTS hosts is of today.
    """

    url: str
    browser: program.Browser
    rules: str | None = None
    trusted_key: str | None = None
    shim: Path | None = None
    user_agent: str = ""
    load_timeout_s: float = 60.0
    quiet_s: float = 2.0
    quiet_limit_s: float = 30.0
    command_s: float = 20.0
    """Longest time that Chrome may take to answer a command; a page whose scripts never rest cannot answer."""

    def hard_limit_s(self) -> float:
        """Return how long the visit can take when every wait takes as long as it may, with some seconds to spare."""
        return self.load_timeout_s + self.quiet_limit_s + SCROLL_STEPS * SCROLL_PAUSE_S + 4 * self.command_s


@dataclass
class Visit:
    """What was seen. Ticks are ms of the monotonic clock, Chrome's; `errors` say why the page cannot be used."""

    user_agent: str = ""
    chrome: str = ""
    argv: list[str] = field(default_factory=list)
    start_tick: float = 0.0
    end_tick: float | None = None
    document_uri: str = ""
    time_origin_ms: float | None = None
    timing: dict[str, Any] = field(default_factory=dict)
    quiet: bool = False
    loaded: bool = False
    errors: list[str] = field(default_factory=list)


def make_visit(settings: VisitSettings, work_dir: Path, user: User) -> int:
    """Load the page and write a Visit; the status is 1 when it was cut short. Whoever calls this ends soon after."""
    terminate_as_interrupt()
    chrome.deterministic_script()                  # the project may lie in a directory that is closed to others
    become(user)
    die_with_parent()                              # again: the change of user undid what its start asked for
    report = Visit()
    try:
        _visit(settings, work_dir, report)
    except KeyboardInterrupt:
        return 1
    (work_dir / VISIT).write_text(json.dumps(asdict(report)), encoding="utf-8")
    return 0


def _visit(settings: VisitSettings, work_dir: Path, report: Visit) -> None:
    patience_s = settings.command_s
    try:
        report.user_agent = settings.user_agent or chrome.visitors_user_agent(settings.browser)
        how = chrome.ChromeSettings(work_dir, settings.rules, settings.shim, trusted_key=settings.trusted_key,
                                    capture_bodies=True, user_agent=report.user_agent, unattended=True)
        driver = chrome.start(settings.browser, how)
    except page.ERRORS as error:
        report.errors.append(f"Chrome did not start: {page.first_line(error)}")
        return
    try:
        report.chrome = driver.capabilities["browserVersion"]
        report.argv = page.argv(driver)
        _Visitor(driver, settings, how.net_log, report).go()
    except HTTPError:
        report.errors.append(f"Chrome did not answer for {settings.command_s:g} s: its scripts never rest, or "
                             "this machine is busy")
        if driver.service.process is not None:
            driver.service.process.kill()           # it, too, waits for Chrome, which is killed with it
    except page.ERRORS as error:
        report.errors.append(page.first_line(error))
    except KeyboardInterrupt:
        patience_s = HASTE_S                        # nobody wants its net-log any more
        raise
    finally:
        chrome.end(driver, patience_s)


class _Visitor:
    """Goes through one visit, step by step."""

    def __init__(self, driver: webdriver.Chrome, settings: VisitSettings, net_log: Path, report: Visit) -> None:
        self.driver, self.settings, self.net_log, self.report = driver, settings, net_log, report
        self.window = driver.current_window_handle
        self.windows_seen_s = 0.0

    def go(self) -> None:
        self.report.start_tick = _tick()
        deadline = time.monotonic() + self.settings.load_timeout_s
        if self._navigate():
            if not self._wait(self._look, deadline):
                self.report.errors.append(f"no load event before {self.settings.load_timeout_s:g} s were over")
            quiet_by = time.monotonic() + self.settings.quiet_limit_s
            # First what a page does for what is in sight without scrolling.
            self._wait_for_quiet(quiet_by - self.settings.quiet_limit_s / 2)
            self._scroll(quiet_by)
            self._wait_for_quiet(quiet_by)
            self._look()
        self.report.end_tick = _tick()

    def _navigate(self) -> bool:
        """Go to the page until its document begins to arrive; tell whether it did."""
        page.limit_commands(self.driver, self.settings.load_timeout_s)
        try:
            answer = page.begin_navigation(self.driver, self.settings.url)
        except HTTPError:
            self.report.errors.append(f"no answer within {self.settings.load_timeout_s:g} s")
            return False
        finally:
            page.limit_commands(self.driver, self.settings.command_s)
        if answer.get("isDownload"):
            self.report.errors.append("this is a file to download, not a page")
        elif answer.get("errorText"):
            self.report.errors.append(f"Chrome shows an error page: {answer['errorText']}")
        return not self.report.errors

    def _look(self) -> bool:
        """Note what the page says of itself, and return whether it has loaded. One that goes elsewhere meanwhile is
        asked again later.
        """
        report = self.report
        if seen := self._run(PAGE_SCRIPT):
            report.timing, report.time_origin_ms = seen["timing"], seen["time_origin_ms"]
            report.document_uri = seen["document_uri"]
            report.loaded = seen["ready"] == "complete" and bool(seen["timing"].get("loadEventEnd"))
        return report.loaded

    def _run(self, script: str) -> Any:
        """Run `script` in the page, past its dialogs; None while the page is being replaced."""
        try:
            return page.run_script(self.driver, script, time.monotonic() + page.DIALOGS_S)
        except UnexpectedAlertPresentException:
            raise WebDriverException("it opens one dialog after the other") from None
        except WebDriverException as error:
            if any(word in page.first_line(error) for word in BEING_REPLACED):
                return None
            raise

    def _scroll(self, deadline: float) -> None:
        """Scroll to the bottom, a window's height at a time, so that lazy images come into sight."""
        for _ in range(SCROLL_STEPS):
            if not self._run(SCROLL_SCRIPT) or time.monotonic() > deadline:
                return
            time.sleep(SCROLL_PAUSE_S)

    def _wait_for_quiet(self, deadline: float) -> None:
        """Wait until no byte has come or gone for quiet_s."""
        self.report.quiet = self._wait(net_log_silent(self.net_log, self.settings.quiet_s), deadline)

    def _wait(self, over: Callable[[], bool], deadline: float) -> bool:
        """Wait until `over()`, `deadline` at the latest, and keep the page's dialogs and windows shut meanwhile."""
        while True:
            self._close_windows()
            if over():
                return True
            if time.monotonic() > deadline or self.net_log.stat().st_size > MOST_NETLOG_BYTES:
                return False
            time.sleep(POLL_S)

    def _close_windows(self) -> None:
        if time.monotonic() - self.windows_seen_s < WINDOWS_EVERY_S:
            return
        self._run("return 0")                       # dismisses a dialog, which would hold up everything
        for window in self.driver.window_handles:
            if window != self.window:
                self.driver.switch_to.window(window)
                self.driver.close()
                self.driver.switch_to.window(self.window)
        self.windows_seen_s = time.monotonic()


def _tick() -> float:
    """Return the monotonic clock in ms, which on Linux is the net-log's."""
    return time.monotonic() * 1000
