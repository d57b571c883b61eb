"""How many connections Chrome has open to a host at once, counted by a server that lets all of them wait."""

import shutil
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from harness.browser.connection_limit import CHROMES_OWN, SOCKET_LIMITS, find_limits
from harness.browser.program import Browser, find_browser, require_shim
from harness.errors import InputError
from harness.measure.preflight import check_connection_limit
from harness.system.privileges import browsing_user, give, passable_temp_root
from tests.support.ran import ran

IMAGES = 16
FULL_S, MORE_S = 60.0, 0.5
"""So long an image waits, at the most, until as many wait as are expected, and then for one more than that."""

CHROME = """
import sys
from pathlib import Path
from harness.browser.chrome import ChromeSettings, deterministic_script, start
from harness.browser.program import find_browser
from harness.browser.connection_limit import ConnectionLimit
from harness.system.privileges import User, become
work_dir, uid, gid, shim, port, per_host, place = sys.argv[1:]
browser = find_browser()
deterministic_script()  # read as root: the project may lie where nobody else can look
become(User("", int(uid), int(gid)))
driver = start(browser, ChromeSettings(
    Path(work_dir), f"MAP www.example.org:80 127.0.0.1:{port},MAP * ~NOTFOUND", Path(shim),
    connection_limit=ConnectionLimit(int(per_host), int(place)) if place else None))
try:
    driver.get("http://www.example.org/")
finally:
    driver.quit()
"""


class CountingServer(ThreadingHTTPServer):
    """Answers one request a connection, images once as many as expected wait, and notes how many did at once."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, expected: int) -> None:
        self.changed, self.held, self.most, self.expected = threading.Condition(), 0, 0, expected
        super().__init__(("127.0.0.1", 0), Handler)

    def hold(self) -> None:
        with self.changed:
            self.held += 1
            self.most = max(self.most, self.held)
            self.changed.notify_all()
            self.changed.wait_for(lambda: self.most >= self.expected, FULL_S)
        time.sleep(MORE_S)
        with self.changed:
            self.held -= 1


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    server: CountingServer

    def do_GET(self) -> None:
        body, kind = b"GIF89a", "image/gif"
        if self.path == "/":
            images = "".join(f"<img src=/{number}.gif>" for number in range(IMAGES))
            body, kind = f"<!doctype html><link rel=icon href=data:,>{images}".encode(), "text/html"
        else:
            self.server.hold()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def most_at_once(per_host: int, place: int | None, expected: int) -> int:
    """Return how many connections Chrome had open at once for a page of IMAGES images of one host."""
    user = browsing_user()
    with CountingServer(expected) as server, tempfile.TemporaryDirectory(
            dir=passable_temp_root(), ignore_cleanup_errors=True) as work_dir:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        shim = shutil.copy(require_shim(), work_dir)
        give(Path(work_dir), user)
        argv = [work_dir, user.uid, user.gid, shim, server.server_port, per_host, "" if place is None else place]
        try:
            ran(sys.executable, "-c", CHROME, *argv, status=0, cwd=ROOT)
        finally:
            server.shutdown()
            thread.join()
        return server.most


@pytest.mark.chrome
def test_chrome_opens_as_many_as_it_is_told() -> None:
    place = find_limits(find_browser().binary)
    assert place is not None, "this Chrome has its limits elsewhere: --connections-per-host does not work"
    assert {per_host: most_at_once(per_host, place, per_host) for per_host in (2, 13)} == {2: 2, 13: 13}


@pytest.mark.chrome
def test_left_alone_it_opens_its_own_number() -> None:
    assert most_at_once(13, None, CHROMES_OWN) == CHROMES_OWN


@pytest.mark.chrome
def test_what_stands_elsewhere_is_left_alone() -> None:
    """The shim is told a place one byte off: it changes nothing there, and Chrome works."""
    place = find_limits(find_browser().binary)
    assert place is not None
    assert most_at_once(13, place + 1, CHROMES_OWN) == CHROMES_OWN


@pytest.mark.parametrize(("content", "place"), [
    (b"x" * 5000 + SOCKET_LIMITS, 5000), (b"x" * 100, None), (SOCKET_LIMITS * 2, None), (SOCKET_LIMITS[:-1], None)])
def test_the_limits_are_found_if_they_are_there_once(tmp_path: Path, content: bytes, place: int | None) -> None:
    (tmp_path / "chrome").write_bytes(content)
    assert find_limits(tmp_path / "chrome") == place


def test_another_chrome_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "chrome").write_bytes(b"another one")
    browser = Browser(str(tmp_path / "chrome"), "chromedriver")
    assert check_connection_limit(browser, CHROMES_OWN) is None
    with pytest.raises(InputError, match=r"--connections-per-host 12: .*chrome has its limits elsewhere"):
        check_connection_limit(browser, 12)
