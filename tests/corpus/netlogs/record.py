"""Record the net-logs the tests read: run again with a new Chrome.

    .venv/bin/python tests/corpus/netlogs/record.py [NAME ...]

Writes, beside this file, for each of SCENES a gzipped net-log (constants cut down to what the reader needs, polledData
removed) and `<scene>.served.json`, the access log of the site during it; and for each of PAGES (modules in pages/) one
with all bytes, without the events that nobody reads.
"""

import gzip
import importlib
import json
import os
import re
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
from harness.files.hosts import read_hack_dns, resolver_rules  # found through the line above
from tests.corpus.netlogs.small_site import A, Site
from tests.support.started import started

BROWSER = "/usr/lib/chromium/chromium"
FLAGS = ["--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-field-trial-config",
         "--disable-features=HttpsUpgrades,HttpsFirstBalancedMode,HttpsFirstBalancedModeAutoEnable",
         f"--unsafely-treat-insecure-origin-as-secure={A}"]      # service workers need a secure origin
SCENES = {"settled": "", "hanging": "#hang", "killed": "#hang"}
PAGES = ("h2_streams", "h3_streams", "websocket", "redirects", "video", "reload")
KILLED = "killed"        # in this scene Chrome gets no chance to end its log
KEPT_CONSTANTS = ("clientInfo", "logFormatVersion", "logEventPhase", "logEventTypes", "logSourceType", "netError",
                  "logCaptureMode", "timeTickOffset")
KEPT_EVENTS = re.compile("REQUEST_ALIVE|URL_REQUEST|HTTP_|CANCELLED|SOCKET|TCP_|SSL_CONNECT|SSL_SOCKET_BYTES|"
                         "HTTP2_SESSION_(?:INIT|SEND_HEADERS)|BOUND_TO_QUIC|HOST_RESOLVER_MANAGER_REQUEST|"
                         "QUIC_SESSION(?:_POOL_(?:JOB|USE)|_CREATED|_PACKET_(?:SENT|RECEIVED)|_ZERO|_CLOSE|"
                         "_CRYPTO_HANDSHAKE|$)")
"""The beginnings of the names of events that say something of a page."""


@contextmanager
def browser(rules: str, log: Path, profile: Path, *more: str) -> Iterator[Chrome]:
    """Start Chrome with a fresh `profile` that sees only hosts of these `rules` and writes its net-log to `log`."""
    options = ChromeOptions()
    options.binary_location = BROWSER
    flags = [*FLAGS, *more, f"--host-resolver-rules={rules}", f"--log-net-log={log}", f"--user-data-dir={profile}"]
    if os.geteuid() == 0:
        flags.append("--no-sandbox")
    for flag in flags:
        options.add_argument(flag)
    driver = Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        driver.set_page_load_timeout(300)
        yield driver
    finally:
        driver.quit()


def kill(driver: Chrome, deadline_s: float = 60) -> None:
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


def load(driver: Chrome, fragment: str = "", deadline_s: float = 300) -> dict[str, float]:
    """Load the page of the site, wait until its script is done, and return its navigation timing (Unix ms)."""
    driver.get(f"{A}/{fragment}")
    wait_for_title(driver, "hanging" if fragment else "settled", deadline_s)
    timing: dict[str, float] = driver.execute_script("return performance.timing.toJSON()")
    return timing


def wait_for_title(driver: Chrome, wanted: str, deadline_s: float = 300) -> None:
    """Wait until the page's script has given the page this title."""
    end = time.monotonic() + deadline_s
    while driver.title != wanted:
        if time.monotonic() > end:
            raise TimeoutError(f"the page is {driver.title!r} after {deadline_s} s, not {wanted!r}")
        time.sleep(0.05)
    time.sleep(0.5)       # not readiness: a little silence at the end of the recording


def cut_down(text: str) -> str:
    """Return a net-log without what the reader does not use; a log without an end keeps having none."""
    first, _, rest = text.partition("\n")
    constants = json.loads(first.rstrip().rstrip(",") + "}")["constants"]
    kept = {name: constants[name] for name in KEPT_CONSTANTS if name in constants}
    events, polled, _ = rest.partition('],\n"polledData"')
    return f'{{"constants":{json.dumps(kept, separators=(",", ":"))},\n{events}{"]}" if polled else ""}'


def without_noise(text: str) -> str:
    """Return a net-log without the events of which harness.netlog reads none, and without what TLS made of bytes."""
    log = json.loads(text)
    kept = {number for name, number in log["constants"]["logEventTypes"].items() if KEPT_EVENTS.match(name)}
    types = log["constants"]["logEventTypes"]
    secured = {event["source"]["id"] for event in log["events"] if event["type"] == types["SSL_SOCKET_BYTES_SENT"]}
    for event in log["events"]:
        if event["type"] in (types["SOCKET_BYTES_SENT"], types["SOCKET_BYTES_RECEIVED"]) and (
                event["source"]["id"] in secured):
            event["params"].pop("bytes", None)
    events = ",\n".join(json.dumps(event, separators=(",", ":")) for event in log["events"] if event["type"] in kept)
    return f'{text.partition(chr(10))[0]}\n"events": [\n{events}]}}'


def record_page(name: str) -> None:
    """Record one of PAGES, as harness.record.recorder has Chrome log it: with all bytes."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder_name:
        folder = Path(folder_name)
        log = folder / "netlog.json"
        module = importlib.import_module(f"tests.corpus.netlogs.pages.{name}")
        with module.served(folder) if hasattr(module, "served") else started(
                sys.executable, "-m", "tests.corpus.pages.site", folder_name, module.__name__):
            remaps = read_hack_dns(folder / "remap")
            options = ChromeOptions()
            options.binary_location = BROWSER
            flags = [*FLAGS, "--ignore-certificate-errors"]
            if hasattr(module, "flags"):        # for QUIC, which has to trust
                flags = [flag for flag in FLAGS if flag != "--disable-quic"] + module.flags(folder)
                options.add_experimental_option("prefs", {"net.network_prediction_options": 2})     # as in experiments
            for flag in (*flags, "--no-sandbox", f"--user-data-dir={folder / 'profile'}", f"--log-net-log={log}",
                         "--net-log-capture-mode=Everything",
                         "--autoplay-policy=no-user-gesture-required",
                         f"--host-resolver-rules={resolver_rules(remaps)}"):
                options.add_argument(flag)
            driver = Chrome(options=options, service=Service(shutil.which("chromedriver")))
            try:
                driver.get(f"{remaps[0].scheme}://{remaps[0].host}/")
                wait_for_title(driver, "done")
                if hasattr(module, "again"):
                    module.again(driver)
                    wait_for_title(driver, "done")
            finally:
                driver.quit()
        write(name, without_noise(cut_down(log.read_text())))


def write(name: str, text: str) -> None:
    """Write a log beside this file."""
    path = HERE / f"{name}.json.gz"
    path.write_bytes(gzip.compress(text.encode(), mtime=0))
    print(f"{name}: {len(text.splitlines())} lines, {path.stat().st_size} bytes")


def record(scene: str, fragment: str) -> None:
    """Record one scene and write its two files."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, Site() as site:
        log = Path(folder) / "netlog.json"
        with browser(site.rules, log, Path(folder) / "profile") as driver:
            timing = load(driver, fragment)
            if scene == KILLED:
                kill(driver)
        text = cut_down(log.read_text())
        served = {"timing": timing, "port": site.port, "served": [asdict(line) for line in site.served]}
    (HERE / f"{scene}.served.json").write_text(json.dumps(served, indent=1) + "\n")
    write(scene, text)


if __name__ == "__main__":
    for wanted in sys.argv[1:] or [*SCENES, *PAGES]:
        if wanted in PAGES:
            record_page(wanted)
        else:
            record(wanted, SCENES[wanted])
