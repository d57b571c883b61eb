"""The page loads of an experiment that are done: each with its record and the verdict on it, judged together."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from harness import validity
from harness.errors import InputError
from harness.load_tables import write_load_tables
from harness.loads import Laboratory, write_record
from harness.pages import Page
from harness.plan import Load
from harness.privileges import give
from harness.results import write_experiment


@dataclass(frozen=True)
class Measured:
    """A load that was done, its record, and why it is not valid (empty when it is)."""

    load: Load
    record: dict[str, Any]
    why_not: list[str]

    def in_words(self) -> str:
        """Return the load as a line for people."""
        load, record = self.load, self.record
        what = f"{load.page.url} {record['rtt_ms']:g} ms run {load.run} TFO {'on ' if load.tfo else 'off'}"
        capture = record.get("capture") or {}
        lost = f"  CAPTURE: {capture['problem']}" if capture.get("problem") else ""
        if self.why_not:
            return f"{what}  FAILED: {'; '.join(self.why_not)}{lost}"
        return (f"{what}  PLT {record['plt_ms'] / 1000:.3f} s, {record['requests']} requests, "
                f"{record['syn_data_connections']} of {record['connections_with_request']} in the SYN{lost}")


def judge_together(series: Sequence[Measured]) -> list[Measured]:
    """Return `series` with the loads marked, too, whose requests differ from those of the page's other loads."""
    judged = list(series)
    for page in dict.fromkeys(one.load.page for one in series):
        places = [place for place, one in enumerate(series) if one.load.page == page]
        verdicts = validity.request_set_reasons([series[place].record for place in places])
        for place, more in zip(places, verdicts, strict=True):
            judged[place] = replace(series[place], why_not=series[place].why_not + more)
    return judged


def write_down(lab: Laboratory, series: Sequence[Measured], description: Mapping[str, Any]) -> None:
    """Write the record of the last load of `series`, and into the experiment's file the order of all that were done."""
    last = series[-1]
    write_record(lab, last.load, last.record, last.why_not)
    order = [(one.load.page.url, one.load.run, one.load.tfo) for one in series]
    give(write_experiment(lab.client_dir, lab.delaynet_ms, {**description, "order": order}), lab.results_user)


def valid_pairs_ms(judged: Sequence[Measured], page: Page) -> tuple[list[float], list[float]]:
    """Return the page load times (ms) without and with TFO of the measured runs of `page` that are valid in both."""
    plts_ms: dict[int, dict[int, float]] = {0: {}, 1: {}}
    for one in judged:
        if one.load.page == page and one.load.run > 0 and not one.why_not:
            plts_ms[one.load.tfo][one.load.run] = one.record["plt_ms"]
    runs = sorted(plts_ms[0].keys() & plts_ms[1].keys())
    return [plts_ms[0][run] for run in runs], [plts_ms[1][run] for run in runs]


@contextmanager
def finished_files(lab: Laboratory, series: Sequence[Measured]) -> Iterator[None]:
    """However the series ends, write what only its end tells: verdicts on request sets, and the table of all loads."""
    try:
        yield
    except BaseException:
        with suppress(OSError, InputError):     # a full disk, say, must not hide what ended the series
            _finish(lab, series)
        raise
    _finish(lab, series)


def _finish(lab: Laboratory, series: Sequence[Measured]) -> None:
    for before, after in zip(series, judge_together(series), strict=True):
        if after != before:
            write_record(lab, after.load, after.record, after.why_not)
    if series:
        for table in write_load_tables(lab.client_dir):
            give(table, lab.results_user)
