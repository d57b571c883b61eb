"""What is wrong is said before anything is touched: one line with its place, and exit status 2."""

import importlib.machinery
import json
import pwd
import re
import shutil
import sys
import tempfile
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from harness.bootstrap import ROOT
from harness.browser import program
from harness.browser.program import find_browser
from harness.errors import InputError
from harness.files.pages import PageFiles
from harness.measure.preflight import check_authority, check_browser, check_pages, document_bytes
from harness.network import needs
from harness.network.needs import check_programs
from harness.system.privileges import browsing_user
from tests.support.noted import each_case
from tests.support.ordinary import SUDO
from tests.support.ran import ran
from tests.support.recording import MadeRecording

FIRST, SECOND = "http://www.one.test/", "http://two.test/path?x=1"


def test_an_authority_that_cannot_be_used_is_said_at_once(tmp_path: Path) -> None:
    """Such as a link that leads nowhere; what else cannot be used is in tests/replay/test_authority.py."""
    authority = tmp_path / ".authority"
    authority.symlink_to("nowhere")
    check_authority(Mock(secure=False), authority)
    with pytest.raises(InputError, match=rf"^{authority}"):
        check_authority(Mock(secure=True), authority)


def test_a_page_that_loads_itself_again_may_end_with_each_of_its_documents(tmp_path: Path) -> None:
    """Such as a question for consent, which sets a cookie and reloads the page."""
    recording = MadeRecording(tmp_path)
    recording.add("http://one.test/", to="https://one.test/", status=301)
    for body in ("<p>consent?", "<p>the page itself", "<p>the page itself"):
        recording.add("https://one.test/", body)
    recording.finish("http://one.test/")
    page_set = check_pages(PageFiles(tmp_path, "Web"))
    assert document_bytes(page_set.files, page_set.recording, page_set.page("one.test")) == [
        len(b"<p>consent?"), len(b"<p>the page itself")]
    with pytest.raises(InputError, match=r"'three'.* http://one\.test/$"):
        page_set.page("three")


@pytest.mark.parametrize(("spoil", "complaint"), [
    (lambda files: files.pages.write_text(f"\n http://three.test/ \n{FIRST}\nhttp://four.test/\n"),
     r"{0.pages}:2: .* small/, or empty: the documents of http://three\.test/, http://four\.test/; run: \./fetch\.py "),
    # as in a student's recording of www.cs.ucla.edu, which counted as a page of 0.2 s that TFO improves by 46%
    (lambda files: (files.mirror / "two.test" / "path?x=1").write_bytes(b""), r"{0.pages}:2: .*two\.test/path\?x=1"),
    (lambda files: shutil.rmtree(files.fetchlog), r"{0.fetchlog}: no recording of .*; run: \./fetch\.py --name small$"),
    (lambda files: files.mirror.rename(files.base / "other") and files.mirror.touch(), "{0.mirror}: no recording ")])
def test_what_is_no_recording_of_the_pages_is_told_with_its_place(
        tmp_path: Path, spoil: Callable[[PageFiles], object], complaint: str) -> None:
    mirror = MadeRecording(tmp_path, "small", har=False)
    for url in (FIRST, SECOND):
        mirror.add(url, "<p>page")
    files = PageFiles(mirror.finish(FIRST, SECOND), mirror.name)
    spoil(files)
    with pytest.raises(InputError, match=f"^{complaint.format(files)}") as refused:
        check_pages(files)
    assert "\n" not in str(refused.value)


def test_missing_programs_are_named_by_their_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needs, "kernel_has_fastopen", lambda: False)
    monkeypatch.setattr(shutil, "which", lambda program: program not in {"tc", "ip", "iptables"})
    with pytest.raises(InputError, match="iproute2, iptables;"):
        check_programs()
    monkeypatch.setattr(shutil, "which", bool)
    with pytest.raises(InputError, match="TCP Fast Open"):
        check_programs()


def test_without_the_shim_or_a_browser_nothing_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shim, source = tmp_path / "shim.so", tmp_path / "shim.c"
    source.touch()
    monkeypatch.setattr(program, "SHIM", shim)
    monkeypatch.setattr(program, "SHIM_SOURCE", source)
    with pytest.raises(InputError, match=r"/shim\.so: "):
        check_browser()
    shim.touch()
    monkeypatch.setenv("TFO_LAB_CHROME", str(tmp_path / "no-chrome"))
    with pytest.raises(InputError, match=r"Chrome.* chromium"):
        check_browser()


@pytest.mark.root
@each_case("measure/drivers.jsonl")
def test_a_driver_of_chromes_version_that_its_user_can_start(case: dict[str, Any],
                                                             monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of its major version, wherever it is; one that does not say its version is taken as it was.

    Not the one of Ubuntu's snap; and what Selenium Manager downloads for root, nobody else could reach.
    """
    for variable, number in SUDO.items():
        monkeypatch.setenv(variable, number)
    user = browsing_user()
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        here = Path(name)
        here.chmod(0o755)

        def says(path: str, words: str, only: str = "true") -> str:
            """Make a program that says these words, if `only` holds."""
            (here / path).parent.mkdir(parents=True, exist_ok=True)
            (here / path).write_text(f"#!/bin/sh\n{only} && echo '{words}'\n")
            (here / path).chmod(0o755)
            return str(here / path)

        drivers = [says(f"{place}/chromedriver", version) for place, version in enumerate(case["on_path"])]
        if case.get("snap"):
            drivers += [says("script/chromedriver", "ChromeDriver 156.0.1.2", ": /snap/bin/chromium.chromedriver"),
                        str(here / "link" / "chromedriver")]
            (here / "link").mkdir()
            Path(drivers[-1]).symlink_to(says("snap/bin/driver", "ChromeDriver 156.0.1.2"))
        monkeypatch.setenv("PATH", ":".join(str(Path(driver).parent) for driver in drivers) or str(here / "none"))
        monkeypatch.setenv("TFO_LAB_CHROME", says("chrome", case["chrome"]))
        if case["package"]:
            package = types.ModuleType("chromedriver_binary")
            package.__spec__ = importlib.machinery.ModuleSpec("chromedriver_binary", None)
            vars(package)["chromedriver_filename"] = says("package", case["package"])
            monkeypatch.setitem(sys.modules, "chromedriver_binary", package)
        given = {"code": 0, "driver_path": case["manager"] and says("manager", case["manager"])}
        as_user = f"{user.uid} {pwd.getpwuid(user.uid).pw_dir} true"
        monkeypatch.setenv("SE_MANAGER_PATH", says("selenium-manager", json.dumps({"logs": [], "result": given}),
                                                   f'[ "$(/usr/bin/id -u) $HOME $SE_AVOID_STATS" = "{as_user}" ]'))
        if case["found"]:
            assert find_browser().driver == str(here / case["found"])
            return
        with pytest.raises(InputError, match="chromedriver") as refused:
            find_browser()
        assert ("chromedriver-binary==156.*" in str(refused.value)) == bool(drivers)


@pytest.mark.root
def test_a_full_disk_is_said_before_chrome_does_not_start_on_it() -> None:
    on_a_small_disk = 'mount -t tmpfs -o size=8M,mode=1777 tmpfs /mnt && TMPDIR=/mnt "$@" --dry-run'
    done = ran("unshare", "--mount", "sh", "-c", on_a_small_disk, "sh", ROOT / "tfo.py", status=69)
    assert re.fullmatch(r"/mnt: 8 MB free, and Chrome needs up to \d+; make room there, .*\n", done.stderr)
