#!/usr/bin/env python3
"""Record the net-logs the tests read: run again with a new Chrome.

    .venv/bin/python tests/data/netlog/record.py

Writes, beside this file, for each of SCENES a gzipped net-log (constants cut down to what the reader needs, polledData
removed) and `<scene>.served.json`, the access log of the site during it.
"""

import gzip
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from small_site import A, Site  # found through the line above

BROWSER = "/usr/lib/chromium/chromium"
FLAGS = ["--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-field-trial-config",
         "--disable-features=HttpsUpgrades,HttpsFirstBalancedMode,HttpsFirstBalancedModeAutoEnable",
         f"--unsafely-treat-insecure-origin-as-secure={A}"]      # service workers need a secure origin
SCENES = {"settled": "", "hanging": "#hang"}
KEPT_CONSTANTS = ("activeFieldTrialGroups", "clientInfo", "logFormatVersion", "logEventPhase", "logEventTypes",
                  "logSourceType", "netError", "loadState", "logCaptureMode", "timeTickOffset")


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


def cut_down(netlog: dict[str, object]) -> dict[str, object]:
    """Return `netlog` without what the reader does not use and what tells about the machine."""
    constants = netlog["constants"]
    assert isinstance(constants, dict)
    kept = {name: constants[name] for name in KEPT_CONSTANTS if name in constants and name != "activeFieldTrialGroups"}
    return {"constants": kept, "events": netlog["events"]}


def record(scene: str, fragment: str) -> None:
    """Record one scene and write its two files."""
    with tempfile.TemporaryDirectory() as folder, Site() as site:
        log = Path(folder) / "netlog.json"
        with browser(site, log, Path(folder) / "profile") as driver:
            timing = load(driver, fragment)
        netlog = cut_down(json.loads(log.read_text()))
        served = {"timing": timing, "port": site.port, "served": [asdict(line) for line in site.served]}
    events = netlog.pop("events")
    assert isinstance(events, list)
    constants = json.dumps(netlog["constants"], separators=(",", ":"))
    lines = ",\n".join(json.dumps(event, separators=(",", ":")) for event in events)
    text = f'{{"constants":{constants},\n"events": [\n{lines}]}}\n'        # one event a line, as Chrome writes it
    (HERE / f"{scene}.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    (HERE / f"{scene}.served.json").write_text(json.dumps(served, indent=1) + "\n")
    print(f"{scene}: {len(events)} events, {(HERE / f'{scene}.json.gz').stat().st_size} bytes")


if __name__ == "__main__":
    for name, part in SCENES.items():
        record(name, part)
