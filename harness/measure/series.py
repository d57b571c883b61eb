"""The page loads of an experiment that are done: each with its record and the verdict on it, judged together."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from harness.errors import printable
from harness.files.load_record import LoadRecord
from harness.files.pages import Page
from harness.measure.judge import together
from harness.measure.plan import Load
from harness.measure.reason import Reason, texts, worth_another_try


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
