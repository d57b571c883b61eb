"""One experiment at one delay, once its laboratory runs: all page loads in order, each written down at once."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

from harness.analysis.load_tables import write_load_tables
from harness.browser.client_hello import find_groups
from harness.browser.program import Browser, version_of
from harness.errors import ExperimentError, InputError
from harness.files.experiment import write_experiment
from harness.files.reason_kinds import ReasonKind
from harness.measure.folders import begin_try
from harness.measure.laboratory import Hosts, Laboratory, ReplayedWeb
from harness.measure.loads import cell_of, record_of, write_record
from harness.measure.plan import Goal, Load
from harness.measure.resume import EMPTY, Earlier, Stage, recording_digest
from harness.measure.rtts import own_rtts
from harness.measure.rule import Blame, Reason
from harness.measure.rules import alone
from harness.measure.series import (
    Measured,
    Series,
    failed_by_accident,
    last_tries,
    more_loads,
    most_left,
    next_load,
    outcome_lines,
)
from harness.measure.version import program_digest
from harness.mirror.live import live_left_out
from harness.network.needs import real_time_allowed
from harness.network.rtt import RttError
from harness.network.star import LinkSpeeds
from harness.system import environment
from harness.system.progress import Steps


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """What is measured in `lab`: the loads `to_do` and, with a goal, more of them until the goal is reached.

    `earlier` is what had been measured before, when an experiment is resumed. `description` is what the experiment's
    file says about all loads.
    """

    lab: Laboratory
    to_do: Sequence[Load]
    description: Mapping[str, Any]
    earlier: Earlier = EMPTY
    later: int = 0
    """How many loads are planned at other RTTs after these, for the time left."""

    def measure(self, progress: Steps) -> list[Measured]:
        """Do all page loads in order, those that fail by accident again; return every try with its verdict."""
        write_experiment(self.lab.client_dir, self.lab.delaynet_ms, self.description)
        series = Series(self.earlier.valid)
        # Without the tries that failed, or where the run was interrupted between two files, they may be judged anew.
        self._write_records([*self.earlier.valid], series.judged)
        try:
            with progress:
                self._load_all(series, progress)
        except BaseException:
            with suppress(OSError, InputError):     # a full disk, say, must not hide what ended the series
                self._write_tables(series)
            raise
        self._write_tables(series)
        return series.judged

    def _load_all(self, series: Series, progress: Steps) -> None:
        """Do all loads, and more for the goal."""
        to_do, begun = [*self.to_do], len(series.done)
        settings, pages = self.lab.settings, self.lab.web.page_set.pages
        goal, retries = settings.goal, settings.retries
        while to_do:
            while load := next_load(to_do, series.judged, begun, retries):
                before = series.judged
                self._load(load, series)
                done = {measured.load for measured in series.judged[begun:]}
                left = sum(load not in done for load in to_do) + len(failed_by_accident(series.judged, retries))
                if goal:
                    left = max(left, most_left(series.judged, goal, pages))
                _tell(before, series.judged, progress, left + self.later, is_most=goal is not None)
            more = more_loads(series.judged, goal, settings.seed, pages) if goal else []
            if not (goal and more):
                return
            to_do += more

    def _load(self, load: Load, series: Series) -> None:
        """Load a page once; write its record, and those of earlier loads whose verdict has changed by it.

        Raises ExperimentError when a companion has ended: before the load, or after it was written down as failed.
        """
        attempt = begin_try(cell_of(self.lab, load), load.page)
        record = replace(record_of(self.lab, load), attempt=attempt)
        why_not = alone(record)
        ended: ExperimentError | None = None
        try:
            self.lab.check_companions()
        except ExperimentError as error:
            ended = error
            why_not.append(Reason(ReasonKind.LABORATORY_ENDED, Blame.ACCIDENT, str(error)))
        before = series.judged
        series.add(Measured(load, record, why_not))
        self._write_records(before, series.judged)
        if ended:
            raise ended

    def _write_records(self, before: list[Measured], judged: list[Measured]) -> None:
        """Write the last load's record, and the records of earlier loads whose verdict has changed."""
        last = set(map(id, last_tries(judged)))
        for number, measured in enumerate(judged):
            if id(measured) in last and (number >= len(before) or before[number] != measured):
                write_record(self.lab, measured.load, measured.record, measured.why_not)

    def _write_tables(self, series: Series) -> None:
        """Write the tables of all loads, which people read in other programs."""
        if series.done:
            write_load_tables(self.lab.client_dir)


def _tell(before: Sequence[Measured], judged: Sequence[Measured], progress: Steps, left: int, *,
          is_most: bool) -> None:
    """Print the last load, and the earlier ones of which it showed that they are no good."""
    progress.done(judged[-1].in_words(), left, is_most=is_most)
    for known, now in zip(before, judged, strict=False):
        if now.why_not and not known.why_not:
            progress.say(f"looked at again: {now.in_words()}")


def known(web: ReplayedWeb, browser: Browser, speeds: LinkSpeeds, *, netem: bool) -> dict[str, Any]:
    """Return what an experiment's file says of what was chosen, and of pages, machine and programs.

    The experiment can be resumed only if all of this is the same.
    """
    settings, page_set, machine = web.settings, web.page_set, environment.machine()
    hello = (settings.post_quantum or find_groups(browser.binary) is None) if page_set.secure else None
    digest = recording_digest(page_set.files)
    live = {page.url: asdict(left_out) for page in page_set.pages
            if (left_out := live_left_out(page_set.files.fetchlog / f"{page.name}.har"))}
    rtts_ms = own_rtts(settings, speeds, page_set, web.layout)
    return {
        **settings.to_json(), **({"transports": settings.transports} if settings.warm_pairs else {}),
        "pages": [page.url for page in page_set.pages], "recording_sha256": digest,
        "synthetic": page_set.recording.manifest.synthetic, "live_left_out": live,
        "post_quantum": hello, "layout": web.layout.in_words(page_set.hosts),
        "shared_servers": {server: hosts for server, hosts in web.servers.items() if len(hosts) > 1},
        "delaynet_ms": speeds.delay_net_ms, "rtt_ms": speeds.rtt_ms, **rtts_ms,
        "delay_by": delay_by(netem=netem), "browser": version_of(browser),
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


def measure_stages(hosts: Hosts, stages: Sequence[Stage], busy: Sequence[str], patience_s: float) -> int:
    """Measure at one RTT after the other; return the status.

    `busy` is what kept the machine busy before. An RTT that is not what it should be costs only its own loads. Raises
    ExperimentError when servers or delay line have ended.
    """
    status, planned = 0, [len(stage.to_do) for stage in stages]
    progress = Steps(sum(planned))
    for number, stage in enumerate(stages):
        earlier, later = stage.earlier, sum(planned[number + 1:])
        try:
            with hosts.at(stage.speeds, experiment_id=earlier.experiment_id, patience_s=patience_s) as lab:
                description = {**stage.known, **found_in(lab), "busy": [*dict.fromkeys([*earlier.busy, *busy])]}
                at_this_rtt = Experiment(lab=lab, to_do=stage.to_do, earlier=earlier,
                                         later=later, description=description)
                status = max(status, summarise(at_this_rtt.measure(progress), lab.settings.goal))
        except RttError as error:
            print(f"{stage.speeds.rtt_ms:g} ms: {error}", file=sys.stderr)
            status = 1
    return status


def summarise(series: list[Measured], goal: Goal | None) -> int:
    """Say how well the goal was reached, what was measured again, and which loads are not valid; return the status."""
    last = last_tries(series)
    failed = [measured for measured in last if measured.why_not]
    for measured in failed:
        print(measured.in_words(), file=sys.stderr)
    for line in outcome_lines(series, goal) if goal else ():
        print(line)
    again = sum(bool(measured.why_not) for measured in series) - len(failed)
    more = f"; it took {len(last) + again} loads, since {again} failed by accident and " \
           f"{'was' if again == 1 else 'were'} measured again" if again else ""
    print(f"{len(last) - len(failed)} of {len(last)} page loads are valid{more}", flush=True)
    return 1 if failed else 0
