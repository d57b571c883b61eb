"""One page load: Chrome inside `user` in a process of its own, the kernel's counters around it, and all that was seen.

None of the files that Chrome's process left is trusted: a hostile page may have taken over Chrome, which runs as the
same user. When all of its processes have ended, each file is opened only if it is a regular file of that user and not
too large, and never through a link (harness.system.untrusted).
"""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, Any

from harness.analysis.asked_for import read_warm_up
from harness.browser.program import DRIVER_OUTPUT
from harness.browser.warm_pair import watching_second_visit
from harness.files import load_mark
from harness.files.har import LoadLog, read_har
from harness.files.load_mark import mark_load
from harness.files.load_parts import Counters
from harness.files.load_record import LoadRecord
from harness.files.pages import KEPT_LOGS
from harness.files.results import cell_directory
from harness.files.server_log import ServerRequest, ends_of_logs, read_server_logs
from harness.measure.client_log import REPORT
from harness.measure.evidence import Evidence, Load
from harness.measure.laboratory import Laboratory
from harness.measure.loading import PageLoad, load_page
from harness.measure.record import record
from harness.network.cookies import cookies_for_a_load
from harness.network.programs import captured_packets
from harness.system import environment, fastopen
from harness.system.atomic import write_atomically, written_beside
from harness.system.background import call_forked
from harness.system.privileges import browsing_user, give
from harness.system.tcp import open_sockets, wait_for_close
from harness.system.ticker import ticking
from harness.system.untrusted import (
    ANY_SIZE,
    UnreadableFileError,
    open_untrusted,
    read_untrusted,
    read_untrusted_json,
)

MOST_OUTPUT = 64 * 2**10
"""Bytes that are kept of each program's words: the last ones."""


def measure_load(lab: Laboratory, load: Load) -> Evidence:
    """Load one page once, write its log and HAR into ``client/`` and return all that was seen of it."""
    lab.switch_fastopen(load.tfo)
    servers = {server.pid for server in lab.star.servers.values()}
    listening = open_sockets(servers)
    directory = cell_of(lab, load)
    begun = [_before(lab, load)]

    cookies = cookies_for_a_load(lab.settings.cookies, lab.star, lab.delay.held_ms, lab.web.servers) if load.tfo \
        else nullcontext()
    with lab.noting_arrivals() as arrivals, ticking() as ticks, cookies:
        report = run_chrome(lab, load, directory, lambda: begun.append(_before(lab, load)))
    before, after = begun[-1], lab.counts()
    wait_for_close(lambda: open_sockets(servers), listening, lab.speeds.longest_rtt_ms)
    return Evidence(
        lab=lab, load=load, report=report, requests=_logged(lab, before.at_s, before.logs),
        har=_har(directory / f"{load.page.name}.har"),
        grown={what: fastopen.difference(counts, before.counts[what]) for what, counts in after.items()},
        began_s=before.at_s, ticks=ticks, arrivals=arrivals,
        warm_up=read_warm_up(lab.client_dir, load.page.name) if load.run else None,
        environment={**environment.machine(), "versions": report.get("versions"), "argv": report.get("argv"),
                     "measured_rtt_ms": lab.measured_rtt_ms, "load_average": os.getloadavg()[0],
                     "sysctls": environment.sysctls(lab.star.user.pid)})


@dataclass(frozen=True)
class _Before:
    """Where everything stood that grows over a load, when it began; `at_s` is in s since the epoch."""

    logs: Mapping[Path, int]
    counts: Counters
    at_s: float


def _before(lab: Laboratory, load: Load) -> _Before:
    """Look where everything stands, and tell the servers that a load begins."""
    mark_load(lab.work_dir / load_mark.NAME, load.page.name, lab.delaynet_ms, early=load.over.early)
    ends = {path: size for folder in lab.server_logs for path, size in ends_of_logs(folder).items()}
    return _Before(ends, lab.counts(), time.time())     # the servers' logs hold all earlier loads, and grow with each


def record_of(lab: Laboratory, load: Load) -> LoadRecord:
    """Load one page once, and return the record of it, which is not judged yet.

    Raises ExperimentError, before the load or after it, when servers or delay line have ended.
    """
    lab.check_programs_beside()
    try:
        return record(measure_load(lab, load))
    except OSError:
        lab.check_programs_beside()      # says it in words where such a program's end was the cause
        raise


def cell_of(lab: Laboratory, load: Load) -> Path:
    """Return the directory that holds all pages' loads of one run."""
    return lab.client_dir / cell_directory(lab.delaynet_ms, load.run, load.transport)


def _logged(lab: Laboratory, since_s: float, since: Mapping[Path, int]) -> list[ServerRequest]:
    """Return what the servers logged of this load, which began at `since_s`, when their logs ended at `since`.

    Of connections of the load before that sent nothing, some may be noted only now.
    """
    return [request for directory in lab.server_logs
            for request in read_server_logs(directory, since=since) if request.time_s >= since_s]


def _har(har: Path) -> LoadLog | None:
    """Return what a load's HAR says; None if there is none, or it is none."""
    try:
        return read_har(har)
    except UnreadableFileError:
        return None


def take_over(scratch: Path, directory: Path, page: str, output: IO[bytes], complaint: str = "") -> dict[str, Any]:
    """Keep in `directory` the log and HAR that a load of `page` left in `scratch`; return what load.json says of it.

    When that cannot be read, return {"errors": [the `complaint` of load_page.py, or why]}. A log or HAR that cannot be
    read is left out. Of a load that failed the last output of chromedriver and Chrome is kept, and load_page.py's
    `output`; the report names these files.
    """
    for name in (page, f"{page}.har"):
        with suppress(UnreadableFileError):
            write_atomically(directory / name, read_untrusted(scratch / name))
    report, why = None, "no JSON object"
    try:
        report = read_untrusted_json(scratch / REPORT)
    except UnreadableFileError as error:
        why = error.why
    if not isinstance(report, dict):
        report = {"errors": [complaint or f"load_page.py left no report: {why}"]}
    if report.get("errors") or not report.get("plt_ms"):
        try:
            with open_untrusted(scratch / DRIVER_OUTPUT, limit=ANY_SIZE) as file:
                drivers = end_of(file)
        except UnreadableFileError as error:
            drivers = f"{DRIVER_OUTPUT}: {error.why}\n".encode()
        report["logs"] = [f"{page}{ending}" for ending in KEPT_LOGS]
        for name, content in zip(report["logs"], (drivers, end_of(output)), strict=True):
            write_atomically(directory / name, content)
    return report


def end_of(file: IO[bytes]) -> bytes:
    """Return the last MOST_OUTPUT bytes of an open file."""
    file.seek(max(0, file.seek(0, os.SEEK_END) - MOST_OUTPUT))
    return file.read(MOST_OUTPUT)


def run_chrome(lab: Laboratory, load: Load, directory: Path, begin: Callable[[], None]) -> dict[str, Any]:
    """Load a page with a folder of its own; keep the logs in `directory` and return the report.

    Where the load follows an untimed visit (Settings.warm_pairs) `begin` is called between the two. When there is no
    report, return {"errors": [why]}.
    """
    scratch = Path(tempfile.mkdtemp(prefix="load-", dir=lab.work_dir))
    give(scratch, browsing_user())
    directory.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryFile(dir=lab.work_dir) as output:
            with captured_packets(lab.star.user, lab.work_dir) if lab.settings.pcap else nullcontext() as capture:
                second = watching_second_visit(scratch, begin) if lab.settings.warm_pairs else nullcontext()
                with second:
                    complaint = _load(lab, load, scratch, output)
            report = take_over(scratch, directory, load.page.name, output, complaint)
        if capture:
            with capture.path.open("rb") as packets, written_beside(
                    directory / f"{load.page.name}.pcap") as beside, beside.open("wb") as kept:
                shutil.copyfileobj(packets, kept)
            report["capture"] = asdict(capture.counts)
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
        over=load.over if settings.warm_pairs else None)
    return PageLoad(url=page.url, interface=lab.star.user.interface, user=browsing_user(), browser=lab.browser,
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
