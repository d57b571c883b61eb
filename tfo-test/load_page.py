#!/usr/bin/env python3
"""Load one page in headless Chrome on this host and write down what happened.

tfo.py starts it inside `user`'s network namespace, once per load, with a fresh directory to work in. It gives up root
as soon as its modules are loaded, so Chrome runs unprivileged in its own sandbox. It leaves in the directory:

    PAGE, PAGE.har   the client log in the 2013 format, and as HAR
    load.json        the load's figures, what was started, and what went wrong
    netlog.json      Chrome's own net-log, which all of these come from
"""

import argparse
import contextlib
import json
import os
import shutil
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import use_project_python

use_project_python()

from selenium import webdriver
from selenium.common.exceptions import (
    InvalidSessionIdException,
    TimeoutException,
    UnexpectedAlertPresentException,
    WebDriverException,
)

from harness import browser
from harness.atomic import write_atomically
from harness.client_log import shows_error_page, write_client_log
from harness.errors import ExperimentError, run_main
from harness.hack_dns import read_hack_dns, resolver_rules
from harness.pages import sanitise
from harness.privileges import User, become
from harness.processes import die_with_parent

LOAD_EVENT_GRACE_S = 2.0
DIALOGS_S = 5.0
"""How long one dialog after the other may keep a finished page from telling its timing."""
POLL_S = 0.05

NAVIGATION_SCRIPT = """
const entry = performance.getEntriesByType('navigation')[0];
const observer = new PerformanceObserver(() => {});
observer.observe({type: 'longtask', buffered: true});
const long_tasks = observer.takeRecords().map(task => [task.startTime, task.duration]);
observer.disconnect();
return {timing: entry ? entry.toJSON() : null, time_origin_ms: performance.timeOrigin, long_tasks: long_tasks,
        now_ms: performance.now(), document_uri: document.documentURI, title: document.title};
"""


@dataclass(frozen=True)
class Job:
    """One load: the page, how to reach it, and its time limits in seconds."""

    url: str
    page: str
    rules: str
    work_dir: Path
    interface: str
    predict: bool
    timeout_s: float
    quiet_s: float
    quiet_limit_s: float
    trusted_key: str | None = None
    key_shares: int | None = None


def load(job: Job, chrome: browser.Browser, shim: Path) -> dict[str, Any]:
    """Load the page; return the contents of load.json. A load that fails has the reason under "errors"."""
    report: dict[str, Any] = {"url": job.url, "errors": []}
    try:
        driver = browser.start(chrome, job.work_dir, shim, job.rules, predict=job.predict,
                               trusted_key=job.trusted_key, key_shares=job.key_shares)
    except WebDriverException as error:
        report["errors"].append(f"Chrome did not start: {first_line(error)}")
        return report
    try:
        report["versions"] = versions(driver)
        report["argv"] = argv(driver)
        visit(driver, job, report)
    finally:
        driver.quit()
    return report


def visit(driver: webdriver.Chrome, job: Job, report: dict[str, Any]) -> None:
    """Go to the page, wait for its load event and for silence on the network, and read its timing."""
    driver.set_page_load_timeout(job.timeout_s)
    deadline, late = time.monotonic() + job.timeout_s, False
    try:
        navigate(driver, job.url, deadline)
        report["quiet"] = wait_until_quiet(job.interface, job.quiet_s, job.quiet_limit_s)
    except TimeoutException:
        late = True
        report["errors"].append(f"no load event within {job.timeout_s:g} s")
    except InvalidSessionIdException:
        report["errors"].append("Chrome ended in the middle of the load")
        return
    except WebDriverException as error:
        report["errors"].append(f"Chrome: {first_line(error)}")
    try:
        report.update(run_script(driver, NAVIGATION_SCRIPT, time.monotonic() + DIALOGS_S))
    except WebDriverException as error:
        report["errors"].append(f"navigation timing: {first_line(error)}")
    if late and report.get("timing"):
        report["timing"]["loadEventEnd"] = None    # a page that is told to stop has a load event too


def navigate(driver: webdriver.Chrome, url: str, deadline: float) -> None:
    """Go to the page and wait for its load event, past any dialogs it opens, until `deadline` (monotonic)."""
    try:
        driver.get(url)
    except UnexpectedAlertPresentException:
        pass        # get() returned at a dialog, and the load goes on
    wait_for_load_event(driver, deadline)


def wait_for_load_event(driver: webdriver.Chrome, deadline: float) -> None:
    """Wait until the load event's handlers have run: get() may return while they do, or at a dialog before."""
    script = ("return {complete: document.readyState == 'complete', "
              "ended: performance.getEntriesByType('navigation')[0].loadEventEnd}")
    while time.monotonic() < deadline:
        state = run_script(driver, script, deadline)
        if state["ended"]:
            return
        if state["complete"]:
            deadline = min(deadline, time.monotonic() + LOAD_EVENT_GRACE_S)
        time.sleep(POLL_S)


def run_script(driver: webdriver.Chrome, script: str, deadline: float) -> Any:
    """Return what the script returns. A dialog that opens while it runs is dismissed, and the script run again."""
    while time.monotonic() < deadline:
        with contextlib.suppress(UnexpectedAlertPresentException):
            return driver.execute_script(script)
    return driver.execute_script(script)


def evaluate(job: Job, report: dict[str, Any]) -> None:
    """Write the client log and the HAR, and add the load's figures to `report`; nothing when Chrome never started."""
    if "argv" not in report:
        return
    if shows_error_page(report):
        report["errors"].append("Chrome shows an error page")
    try:
        report.update(write_client_log(job.work_dir, job.page, job.work_dir / "netlog.json", report))
    except ExperimentError as error:
        report["errors"].append(str(error))


def wait_until_quiet(interface: str, quiet_s: float, limit_s: float) -> bool:
    """Wait until no packet has passed `interface` for `quiet_s` seconds, `limit_s` at most; tell whether it was so."""
    deadline = time.monotonic() + limit_s
    seen, since = packets(interface), time.monotonic()
    while time.monotonic() < deadline:
        time.sleep(POLL_S)
        count = packets(interface)
        if count != seen:
            seen, since = count, time.monotonic()
        elif time.monotonic() - since >= quiet_s:
            return True
    return False


def packets(interface: str) -> int:
    """Return how many packets have arrived on and left `interface` (proc(5), /proc/net/dev)."""
    for line in Path("/proc/net/dev").read_text().splitlines():
        name, _, fields = line.partition(":")
        if name.strip() == interface:
            counts = fields.split()
            return int(counts[1]) + int(counts[9])
    raise ValueError(f"no interface {interface}")


def versions(driver: webdriver.Chrome) -> dict[str, str]:
    """Return the versions of Chrome, its driver and Selenium."""
    found = driver.capabilities
    return {"chrome": found["browserVersion"], "selenium": webdriver.__version__,
            "chromedriver": found["chrome"]["chromedriverVersion"].split()[0]}


def argv(driver: webdriver.Chrome) -> list[str]:
    """Return Chrome's command line as it runs, chromedriver's own additions included."""
    pid = driver.capabilities["goog:processID"]
    return Path(f"/proc/{pid}/cmdline").read_text().rstrip("\0").split("\0")


def first_line(error: WebDriverException) -> str:
    """Return the one line of selenium's message that says something."""
    return (error.msg or str(error)).splitlines()[0].partition("; For documentation")[0]


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url")
    parser.add_argument("--hack-dns", type=Path, required=True, help="host-remap file: hostname ip port [https]")
    parser.add_argument("--work-dir", type=Path, required=True, help="empty directory that the user may write")
    parser.add_argument("--interface", default="user-eth0", help="network interface that is watched for silence")
    parser.add_argument("--user", default=f"{os.getuid()}:{os.getgid()}", help="who Chrome runs as, UID:GID")
    parser.add_argument("--binary", help="Chrome; default: the first one found")
    parser.add_argument("--driver", help="chromedriver; default: the first one found")
    parser.add_argument("--trusted-key", help="fingerprint of the servers' certificate authority")
    parser.add_argument("--key-shares", type=int, help="where Chrome's table of key exchange groups is, to replace it")
    parser.add_argument("--predict", action="store_true", help="let Chrome open connections ahead of need")
    parser.add_argument("--timeout", type=float, default=60, help="seconds until the load event")
    parser.add_argument("--quiet", type=float, default=1.5, help="seconds of silence that end a load")
    parser.add_argument("--quiet-limit", type=float, default=10, help="longest wait for that silence, in seconds")
    return parser.parse_args()


def interrupt(_number: int, _frame: FrameType | None) -> None:
    """Turn SIGTERM into an exception, so that Chrome is quit on the way out."""
    raise KeyboardInterrupt


def main() -> int:
    """Load the page and write load.json; the exit status is 1 when the load failed."""
    arguments = parse_arguments()
    signal.signal(signal.SIGTERM, interrupt)
    if arguments.binary and arguments.driver:
        chrome = browser.Browser(arguments.binary, arguments.driver)
    else:
        chrome = browser.find_browser()
    # Read all that Chrome's user might not be allowed to: the project may lie in a directory closed to others.
    shim = Path(shutil.copy(browser.require_shim(), arguments.work_dir))
    rules = resolver_rules(read_hack_dns(arguments.hack_dns))
    browser.deterministic_script()
    uid, gid = map(int, arguments.user.split(":"))
    become(User("", uid, gid))
    die_with_parent()  # after the change of user, which clears it (prctl(2))
    job = Job(arguments.url, sanitise(arguments.url), rules, arguments.work_dir, arguments.interface,
              arguments.predict, arguments.timeout, arguments.quiet, arguments.quiet_limit,
              arguments.trusted_key, arguments.key_shares)
    try:
        report = load(job, chrome, shim)
        evaluate(job, report)
    except KeyboardInterrupt:
        return 1
    write_atomically(job.work_dir / "load.json", json.dumps(report, indent=1))
    for error in report["errors"]:
        print(error, file=sys.stderr)
    return 1 if report["errors"] else 0


if __name__ == "__main__":
    run_main(main)
