"""Record the net-logs the tests read: run again with a new Chrome.

    .venv/bin/python tests/data/netlog/record.py

Writes, beside this file, for each of SCENES a gzipped net-log (constants cut down to what the reader needs, polledData
removed) and `<scene>.served.json`, the access log of the site during it.
"""

import gzip
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2]))
from tests.data.netlog.small_site import A, Site  # found through the line above

BROWSER = "/usr/lib/chromium/chromium"
FLAGS = ["--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-field-trial-config",
         "--disable-features=HttpsUpgrades,HttpsFirstBalancedMode,HttpsFirstBalancedModeAutoEnable",
         f"--unsafely-treat-insecure-origin-as-secure={A}"]      # service workers need a secure origin
SCENES = {"settled": "", "hanging": "#hang", "killed": "#hang"}
KILLED = "killed"        # in this scene Chrome gets no chance to end its log
KEPT_CONSTANTS = ("clientInfo", "logFormatVersion", "logEventPhase", "logEventTypes", "logSourceType", "netError",
                  "logCaptureMode", "timeTickOffset")


@contextmanager
def browser(site: Site, log: Path, profile: Path) -> Iterator[Chrome]:
    """Start Chrome with a fresh `profile` that sees only `site` and writes its net-log to `log`."""
    options = ChromeOptions()
    options.binary_location = BROWSER
    flags = [*FLAGS, f"--host-resolver-rules={site.rules}", f"--log-net-log={log}", f"--user-data-dir={profile}"]
    if os.geteuid() == 0:
        flags.append("--no-sandbox")
    for flag in flags:
        options.add_argument(flag)
    driver = Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        driver.set_page_load_timeout(30)
        yield driver
    finally:
        driver.quit()


def kill(driver: Chrome, deadline_s: float = 10) -> None:
    """Kill all processes of the browser that `driver` started and wait until they are gone.

    The network service is a process of its own: when only the browser dies it still ends the log properly.
    """
    processes = descendants(driver.service.process.pid)
    for pid in processes:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    end = time.monotonic() + deadline_s
    while any(_running(pid) for pid in processes) and time.monotonic() < end:
        time.sleep(0.02)


def descendants(pid: int) -> list[int]:
    """Return the ids of the processes that `pid` started, and of those they started."""
    lists = [task.read_text() for task in Path(f"/proc/{pid}/task").glob("*/children")]
    children = [int(child) for line in lists for child in line.split()]
    return [*children, *(grandchild for child in children for grandchild in descendants(child))]


def _running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def load(driver: Chrome, fragment: str = "", deadline_s: float = 20) -> dict[str, float]:
    """Load the page of the site, wait until its script is done, and return its navigation timing (Unix ms)."""
    driver.get(f"{A}/{fragment}")
    wanted = "hanging" if fragment else "settled"
    end = time.monotonic() + deadline_s
    while driver.title != wanted:
        if time.monotonic() > end:
            raise TimeoutError(f"the page is {driver.title!r} after {deadline_s} s, not {wanted!r}")
        time.sleep(0.05)
    time.sleep(0.5)       # not readiness: a little silence at the end of the recording
    timing: dict[str, float] = driver.execute_script("return performance.timing.toJSON()")
    return timing


def cut_down(text: str) -> str:
    """Return a net-log without what the reader does not use; a log without an end keeps having none."""
    first, _, rest = text.partition("\n")
    constants = json.loads(first.rstrip().rstrip(",") + "}")["constants"]
    kept = {name: constants[name] for name in KEPT_CONSTANTS if name in constants}
    events, polled, _ = rest.partition('],\n"polledData"')
    return f'{{"constants":{json.dumps(kept, separators=(",", ":"))},\n{events}{"]}" if polled else ""}'


def record(scene: str, fragment: str) -> None:
    """Record one scene and write its two files."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, Site() as site:
        log = Path(folder) / "netlog.json"
        with browser(site, log, Path(folder) / "profile") as driver:
            timing = load(driver, fragment)
            if scene == KILLED:
                kill(driver)
        text = cut_down(log.read_text())
        served = {"timing": timing, "port": site.port, "served": [asdict(line) for line in site.served]}
    (HERE / f"{scene}.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    (HERE / f"{scene}.served.json").write_text(json.dumps(served, indent=1) + "\n")
    print(f"{scene}: {len(text.splitlines())} lines, {(HERE / f'{scene}.json.gz').stat().st_size} bytes")


if __name__ == "__main__":
    for name, part in SCENES.items():
        record(name, part)
