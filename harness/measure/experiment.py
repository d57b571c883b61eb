"""One experiment at one delay, once its laboratory runs: all page loads in order, each written down at once."""

import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from harness.analysis.load_tables import write_load_tables
from harness.browser.program import Browser, version_of
from harness.errors import ExperimentError, InputError
from harness.files.experiment import write_experiment
from harness.files.reason_kinds import ReasonKind
from harness.files.results import write_load
from harness.measure.evidence import Load
from harness.measure.folders import begin_try
from harness.measure.laboratory import Laboratory, place_of_key_shares
from harness.measure.loads import cell_of, record_of
from harness.measure.preflight import ReplayedWeb
from harness.measure.resume import Stage, program_digest, recording_digest
from harness.measure.rtts import own_rtts
from harness.measure.rule import Blame, Reason, texts
from harness.measure.rules import alone
from harness.measure.series import Measured, Series
from harness.network.needs import real_time_allowed
from harness.network.rtt import RttError
from harness.network.star import LinkSpeeds
from harness.system import environment
from harness.system.progress import Steps


def measure(lab: Laboratory, stage: Stage, progress: Steps, busy: Sequence[str] = (), later: int = 0) -> Series:
    """Do the page loads of a stage in `lab` in order, and more for a goal; those that fail by accident again.

    `busy` is what kept the machine busy before. `later` loads are planned at other RTTs after these, for the time left.
    """
    write_experiment(lab.client_dir, lab.delaynet_ms, {**stage.known, **found_in(lab),
                                                       "busy": [*dict.fromkeys([*stage.busy, *busy])]})
    series = Series(stage.to_do, lab.settings, lab.web.page_set.pages, stage.done)
    # Without the tries that failed, or where the run was interrupted between two files, they may be judged anew.
    _write_records(lab, series, [measured for measured in series.judged if measured.why_not])
    try:
        with progress:
            while load := series.next():
                _load(lab, load, series)
                progress.done(series.judged[-1].in_words(), series.left() + later,
                              is_least=lab.settings.until_ci is not None)
    except BaseException:
        with suppress(OSError, InputError):     # a full disk, say, must not hide what ended the series
            write_load_tables(lab.client_dir)
        raise
    if series.judged:
        write_load_tables(lab.client_dir)
    return series


def _load(lab: Laboratory, load: Load, series: Series) -> None:
    """Load a page once; write its record, and those of earlier loads whose verdict has changed by it.

    Raises ExperimentError when a program beside it has ended: before the load, or after it was written down as failed.
    """
    attempt = begin_try(cell_of(lab, load), load.page)
    record = replace(record_of(lab, load), attempt=attempt)
    measured = Measured(load, record, alone(record))
    try:
        lab.check_programs_beside()
    except ExperimentError as error:
        measured.alone.append(Reason(ReasonKind.LABORATORY_ENDED, Blame.ACCIDENT, str(error)))
    _write_records(lab, series, series.add(measured))
    lab.check_programs_beside()


def _write_records(lab: Laboratory, series: Series, judged: Iterable[Measured]) -> None:
    """Write the records of those loads that are `judged`, with the verdicts, as far as they are the last tries."""
    for measured in judged:
        if any(measured is last for last in series.last()):
            why_not = measured.why_not
            write_load(cell_of(lab, measured.load), replace(
                measured.record, why_not=tuple(texts(why_not)), why_not_kinds=tuple(reason.kind for reason in why_not)))


def known(web: ReplayedWeb, browser: Browser, speeds: LinkSpeeds, *, netem: bool) -> dict[str, Any]:
    """Return what an experiment's file says of what was chosen, and of pages, machine and programs.

    The experiment can be resumed only if all of this is the same.
    """
    settings, page_set, machine = web.settings, web.page_set, environment.machine()
    hello = place_of_key_shares(settings, browser) is None if page_set.secure else None
    digest = recording_digest(page_set.files)
    return {
        **settings.to_json(), "unusual": settings.unusual,
        **({"transports": settings.transports} if settings.warm_pairs else {}),
        "pages": [page.url for page in page_set.pages], "recording_sha256": digest,
        "synthetic": page_set.recording.manifest.synthetic,
        "post_quantum": hello, "layout": web.layout.in_words(page_set.hosts),
        "shared_servers": {server: hosts for server, hosts in web.servers.items() if len(hosts) > 1},
        "delaynet_ms": speeds.delay_net_ms, "rtt_ms": speeds.rtt_ms, **own_rtts(web, speeds),
        "delay_by": delay_by(netem=netem), "browser": version_of(browser.binary),
        **{key: machine[key] for key in ("kernel", "machine", "cpus")}, "tfo_lab": program_digest(),
    }


def found_in(lab: Laboratory) -> dict[str, Any]:
    """Return what an experiment's file says of the laboratory that was built for it, besides the settings."""
    return {
        "id": lab.experiment_id, "measured_rtt_ms": lab.measured_rtt_ms,
        "server_congestion_control": environment.server_congestion_control(lab.star.user.pid),
        **environment.machine(), "sysctls": environment.sysctls(lab.star.user.pid),
    }


def delay_by(*, netem: bool) -> str:
    """Return in words what delays packets; without real-time priority the delay line may be late now and then."""
    return "netem" if netem else "delay line" if real_time_allowed() else "delay line without real-time priority"


def measure_stages(lab: Laboratory, stages: Sequence[Stage], busy: Sequence[str], patience_s: float) -> int:
    """Measure at one RTT after the other; return the status.

    `busy` is what kept the machine busy before. An RTT that is not what it should be costs only its own loads. Raises
    ExperimentError when servers or delay line have ended.
    """
    status, later = 0, sum(len(stage.to_do) for stage in stages)
    progress = Steps(later)
    for stage in stages:
        later -= len(stage.to_do)
        try:
            at_rtt = lab.at(stage.speeds, experiment_id=stage.experiment_id, patience_s=patience_s)
            status = max(status, summarise(measure(at_rtt, stage, progress, busy, later)))
        except RttError as error:
            print(f"{stage.speeds.rtt_ms:g} ms: {error}", file=sys.stderr)
            status = 1
    return status


def summarise(series: Series) -> int:
    """Say how well the goal was reached, what was measured again, and which loads are not valid; return the status."""
    last = series.last()
    failed = [measured for measured in last if measured.why_not]
    for measured in failed:
        print(measured.in_words(), file=sys.stderr)
    for line in series.outcome_lines() if series.settings.until_ci is not None else ():
        print(line)
    again = sum(bool(measured.why_not) for measured in series.judged) - len(failed)
    print(f"{len(last) - len(failed)} of {len(last)} page loads are valid"
          f"{f'; {again} more failed by accident, and were measured again' if again else ''}", flush=True)
    return 1 if failed else 0
