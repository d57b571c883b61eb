"""load_page.py against a server on this host: what it leaves when a program dies under it, and that nothing stays."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from harness.bootstrap import ROOT
from harness.browser.chrome import ChromeSettings
from harness.browser.program import Browser, find_browser, require_shim
from harness.files.hosts import Remap, resolver_rules
from harness.files.text_log import read_log
from harness.measure.loading import PageLoad
from harness.measure.settings import Settings
from harness.system.privileges import browsing_user, passable_temp_root
from harness.system.processes import children_by_parent, descendants, is_running
from tests.support.answering import serving
from tests.support.faults import command_of
from tests.support.waiting import wait_until

pytestmark = pytest.mark.chrome
LOAD_PAGE = ROOT / "tfo-test" / "load_page.py"
URL, PAGE = "http://www.a.test/", "httpwww.a.test"
DOCUMENT = "<!doctype html><link rel=icon href=data:,><title>a</title><img src=never.png>"


@dataclass
class Load:
    """A load that runs; `asked` is set when the page asks for what is never answered."""

    work_dir: Path
    asked: threading.Event
    process: "subprocess.Popen[str]"
    all_pids: set[int] = field(default_factory=set)

    def processes(self) -> dict[str, int]:
        """Wait until the page is half loaded; return its processes by what they are."""
        assert self.asked.wait(), self.process.communicate()
        self.all_pids = descendants(self.process.pid)
        driver, = children_by_parent()[self.process.pid]
        chrome, = children_by_parent()[driver]
        network, = (pid for pid in self.all_pids if "network.mojom.NetworkService" in " ".join(command_of(pid)))
        return {"chromedriver": driver, "chrome": chrome, "network": network}

    def report(self) -> dict[str, Any]:
        """Wait for the end of the load; return what it says of itself."""
        _, said = self.process.communicate()
        assert "Traceback" not in said
        found: dict[str, Any] = json.loads((self.work_dir / "load.json").read_text())
        return found

    def wait_for_the_end(self) -> None:
        """Wait until none of the load's processes runs any more."""
        wait_until(lambda: not any(map(is_running, self.all_pids)))


@pytest.fixture
def start() -> Iterator[Callable[..., Load]]:
    """Start a load of a page that is never complete, unless it has other documents, in Chrome or `program`."""
    user, loads, asked, over, documents = browsing_user(), list[Load](), threading.Event(), threading.Event(), {
        "/": DOCUMENT}

    def answer(path: str) -> tuple[str, str]:
        if path not in documents:
            asked.set()
            over.wait()
        return "text/html", documents.get(path, "")

    with serving(answer) as web, tempfile.TemporaryDirectory(
            dir=passable_temp_root(), ignore_cleanup_errors=True) as name:
        work_dir = Path(name) / "work"
        work_dir.mkdir()
        Path(name).chmod(0o755)
        if os.geteuid() == 0:
            os.chown(work_dir, user.uid, user.gid)

        def starter(program: str = "", **others: str) -> Load:
            browser = find_browser()
            if program:
                (work_dir.parent / "no-chrome").write_text(program)
                (work_dir.parent / "no-chrome").chmod(0o755)
                browser = Browser(str(work_dir.parent / "no-chrome"), browser.driver)
            documents.update({f"/{name.removeprefix('index')}": body for name, body in others.items()})
            rules = resolver_rules([Remap("www.a.test", "127.0.0.1", int(web.rpartition(":")[2]))])
            wanted = PageLoad(url=URL, interface="lo", user=user, browser=browser,
                              chrome=ChromeSettings(work_dir, rules, require_shim()),
                              settings=Settings(timeout_s=300))
            process = subprocess.Popen([sys.executable, LOAD_PAGE, wanted.to_json()], stderr=subprocess.PIPE, text=True)
            loads.append(Load(work_dir, asked, process))
            return loads[-1]

        try:
            yield starter
        finally:
            for load in loads:
                with load.process:
                    load.process.kill()
                load.wait_for_the_end()
            over.set()


@pytest.mark.parametrize(("killed", "error"), [
    ("chromedriver", "Chrome: chromedriver ended, or does not answer"),
    ("chrome", "Chrome ended in the middle of the load"),
    ("network", "Chrome: its network process ended, and it started another")])
def test_the_end_of_a_process_is_said_and_loses_neither_log_nor_har(start: Callable[..., Load], killed: str,
                                                                    error: str) -> None:
    """Chrome starts another network process, whose log begins in the middle of the load."""
    load = start()
    os.kill(load.processes()[killed], signal.SIGKILL)
    report = load.report()
    assert load.process.returncode == 1
    assert error in report["errors"]
    log = read_log(load.work_dir / PAGE)
    har = json.loads((load.work_dir / f"{PAGE}.har").read_text())
    if killed != "network":
        assert report["errors"][0] == error
        assert [response.url for response in log.responses][:1] == [URL]
        assert har["log"]["entries"][0]["request"]["url"] == URL
        assert report["document"]["status"] == 200
    assert "ChromeDriver was started successfully" in (load.work_dir / "chromedriver.log").read_text(errors="replace")
    load.wait_for_the_end()     # Chrome is killed with its driver


ICON = "<!doctype html><link rel=icon href=data:,>"


@pytest.mark.parametrize("killed", ["chromedriver", "chrome", "network"])
def test_the_end_of_a_process_while_the_log_is_read_leaves_nothing(start: Callable[..., Load], killed: str) -> None:
    """After the load event, while the page is not silent yet."""
    load = start(index=ICON + "<script>onload = () => setTimeout(() => fetch('/never.png'), 300)</script>")
    os.kill(load.processes()[killed], signal.SIGKILL)
    assert load.report()["errors"]
    assert load.process.returncode == 1
    load.wait_for_the_end()


def test_a_page_that_a_script_leaves_is_another_page(start: Callable[..., Load]) -> None:
    load = start(index=ICON + "<script>location.replace('/next')</script>", next=ICON + "<p>next")
    assert load.report()["moved_on_to"] == "http://www.a.test/next"


def test_a_page_that_changes_its_address_or_loads_itself_again_is_the_same_page(start: Callable[..., Load]) -> None:
    load = start(index=ICON + "<script>if (!sessionStorage.again) { sessionStorage.again = 1; location.reload(); }"
                              "else history.pushState({}, '', '/shown');</script><p>some text")
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
def test_a_chrome_that_cannot_start_says_why(start: Callable[..., Load], monkeypatch: pytest.MonkeyPatch, chrome: str,
                                             words: str) -> None:
    """On Ubuntu 24.04, for one, a Chrome that AppArmor does not know gets no sandbox.

    chromedriver, which tells, is asked past any proxy: the simulated host reaches none.
    """
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "intra.net")
    load = start(f"#!/bin/sh\n{chrome}\n")
    _, said = load.process.communicate()
    assert load.process.returncode == 1
    assert said.startswith("Chrome did not start: session not created: ")
    assert said.endswith(f" It said: {words}\n")
