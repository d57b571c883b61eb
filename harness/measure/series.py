"""The page loads of an experiment that are done, each with the verdict on it, judged together; and how many are enough.

With a goal, pairs of TFO off and on are added until a page's improvement is known well enough. Looking at the interval
after every run, and stopping as soon as it is narrow, makes it a little too narrow: runs that happen to agree end a
cell early. harness.measure.plan.MINIMUM_PAIRS bounds that.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from harness.analysis.intervals import improvement_interval
from harness.errors import printable
from harness.files.load_record import LoadRecord
from harness.files.pages import Page
from harness.measure.plan import Goal, Load, draw_flips, pages_of, plan_run
from harness.measure.rule import Reason, texts, worth_another_try
from harness.measure.rules import together


@dataclass(frozen=True)
class Measured:
    """A load that was done, its record, and why it is not valid (empty when it is)."""

    load: Load
    record: LoadRecord
    why_not: list[Reason]

    @property
    def attempt(self) -> int:
        """Which try of the load this is, from 1."""
        return self.record.attempt

    def in_words(self) -> str:
        """Return the load as a line for people."""
        load, record = self.load, self.record
        side = load.over.words if record.early_data else ("TFO off", "TFO on ")[load.tfo]
        what = f"{load.page.url} {record.rtt_ms:g} ms run {load.run} {side}" \
            f"{f' try {self.attempt}' if self.attempt > 1 else ''}"
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
    """The loads of an experiment in the order in which they were done, and what they are like beside each other."""

    def __init__(self, done: Iterable[Measured]) -> None:
        """Begin with what was `done` before."""
        self.done: list[Measured] = [*done]
        self.judged: list[Measured] = judge_together(self.done)

    def add(self, measured: Measured) -> None:
        """Add a load, and judge it and the page's other loads again."""
        self.done.append(measured)
        self.judged = judge_together(self.done, self.judged)


def judge_together(series: Sequence[Measured], before: Sequence[Measured] = ()) -> list[Measured]:
    """Return `series`, with a reason added to each load that got other or fewer answers than the page's other loads.

    `before` is what was returned when `series` had only so many loads: of pages that were not loaded since, the
    judgement still holds.
    """
    new = series[len(before):]
    judged = [*before, *new]
    for page in dict.fromkeys(measured.load.page for measured in new):
        places = [place for place, measured in enumerate(series) if measured.load.page == page]
        loads = [series[place] for place in places]
        verdicts = together([load.record for load in loads], [load.why_not for load in loads])
        for place, verdict in zip(places, verdicts, strict=True):
            judged[place] = replace(series[place], why_not=verdict)
    return judged


def last_tries(series: Sequence[Measured]) -> list[Measured]:
    """Return the last try of each load, in the order in which the loads were first done."""
    return list({measured.load: measured for measured in series}.values())


def failed_by_accident(judged: Sequence[Measured], retries: int) -> list[Measured]:
    """Return the loads whose last try failed by accident, and which were tried again fewer than `retries` times.

    A warm-up that was valid before the experiment was resumed, and is made anew, has not been tried yet.
    """
    tries = Counter(measured.load for measured in judged if measured.why_not or measured.load.run > 0)
    return [measured for measured in last_tries(judged)
            if worth_another_try(measured.why_not) and tries[measured.load] <= retries]


def next_load(to_do: Sequence[Load], judged: Sequence[Measured], begun: int, retries: int) -> Load | None:
    """Return which load comes next: those `to_do` in order but, at the end of a run, first what failed by accident.

    `judged` are all loads so far, `begun` of which were done before. Of several that failed the one that was tried
    least comes first. None when nothing is left.
    """
    done = {measured.load for measured in judged[begun:]}
    missing = next((load for load in to_do if load not in done), None)
    failed = failed_by_accident(judged, retries)
    if failed and (missing is None or (done and missing.run > judged[-1].load.run)):
        return min(failed, key=lambda measured: measured.attempt).load
    return missing


def valid_pairs_ms(judged: Sequence[Measured], page: Page) -> tuple[list[float], list[float]]:
    """Return the page load times (ms) without and with TFO, of those measured runs of `page` that are valid in both.

    As in the table only a load's last try counts.
    """
    plts_ms: dict[int, dict[int, float]] = {0: {}, 1: {}}
    for measured in last_tries(judged):
        load, plt_ms = measured.load, measured.record.plt_ms
        if load.page == page and load.run > 0 and not measured.why_not and plt_ms is not None:
            plts_ms[load.tfo][load.run] = plt_ms
    runs = sorted(plts_ms[0].keys() & plts_ms[1].keys())
    return [plts_ms[0][run] for run in runs], [plts_ms[1][run] for run in runs]


def more_loads(judged: Sequence[Measured], goal: Goal, seed: int, pages: Sequence[Page]) -> list[Load]:
    """Return the next run of every page that needs one; [] when no page does. TFO off and on alternate as in the plan.

    `judged` are all loads so far, which began with `plan_loads` of the same seed and `pages`: in a run that was resumed
    the first load of each page that counts may be in another order than these. A failed load makes no pair, but its
    run counts towards `goal.max_runs`: so the loads of a page that always fails come to an end.
    """
    done = {measured.load.page for measured in judged}
    unfinished = [page for page in pages if page in done and _runs(judged, page) < goal.max_runs
                  and not is_precise(judged, page, goal)]
    if not unfinished:
        return []
    run = max(measured.load.run for measured in judged) + 1
    return plan_run(run, unfinished, (0, 1), draw_flips(pages, seed))


def is_precise(judged: Sequence[Measured], page: Page, goal: Goal) -> bool:
    """Tell whether the improvement of `page` is known well enough."""
    pairs, half_width = _precision(judged, page)
    return pairs >= goal.min_pairs and half_width is not None and half_width < goal.points


def most_left(judged: Sequence[Measured], goal: Goal, pages: Sequence[Page]) -> int:
    """Return how many more loads there may be at most of those `pages` whose improvement is not known well enough."""
    done = {measured.load for measured in judged}
    return sum(2 * (1 + goal.max_runs) - sum(load.page == page for load in done)
               for page in pages if not is_precise(judged, page, goal))


def outcome_lines(judged: Sequence[Measured], goal: Goal) -> Iterator[str]:
    """Say for each page how well its improvement is known now, in one line."""
    for page in pages_of([measured.load for measured in judged]):
        runs, (pairs, half_width) = _runs(judged, page), _precision(judged, page)
        known = "no interval of the improvement" if half_width is None else \
            f"improvement known to +-{half_width:.1f} points (95% interval of {pairs} pairs)"
        short = "" if is_precise(judged, page, goal) else \
            f": --max-runs reached before --until-ci {goal.points:g}"
        yield f"{page.url}: {known} after {runs} measured runs{short}"


def _runs(judged: Sequence[Measured], page: Page) -> int:
    return max(measured.load.run for measured in judged if measured.load.page == page)


def _precision(judged: Sequence[Measured], page: Page) -> tuple[int, float | None]:
    """Return the number of pairs and the half-width of the interval in percentage points, None when there is none."""
    off_ms, on_ms = valid_pairs_ms(judged, page)
    interval = improvement_interval(off_ms, on_ms)
    return len(off_ms), interval.half_width_points if interval else None
