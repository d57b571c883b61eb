"""The page loads of an experiment: which are made, in which order, the verdict on those done, and how many are enough.

TFO off and on are interleaved, so that both meet the same conditions.

With a goal, pairs of TFO off and on are added until a page's improvement is known well enough. Looking at the interval
after every run, and stopping as soon as it is narrow, makes it a little too narrow: runs that happen to agree end a
cell early. harness.measure.settings.MINIMUM_PAIRS bounds that.
"""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import inf

from harness.analysis.stats import improvement_interval
from harness.errors import printable
from harness.files.load_record import LoadRecord
from harness.files.pages import Page
from harness.measure.evidence import Load
from harness.measure.rule import Verdict, texts, worth_another_try
from harness.measure.rules import together
from harness.measure.settings import Settings


def plan_loads(pages: Sequence[Page], settings: Settings) -> list[Load]:
    """Return all loads in order: run by run, page by page, off and on side by side (see `plan_run`)."""
    return [load for run in range(settings.testruns) for load in plan_run(
        run, pages, settings.transports if run else settings.warm_ups, settings.seed)]


def plan_run(run: int, pages: Sequence[Page], transports: Sequence[int], seed: int) -> list[Load]:
    """Return the loads of one run of `pages`.

    Which goes first in a page's run 0 is the seed's decision, and alternates from run to run (off on, on off, ...): so
    a machine that slowly becomes faster or slower favours neither.
    """
    loads = []
    for page in pages:
        flipped = (random.Random(f"{seed} {page.url}").randrange(2) + run) % 2
        loads += [Load(page, run, each) for each in (reversed(transports) if flipped else transports)]
    return loads


@dataclass
class Measured:
    """A load that was done, its record, and what speaks against it: by itself, and also beside the others (`why_not`).

    The load is valid when `why_not` is empty, once a Series has judged it.
    """

    load: Load
    record: LoadRecord
    alone: Verdict
    why_not: Verdict = field(default_factory=list)

    def in_words(self) -> str:
        """Return the load as a line for people."""
        load, record = self.load, self.record
        side = load.over.words if record.early_data else ("TFO off", "TFO on ")[load.tfo]
        what = f"{load.page.url} {record.rtt_ms:g} ms run {load.run} {side}" \
            f"{f' try {record.attempt}' if record.attempt > 1 else ''}"
        lost = f"  CAPTURE: {record.capture.problem}" if record.capture and record.capture.problem else ""
        if self.why_not:
            return printable(f"{what}  FAILED: {'; '.join(texts(self.why_not))}{lost}")
        return (f"{what}  PLT {(record.plt_ms or 0) / 1000:.3f} s, {record.requests} requests, "
                f"{record.syn_data_connections} of {record.connections_with_request} in the SYN{_early(record)}{lost}")


def _early(record: LoadRecord) -> str:
    counts = record.early_data
    late = f" ({counts.too_late} asked too late)" if counts and counts.too_late else ""
    return f", {counts.sent} of {counts.possible} early{late}" if counts else ""


class Series:
    """The loads of an experiment at one RTT: those to do, and those done in their order, with the verdict on each.

    A load that got other or fewer answers than its page's other loads has a reason against it for that, too.
    """

    def __init__(self, to_do: Iterable[Load], settings: Settings, pages: Sequence[Page],
                 done: Iterable[Measured] = ()) -> None:
        """Begin with what was `done` before."""
        self.to_do, self.settings, self.pages, self.judged = [*to_do], settings, pages, [*done]
        for page in pages:
            self._judge(page)

    def add(self, measured: Measured) -> list[Measured]:
        """Add a load; return it, and those of its page's other loads whose verdict is another now."""
        self.judged.append(measured)
        return [measured, *(other for other in self._judge(measured.load.page) if other is not measured)]

    def _judge(self, page: Page) -> list[Measured]:
        """Judge all loads of `page`; return those whose verdict is another now."""
        loads = [measured for measured in self.judged if measured.load.page == page]
        verdicts = together([measured.record for measured in loads], [measured.alone for measured in loads])
        changed = [measured for measured, verdict in zip(loads, verdicts, strict=True) if measured.why_not != verdict]
        for measured, verdict in zip(loads, verdicts, strict=True):
            measured.why_not = verdict
        return changed

    def next(self) -> Load | None:
        """Return which load comes next: those to do in order but, at the end of a run, first what failed by accident.

        Of several that failed the one that was tried least comes first. With a goal there are more as long as it is not
        reached. None when nothing is left.
        """
        missing, failed = self.missing(), self.failed()
        if failed and (not missing or missing[0].run > self.judged[-1].load.run):
            return min(failed, key=lambda measured: measured.record.attempt).load
        if not missing:
            missing = self.more()
            self.to_do += missing
        return missing[0] if missing else None

    def missing(self) -> list[Load]:
        """Return the loads that have not been tried yet."""
        done = {measured.load for measured in self.judged}
        return [load for load in self.to_do if load not in done]

    def last(self) -> list[Measured]:
        """Return the last try of each load, in the order in which the loads were first done."""
        return list({measured.load: measured for measured in self.judged}.values())

    def failed(self) -> list[Measured]:
        """Return the loads whose last try failed by accident, and which are to be tried again."""
        tries = Counter(measured.load for measured in self.judged)
        return [measured for measured in self.last()
                if worth_another_try(measured.why_not) and tries[measured.load] <= self.settings.retries]

    def left(self) -> int:
        """Return how many loads are left; with a goal there may be more."""
        return len(self.missing()) + len(self.failed())

    def more(self) -> list[Load]:
        """Return the next run of every page that needs one; [] when no page does. TFO off and on alternate as planned.

        In an experiment that was resumed the first load of each page that counts may be in another order than `pages`.
        A failed load makes no pair, but its run counts towards the goal's most: so the loads of a page that always
        fails come to an end.
        """
        unfinished = [page for page in self.pages if 0 <= self.runs(page) < self.settings.max_runs
                      and not self.is_precise(page)]
        if self.settings.until_ci is None or not unfinished:
            return []
        run = max(measured.load.run for measured in self.judged) + 1
        return plan_run(run, unfinished, (0, 1), self.settings.seed)

    def runs(self, page: Page) -> int:
        """Return the number of the page's last run, -1 before its first load."""
        return max((measured.load.run for measured in self.judged if measured.load.page == page), default=-1)

    def pairs_ms(self, page: Page) -> tuple[list[float], list[float]]:
        """Return the page load times (ms) without and with TFO, of those measured runs that are valid in both.

        As in the table only a load's last try counts.
        """
        plts_ms = {}
        for measured in self.last():
            load, plt_ms = measured.load, measured.record.plt_ms
            if load.page == page and load.run > 0 and not measured.why_not and plt_ms is not None:
                plts_ms[load.run, load.tfo] = plt_ms
        runs = [run for run, tfo in sorted(plts_ms) if tfo and (run, 0) in plts_ms]
        return [plts_ms[run, 0] for run in runs], [plts_ms[run, 1] for run in runs]

    def _precision(self, page: Page) -> tuple[int, float]:
        """Return the number of pairs and the half-width of the interval in percentage points, infinite without one."""
        off_ms, on_ms = self.pairs_ms(page)
        interval = improvement_interval(off_ms, on_ms)
        return len(off_ms), interval.half_width_points if interval else inf

    def is_precise(self, page: Page) -> bool:
        """Tell whether the improvement of `page` is known as well as the goal says."""
        pairs, half_width = self._precision(page)
        return half_width < (self.settings.until_ci or 0.0) and pairs >= self.settings.min_pairs

    def outcome_lines(self) -> Iterator[str]:
        """Say for each page how well its improvement is known now, in one line."""
        for page in self.pages:
            pairs, half_width = self._precision(page)
            known = "no interval of the improvement" if half_width == inf else \
                f"improvement known to +-{half_width:.1f} points (95% interval of {pairs} pairs)"
            short = "" if self.is_precise(page) else \
                f": --max-runs reached before --until-ci {self.settings.until_ci:g}"
            yield f"{page.url}: {known} after {self.runs(page)} measured runs{short}"
