"""Record the net-logs the tests read: run again with a new Chrome.

    .venv/bin/python tests/corpus/netlogs/record.py [NAME ...]

Writes, beside this file, for each of PAGES (modules in pages/) a gzipped net-log with all bytes: its constants are cut
down to what the reader needs, and it lacks the events that nobody reads.

settled, hanging and killed, with what their server saw (`.served.json`), are of a site that is here no more: commit
c9ef1e52 has it (tests/corpus/netlogs/small_site.py), and the program that recorded it.
"""

import gzip
import importlib
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2]))
from harness.files.hosts import read_hack_dns, resolver_rules  # found through the line above
from tests.support.started import started

BROWSER = "/usr/lib/chromium/chromium"
FLAGS = ["--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-field-trial-config",
         "--disable-features=HttpsUpgrades,HttpsFirstBalancedMode,HttpsFirstBalancedModeAutoEnable",
         "--unsafely-treat-insecure-origin-as-secure=http://a.test"]      # service workers need a secure origin
PAGES = ("h2_streams", "h3_streams", "websocket", "redirects", "video", "reload")
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


if __name__ == "__main__":
    for wanted in sys.argv[1:] or PAGES:
        record_page(wanted)
