"""load_page.py against a server on this host: what it leaves when a program dies under it, and that nothing stays."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from harness.bootstrap import ROOT
from harness.browser.chrome import ChromeSettings
from harness.browser.program import find_browser, require_shim
from harness.files.hosts import Remap, resolver_rules
from harness.files.text_log import read_log
from harness.measure.loading import PageLoad
from harness.measure.settings import Settings
from harness.system.privileges import browsing_user, give, passable_temp_root
from harness.system.processes import descendants, is_running
from tests.support.answering import serving
from tests.support.faults import PARTS, command_of, name_of
from tests.support.waiting import wait_until

pytestmark = pytest.mark.chrome
LOAD_PAGE = ROOT / "tfo-test" / "load_page.py"
URL, PAGE = "http://www.a.test/", "httpwww.a.test"
ICON = "<!doctype html><link rel=icon href=data:,>"
DOCUMENT = f"{ICON}<title>a</title><img src=never.png>"


@dataclass
class Load:
    """A load that runs; `asked` is set when the page asks for what is never answered."""

    work_dir: Path
    asked: threading.Event
    process: "subprocess.Popen[str]"
    all_pids: set[int] = field(default_factory=set)

    def kill(self, part: str) -> None:
        """Wait until the page is half loaded; kill one of its processes."""
        assert self.asked.wait(), self.process.communicate()
        self.all_pids, begins = descendants(self.process.pid), PARTS[part][0]
        pid, = (pid for pid in self.all_pids if re.match(begins, f"{name_of(pid)} {' '.join(command_of(pid))}"))
        os.kill(pid, signal.SIGKILL)

    def report(self) -> dict[str, Any]:
        """Wait for the end of the load, and of all its processes; return what it says of itself."""
        _, said = self.process.communicate()
        assert "Traceback" not in said
        wait_until(lambda: not any(map(is_running, self.all_pids)))
        found: dict[str, Any] = json.loads((self.work_dir / "load.json").read_text())
        return found


@contextmanager
def loading(*, program: str = "", **others: str) -> Iterator[Load]:
    """Load a page that is never complete, unless it is `index`, with other documents, in Chrome or `program`."""
    user, browser, asked, over = browsing_user(), find_browser(), threading.Event(), threading.Event()
    documents = {"/": others.pop("index", DOCUMENT), **{f"/{name}": body for name, body in others.items()}}

    def answer(path: str) -> tuple[str, str]:
        if path not in documents:
            asked.set()
            over.wait()
        return "text/html", documents.get(path, "")

    with serving(answer) as web, TemporaryDirectory(dir=passable_temp_root(), ignore_cleanup_errors=True) as name:
        work_dir = Path(name) / "work"
        work_dir.mkdir()
        Path(name).chmod(0o755)
        give(work_dir, user)
        if program:
            browser = replace(browser, binary=f"{name}/no-chrome")
            Path(browser.binary).write_text(program)
            Path(browser.binary).chmod(0o755)
        rules = resolver_rules([Remap("www.a.test", "127.0.0.1", int(web.rpartition(":")[2]))])
        wanted = PageLoad(url=URL, interface="lo", user=user, browser=browser, settings=Settings(timeout_s=300),
                          chrome=ChromeSettings(work_dir, rules, require_shim()))
        with subprocess.Popen([sys.executable, LOAD_PAGE, wanted.to_json()], stderr=subprocess.PIPE, text=True
                              ) as process:
            load = Load(work_dir, asked, process)
            try:
                yield load
            finally:
                process.kill()
                over.set()
        wait_until(lambda: not any(map(is_running, load.all_pids)))


ASKS_LATER = ICON + "<script>onload = () => setTimeout(() => fetch('/never.png'), 300)</script>"
"""After the load event, while the page is not silent yet and the log is read."""


@pytest.mark.parametrize("document", [{}, {"index": ASKS_LATER}], ids=["while it loads", "after the load event"])
@pytest.mark.parametrize(("killed", "error"), [
    ("chromedriver", "Chrome: chromedriver ended, or does not answer"),
    ("browser", "Chrome ended in the middle of the load"),
    ("network process", "Chrome: its network process ended, and it started another")])
def test_the_end_of_a_process_is_said_and_loses_neither_log_nor_har(killed: str, error: str, document: dict[str, str],
                                                                    ) -> None:
    """Chrome is killed with its driver. It starts another network process, whose log begins in the middle."""
    with loading(**document) as load:
        load.kill(killed)
        report = load.report()
        assert load.process.returncode == 1
        assert report["errors"]
        if document:
            return
        assert error in report["errors"]
        log = read_log(load.work_dir / PAGE)
        har = json.loads((load.work_dir / f"{PAGE}.har").read_text())
        if killed != "network process":
            assert report["errors"][0] == error
            assert log.responses[0].url == har["log"]["entries"][0]["request"]["url"] == URL
            assert report["document"]["status"] == 200
        said = (load.work_dir / "chromedriver.log").read_text(errors="replace")
        assert "ChromeDriver was started successfully" in said


def test_a_page_that_a_script_leaves_is_another_page() -> None:
    with loading(index=ICON + "<script>location.replace('/next')</script>", next=ICON + "<p>next") as load:
        assert load.report()["moved_on_to"] == "http://www.a.test/next"


def test_a_page_that_changes_its_address_or_loads_itself_again_is_the_same_page() -> None:
    with loading(index=ICON + "<script>if (!sessionStorage.again) { sessionStorage.again = 1; location.reload(); }"
                              "else history.pushState({}, '', '/shown');</script><p>some text") as load:
        report = load.report()
    assert (report["errors"], report["document_uri"]) == ([], "http://www.a.test/shown")
    assert 0 < report["fcp_ms"] <= report["lcp_ms"] < report["now_ms"]
    assert 0 < report["plt_ms"] < report["now_ms"]
    assert report["time_origin_ms"] > 1_600_000_000_000, "the real one, for placing the load in the net-log"


@pytest.mark.parametrize(("chrome", "words"), [
    ("echo '[7:7:0306/01.2:FATAL:content/zygote_host.cc:1] No usable sandbox! Update your kernel' >&2; exit 1",
     "No usable sandbox! Update your kernel"),
    ("echo 'chrome: error while loading shared libraries: libnss3.so: cannot open' >&2; exit 127",
     "error while loading shared libraries: libnss3.so: cannot open"),
])
def test_a_chrome_that_cannot_start_says_why(monkeypatch: pytest.MonkeyPatch, chrome: str, words: str) -> None:
    """On Ubuntu 24.04, for one, a Chrome that AppArmor does not know gets no sandbox.

    chromedriver, which tells, is asked past any proxy: the simulated host reaches none.
    """
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "intra.net")
    with loading(program=f"#!/bin/sh\n{chrome}\n") as load:
        _, said = load.process.communicate()
    assert load.process.returncode == 1
    assert said.startswith("Chrome did not start: session not created: ")
    assert said.endswith(f" It said: {words}\n")
