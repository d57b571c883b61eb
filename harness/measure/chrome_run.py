"""One load inside `user`, in a process of its own, and what is kept of it.

None of the files that it left is trusted: Chrome runs as the same user, and a hostile page may have taken over Chrome.
When all of these processes have ended, each file is opened only if it is a regular file of that user and not too large,
and never through a link (harness.system.untrusted).
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, Any

from harness.browser.program import DRIVER_OUTPUT
from harness.browser.warm_pair import watching_second_visit
from harness.files.pages import KEPT_LOGS
from harness.measure.client_log import REPORT
from harness.measure.laboratory import Laboratory
from harness.measure.loading import PageLoad, load_page
from harness.measure.plan import Load
from harness.network.packets import captured_packets
from harness.system.atomic import write_atomically, written_beside
from harness.system.forked import call_forked
from harness.system.privileges import User
from harness.system.untrusted import (
    ANY_SIZE,
    LARGEST_FILE,
    UnreadableFileError,
    open_untrusted,
    read_untrusted,
    read_untrusted_json,
)

MOST_OUTPUT = 64 * 2**10
"""Bytes that are kept of each program's words: the last ones."""


@dataclass(frozen=True)
class LeftBehind:
    """The files of a load in `scratch`, made by `maker`; what is kept goes to `directory`."""

    scratch: Path
    maker: User
    directory: Path
    page: str

    def keep_logs(self) -> None:
        """Keep the load's log and HAR. A file that cannot be read is left out: the report says why the load failed."""
        for name in (self.page, f"{self.page}.har"):
            try:
                content = read_untrusted(self.scratch / name, owner=self.maker.uid)
            except UnreadableFileError:
                continue
            write_atomically(self.directory / name, content)

    def report(self, complaint: str, limit: int = LARGEST_FILE) -> dict[str, Any]:
        """Return what load.json says; when it cannot be read, {"errors": [the `complaint` of load_page.py, or why]}."""
        try:
            report = read_untrusted_json(self.scratch / REPORT, limit=limit, owner=self.maker.uid)
        except UnreadableFileError as error:
            return {"errors": [complaint or f"load_page.py left no report: {error.why}"]}
        if not isinstance(report, dict):
            return {"errors": [complaint or "load_page.py left no report: no JSON object"]}
        return report

    def keep_capture(self, made: Path) -> None:
        """Keep the captured packets. They are of any size: tcpdump wrote them."""
        if made.is_file():
            with made.open("rb") as source, \
                    written_beside(self.directory / f"{self.page}.pcap") as beside, beside.open("wb") as target:
                shutil.copyfileobj(source, target)

    def keep_output(self, output: IO[bytes]) -> list[str]:
        """Keep the last output of chromedriver and Chrome, and load_page.py's `output`; return the files' names."""
        try:
            with open_untrusted(self.scratch / DRIVER_OUTPUT, limit=ANY_SIZE, owner=self.maker.uid) as file:
                drivers = end_of(file)
        except UnreadableFileError as error:
            drivers = f"{DRIVER_OUTPUT}: {error.why}\n".encode()
        names = [f"{self.page}{ending}" for ending in KEPT_LOGS]
        for name, content in zip(names, (drivers, end_of(output)), strict=True):
            write_atomically(self.directory / name, content)
        return names


def end_of(file: IO[bytes]) -> bytes:
    """Return the last MOST_OUTPUT bytes of an open file."""
    file.seek(max(0, file.seek(0, os.SEEK_END) - MOST_OUTPUT))
    return file.read(MOST_OUTPUT)


def run_chrome(lab: Laboratory, load: Load, directory: Path,
               begin: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """Load a page with a folder of its own; keep the logs in `directory` and return the report.

    Where the load follows an untimed visit (Settings.warm_pairs) `begin` is called between the two.

    When there is no report, return {"errors": [why]}.
    """
    scratch = Path(tempfile.mkdtemp(prefix="load-", dir=lab.work_dir))
    os.chown(scratch, lab.browsing_user.uid, lab.browsing_user.gid)
    directory.mkdir(parents=True, exist_ok=True)
    left = LeftBehind(scratch, lab.browsing_user, directory, load.page.name)
    try:
        with tempfile.TemporaryFile(dir=lab.work_dir) as output:
            with captured_packets(lab.star.user, lab.work_dir) if lab.settings.pcap else nullcontext() as capture:
                second = watching_second_visit(scratch, begin) if lab.settings.warm_pairs else nullcontext()
                with second:
                    complaint = _load(lab, load, scratch, output)
            left.keep_logs()
            report = left.report(complaint)
            if capture:
                left.keep_capture(capture.path)
                report["capture"] = asdict(capture.counts)
            if report.get("errors") or not report.get("plt_ms"):
                report["logs"] = left.keep_output(output)
        return report
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def page_load(lab: Laboratory, load: Load, scratch: Path) -> PageLoad:
    """Return what is to be loaded. Chrome does as it did when it recorded the page.

    Run 0 never counts, so that the time which DevTools takes for the initiators spoils nothing.
    """
    page, settings, recording = load.page, lab.settings, lab.web.page_set.recording
    chrome = replace(
        lab.chrome, work_dir=scratch, quic_origins=lab.chrome.quic_origins if load.over.quic else (),
        user_agent=recording.manifest.user_agents.get(page.name), initiators=lab.chrome.initiators or load.run == 0,
        loopback_tfo=lab.loopback_tfo(load.tfo), over=load.over if settings.warm_pairs else None)
    return PageLoad(url=page.url, interface=lab.star.user.interface, user=lab.browsing_user, browser=lab.browser,
                    chrome=chrome, settings=settings, asked_as=recording.asked_as(page.url), nice=lab.nice)


def _load(lab: Laboratory, load: Load, scratch: Path, output: IO[bytes]) -> str:
    """Load the page; return the last error that was said, "" when there is none. What is printed goes to `output`."""
    longest_s = lab.settings.longest_load_s
    try:
        status = call_forked(partial(load_page, page_load(lab, load, scratch)), "load_page.py", output, longest_s,
                             lab.star.user.pid)
    except subprocess.TimeoutExpired:
        return f"Chrome hung: no end after {longest_s:g} s"
    said = end_of(output).decode("utf-8", "replace").strip()
    return said.splitlines()[-1] if status and said else ""
