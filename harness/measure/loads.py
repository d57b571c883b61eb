"""One page load: Chrome inside `user`, the kernel's counters around it, and the record of all that happened."""

import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.files import load_mark
from harness.files.load_mark import mark_load
from harness.files.load_record import FORMAT, LoadRecord
from harness.files.results import cell_directory, write_load
from harness.files.server_log import FoundAs, ServerRequest, ends_of_logs, read_server_logs
from harness.measure.chrome_run import run_chrome
from harness.measure.laboratory import Laboratory
from harness.measure.plan import Load
from harness.measure.reason import Reason, texts
from harness.measure.watch import answers_of, cookies_of, explained, har_log, timekeeping_of, watching
from harness.network.cookies import cookies_for_a_load
from harness.network.links import home_drops
from harness.system import environment, fastopen
from harness.system.open_connections import open_sockets, wait_for_close
from harness.system.privileges import acting_as

NOT_REPORTED = ("timing", "versions", "argv", "silences", "answers", "timekeeping", "cookies", "attempt")
"""What of load_page.py's report goes elsewhere in a record, or is not for Chrome's side to say."""


def measure_load(lab: Laboratory, load: Load) -> LoadRecord:
    """Load one page once, write its log and HAR into ``client/`` and return its record.

    A load that fails is a record too, with its "errors". Validity is judged by harness.measure.validity.
    """
    lab.switch_fastopen(load.tfo)
    logs_before = _ends_of_logs(lab, load)
    before, drops_before, began_s = lab.counters(), lab.delay_line_drops(), time.time()
    full_before = home_drops(lab.star) if lab.queues_at_home else {}
    servers = {server.pid for server in lab.star.servers.values()}
    listening = open_sockets(servers)
    directory = cell_of(lab, load)
    mark_load(lab.work_dir / load_mark.NAME, load.page.name, lab.delaynet_ms)
    cookies = cookies_for_a_load(lab.cookies, lab.star, lab.delay.held_ms, lab.names) if load.tfo else nullcontext()
    with watching(lab) as watch, cookies:
        report = run_chrome(lab, load, directory)
    after = lab.counters()
    wait_for_close(lambda: open_sockets(servers), listening, lab.speeds.longest_rtt_ms)
    requests = _logged(lab, load, began_s, logs_before)
    record = _record(report, {
        "url": load.page.url, "page": load.page.name, "delaynet_ms": lab.delaynet_ms, "rtt_ms": lab.rtt_ms,
        "tfo": load.tfo, "run": load.run, "experiment": lab.experiment_id, "network": lab.network,
        **_server_view(requests),
        "counters": {side: fastopen.difference(after[side], before[side]) for side in after},
        "delay_line_drops": lab.delay_line_drops() - drops_before,
        "buffer_drops": fastopen.difference(home_drops(lab.star), full_before) if full_before else None,
        "began_s": began_s,
        "environment": {**environment.machine(), "versions": report.get("versions"), "argv": report.get("argv"),
                        "measured_rtt_ms": lab.measured_rtt_ms, "load_average": environment.load_average(),
                        "sysctls": environment.sysctls(lab.star.user.pid)},
    })
    har = directory / f"{load.page.name}.har"
    with acting_as(lab.results_user):
        log = har_log(har)
        loaded = explained(log, record)
        return replace(record, cookies=cookies_of(watch, record) if load.tfo else None,
                       timekeeping=timekeeping_of(watch, record, report.get("silences"), loaded, requests),
                       answers=answers_of(lab, record, log, loaded.path, requests))


def _record(report: dict[str, Any], known: dict[str, Any]) -> LoadRecord:
    """Return the record of a load that is not judged yet: what Chrome's side reports, and what is `known` here.

    When both say something, what is known here counts.
    """
    of_the_load = {key: value for key, value in report.items() if key not in NOT_REPORTED}
    base = {**known, "format": FORMAT, "valid": True, "why_not": []}
    try:
        return LoadRecord.from_json({**of_the_load, **base})
    except ValueError as error:         # Chrome's side may have been taken over by the page
        environment_of = {**known["environment"], "versions": None, "argv": None}
        return LoadRecord.from_json({**base, "environment": environment_of,
                                     "errors": [f"the report of load_page.py is not one: {error}"]})


def write_record(lab: Laboratory, load: Load, record: LoadRecord, why_not: Sequence[Reason]) -> None:
    """Write a load's JSON with the verdict on it: `why_not` is empty for a valid load."""
    with acting_as(lab.results_user):
        write_load(cell_of(lab, load), replace(record, why_not=tuple(texts(why_not))))


def cell_of(lab: Laboratory, load: Load) -> Path:
    """Return the directory that holds all pages' loads of one run."""
    return lab.client_dir / cell_directory(lab.delaynet_ms, load.run, load.tfo)


def _ends_of_logs(lab: Laboratory, load: Load) -> dict[Path, int]:
    """Return where the servers' logs end before this load: they hold all earlier ones, and grow with each."""
    with acting_as(lab.results_user):
        return {path: size for directory in lab.server_logs(load.tfo) for path, size in ends_of_logs(directory).items()}


def _logged(lab: Laboratory, load: Load, since_s: float, since: Mapping[Path, int]) -> list[ServerRequest]:
    """Return what the servers logged of this load, which began at `since_s`, when their logs ended at `since`.

    Of connections of the load before that sent nothing, some may be noted only now.
    """
    with acting_as(lab.results_user):
        return [request for directory in lab.server_logs(load.tfo)
                for request in read_server_logs(directory, since=since) if request.time_s >= since_s]


def _server_view(requests: Sequence[ServerRequest]) -> dict[str, int]:
    """Count what the servers' logs say of this load's connections."""
    first = [request for request in requests if request.request == 1]
    return {
        "connections_with_request": len(first),
        "syn_data_connections": sum(request.syn_data for request in first),
        "silent_connections": sum(request.found == FoundAs.SILENT for request in requests),
    }
