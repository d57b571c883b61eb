"""One page load: Chrome inside `user`, the kernel's counters around it, and all that was seen of it."""

import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from harness.analysis.initiators import read_warm_up
from harness.files import load_mark
from harness.files.har import LoadLog, read_har
from harness.files.load_mark import mark_load
from harness.files.load_parts import Counters
from harness.files.load_record import LoadRecord
from harness.files.results import cell_directory, write_load
from harness.files.server_log import ServerRequest, ends_of_logs, read_server_logs
from harness.measure.chrome_run import run_chrome
from harness.measure.evidence import Evidence
from harness.measure.laboratory import Laboratory
from harness.measure.plan import Load
from harness.measure.record import record
from harness.measure.rule import Reason, texts
from harness.network.cookies import cookies_for_a_load
from harness.system import environment, fastopen
from harness.system.tcp_sockets import open_sockets, wait_for_close
from harness.system.ticker import ticking
from harness.system.untrusted import UnreadableFileError


def measure_load(lab: Laboratory, load: Load) -> Evidence:
    """Load one page once, write its log and HAR into ``client/`` and return all that was seen of it."""
    lab.switch_fastopen(load.tfo)
    servers = {server.pid for server in lab.star.servers.values()}
    listening = open_sockets(servers)
    directory = cell_of(lab, load)
    before = _before(lab, load)

    def begin_anew() -> None:
        nonlocal before
        before = _before(lab, load)

    cookies = cookies_for_a_load(lab.settings.cookies, lab.star, lab.delay.held_ms, lab.web.servers) if load.tfo \
        else nullcontext()
    with lab.noting_arrivals() as arrivals, ticking() as ticks, cookies:
        report = run_chrome(lab, load, directory, begin_anew)
    after = lab.counts()
    wait_for_close(lambda: open_sockets(servers), listening, lab.speeds.longest_rtt_ms)
    return Evidence(
        lab=lab, load=load, report=report, requests=_logged(lab, load, before.at_s, before.logs),
        har=_har(directory / f"{load.page.name}.har"),
        grown={what: fastopen.difference(counts, before.counts[what]) for what, counts in after.items()},
        began_s=before.at_s, ticks=ticks, arrivals=arrivals,
        warm_up=read_warm_up(lab.client_dir, load.page.name) if load.run else None,
        environment={**environment.machine(), "versions": report.get("versions"), "argv": report.get("argv"),
                     "measured_rtt_ms": lab.measured_rtt_ms, "load_average": environment.load_average(),
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
    ends = {path: size for folder in lab.server_logs(load.tfo) for path, size in ends_of_logs(folder).items()}
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


def write_record(lab: Laboratory, load: Load, done: LoadRecord, why_not: Sequence[Reason]) -> None:
    """Write a load's JSON with the verdict on it: `why_not` is empty for a valid load."""
    write_load(cell_of(lab, load), replace(
        done, why_not=tuple(texts(why_not)), why_not_kinds=tuple(reason.kind for reason in why_not)))


def cell_of(lab: Laboratory, load: Load) -> Path:
    """Return the directory that holds all pages' loads of one run."""
    return lab.client_dir / cell_directory(lab.delaynet_ms, load.run, load.transport)


def _logged(lab: Laboratory, load: Load, since_s: float, since: Mapping[Path, int]) -> list[ServerRequest]:
    """Return what the servers logged of this load, which began at `since_s`, when their logs ended at `since`.

    Of connections of the load before that sent nothing, some may be noted only now.
    """
    return [request for directory in lab.server_logs(load.tfo)
            for request in read_server_logs(directory, since=since) if request.time_s >= since_s]


def _har(har: Path) -> LoadLog | None:
    """Return what a load's HAR says; None if there is none, or it is none."""
    try:
        return read_har(har)
    except UnreadableFileError:
        return None
