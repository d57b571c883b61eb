"""A mirror replayed over loopback as if every host were far away, and one load of a page of it in real Chrome.

For tests of the pages themselves: no root, no namespaces, one port for all hosts. Not for measuring.
"""

import contextlib
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

from harness.browser.chrome import FLAGS
from harness.browser.program import CLOCK_SHIFT_DAYS, SHIM_SOURCE, Browser
from harness.mirror.recording import read_recording
from harness.netlog.load import HttpTransaction, of_load, read_netlog
from tests.support.ran import ran
from tests.support.waiting import wait_until
from tests.support.written import lookup

CHUNK = 8192
QUIET_S = 1.5


class Site(ThreadingHTTPServer):
    """Answers for every host of a mirror, each behind a link of its own. `requests` has what it was asked, in order."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, directory: Path, name: str, rtt_s: float, bytes_per_s: float) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.mirror, self.rtt_s, self.bytes_per_s = directory / name, rtt_s, bytes_per_s
        self.recording = read_recording(self.mirror, directory / f"{name}.fetchlog")
        self.requests: list[str] = []
        self.free_at: dict[str, float] = {}
        self.lock = threading.Lock()
        self.last_activity = time.monotonic()

    def wait_for_link(self, host: str, size: int) -> None:
        """Wait as long as `size` bytes take on the host's link behind those that are already on it."""
        with self.lock:
            self.last_activity = now = time.monotonic()
            self.free_at[host] = end = max(now, self.free_at.get(host, 0)) + size / self.bytes_per_s
        time.sleep(end - now)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Chrome closes connections that it does not need."""


class _Handler(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        site, host = self.server, self.headers["Host"]
        with site.lock:
            site.requests.append(f"http://{host}{self.path}")
            site.last_activity = time.monotonic()
        time.sleep(2 * site.rtt_s)    # the handshake, which loopback does in no time, and the request's own way
        recorded = lookup(site.recording, host, self.path)
        if recorded is None:
            self.send_error(404)
            return
        body = (site.mirror / recorded.file).read_bytes() if recorded.file else b""
        self.send_response(recorded.status)
        self.send_header("Content-Type", recorded.answer.mime_type)
        self.send_header("Access-Control-Allow-Origin", "*")
        if recorded.redirect_url:
            self.send_header("Location", recorded.redirect_url)
        if recorded.status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        for start in range(0, len(body), CHUNK):
            site.wait_for_link(host, len(body[start:start + CHUNK]))
            self.wfile.write(body[start:start + CHUNK])

    def log_message(self, format: str, *args: Any) -> None:    # noqa: A002 - the name it has in http.server
        """The site keeps its own log."""


@contextlib.contextmanager
def serve(directory: Path, name: str, rtt_s: float = 0.1, bytes_per_s: float = 500_000) -> Iterator[Site]:
    """Replay `<directory>/<name>/`: by default at 100 ms RTT and 4 Mbit/s a host, one request a connection."""
    site = Site(directory, name, rtt_s, bytes_per_s)
    thread = threading.Thread(target=site.serve_forever)
    thread.start()
    try:
        yield site
    finally:
        site.shutdown()
        thread.join()
        site.server_close()


def compile_shim(directory: Path) -> Path:
    """Compile Chrome's shim: without it Chrome turns the paper's pages into https."""
    shim = directory / "chrome_shim.so"
    ran("cc", "-shared", "-fPIC", "-O2", "-o", shim, SHIM_SOURCE, "-ldl", status=0)
    return shim


def load(browser: Browser, shim: Path, site: Site, url: str, least: int) -> list[HttpTransaction]:
    """Load `url` from `site` until it was asked for so many URLs and has been quiet for 1.5 s.

    Return Chrome's transactions in order of start.
    """
    work = Path(tempfile.mkdtemp(prefix="tfo-lab-test-"))
    mapped = ",".join(f"MAP {host}:80 127.0.0.1:{site.server_address[1]}" for host in site.recording.hosts())
    options = Options()
    options.binary_location = browser.binary
    for flag in (*FLAGS, "--no-sandbox", f"--user-data-dir={work / 'profile'}", f"--log-net-log={work / 'netlog.json'}",
                 f"--host-resolver-rules={mapped},MAP * ~NOTFOUND"):
        options.add_argument(flag)
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(work), "TMPDIR": str(work), "LANG": "C.UTF-8",
                   "LD_PRELOAD": str(shim), "TFO_LAB_CLOCK_DAYS": str(CLOCK_SHIFT_DAYS)}
    try:
        driver = webdriver.Chrome(options, Service(browser.driver, env=environment, log_output=subprocess.DEVNULL))
        try:
            driver.get(url)
            wait_until(lambda: len(site.requests) >= least and time.monotonic() > site.last_activity + QUIET_S)
            started_unix_ms = driver.execute_script("return performance.timing.navigationStart")
        finally:
            driver.quit()
        netlog, hosts = read_netlog(work / "netlog.json"), site.recording.hosts()
        return [transaction for transaction in of_load(netlog, netlog.tick(started_unix_ms))
                if urlsplit(transaction.url).hostname in hosts]
    finally:
        shutil.rmtree(work, ignore_errors=True)
