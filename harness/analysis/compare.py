"""Two result folders against each other: two classmates, two kernels, HTTP/1.0 against 1.1.

Each row of the table has three values (PLT without TFO, PLT with TFO, improvement), and for each of them Welch's t-test
tells whether the two folders' runs differ. Two groups of three runs have 20 orders, so that no rank test on them can
give p < 0.1; a t-test can, and pays for it with an assumption: that a cell's runs vary as a normal distribution does.

What was recorded of their set-ups is held against each other, too.
"""

import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.analysis.row import Row
from harness.analysis.selection import Selection, select
from harness.analysis.stats import CONFIDENCE, improvement_percent, median
from harness.errors import InputError
from harness.files.pages import CLIENT
from harness.files.results import Results, read_results

SURE = 0.05
"""Adjusted p under which a difference is called one: of those named, 5% are expected to be none."""
NO_TFO, TFO, IMPROVEMENT = "no TFO", "TFO", "Improv."
NOT_SHOWN = ("format", "id", "busy", "pages", "order", "shared_servers", "live_left_out", "unusual")
"""What an experiment's file holds besides its settings, and what `layout` says in one line."""
NOT_SETTINGS = (*NOT_SHOWN, "measured_rtt_ms", "delaynet_ms", "rtt_ms", "rtts_assumed")
"""Its cells, too, which are compared as such, and measurements."""
OF_LOADS = ("chrome", "chromedriver", "selenium")
"""Versions that stand with each load, since Chrome may be updated between two."""
NOT_KNOWN = "-"
NOT_RECORDED = "not recorded"


@dataclass(frozen=True)
class Difference:
    """`what` of `row` (of A) in both folders: `a` and `b` as the table prints them, in ms or percent.

    None: not measured.

    `n_a`, `n_b`: runs that were tested (for an improvement: pairs of runs). `half_width`: of the 95% interval of the
    difference, in the unit of the values. `p` is adjusted for all tests of the comparison; both are None where a side
    has fewer than two runs or no spread at all.
    """

    row: Row
    what: str
    n_a: int
    n_b: int
    a: float | None
    b: float | None
    half_width: float | None
    p: float | None

    @property
    def b_minus_a(self) -> float | None:
        """The difference itself, None where one of the folders has no value."""
        return None if self.a is None or self.b is None else self.b - self.a

    @property
    def is_sure(self) -> bool:
        """Whether the two folders differ here by more than chance explains."""
        return self.p is not None and self.p < SURE


def read_sides(folders: Sequence[Path], metric: str) -> tuple[Selection, Selection]:
    """Read two `folders` of client logs, or folders with a ``client/`` in them, as run.sh leaves its earlier results.

    Both are measured by one metric: when one holds logs of 2013, which know no load event, by "last". InputError when
    there is nothing to read, or no row in both.
    """
    read = [read_results(client_folder(folder)) for folder in folders]
    used = "last" if any(results.old for results in read) else metric
    side_a, side_b = (select(results, used) for results in read)
    if not side_a.by_place.keys() & side_b.by_place.keys():
        raise InputError(f"{folders[1]}:1: no page and RTT that {folders[0]} has, too; compare the same pages")
    return side_a, side_b


def compare(side_a: Selection, side_b: Selection) -> list[Difference]:
    """Return all differences of the rows that both have, in the order of A's table; p adjusted over all of them.

    Adjusted as Benjamini and Hochberg (1995) do: with dozens of tests some have p < 0.05 by chance alone.
    """
    from scipy import stats  # half a second to import

    found = [difference for place, row in side_a.by_place.items() if place in side_b.by_place
             for difference in _differences(row, side_b.by_place[place])]
    tested = [difference.p for difference in found if difference.p is not None]
    adjusted = iter(stats.false_discovery_control(tested) if tested else ())
    return [difference if difference.p is None else replace(difference, p=float(next(adjusted)))
            for difference in found]


def welch(a: Sequence[float], b: Sequence[float]) -> tuple[float, float] | None:
    """Return (p, half width of the 95% interval of the difference) of Welch's t-test; None where there is none.

    Few runs make it careful, not rash: of 20000 simulated experiments without a difference 3.6% had p < 0.05 with n = 3
    on both sides, and 4.7% with n = 10 (normal noise); 2.3% and 3.2% with a long tail (log-normal noise); 2.5% and 3.9%
    with outliers (Student's t, 3 degrees of freedom). tests/analysis/test_compare.py repeats it in small.
    """
    from scipy import stats

    if min(len(a), len(b)) < 2 or (min(a) == max(a) and min(b) == max(b)):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)     # one side (nearly) without spread: the other has some
        result = stats.ttest_ind(b, a, equal_var=False)
        limits = result.confidence_interval(CONFIDENCE)
    return float(result.pvalue), float(limits.high - limits.low) / 2


def client_folder(folder: Path) -> Path:
    """Return `folder`, or the client/ in it. Raises InputError when there is no such folder."""
    if not folder.is_dir():
        raise InputError(f"{folder}:1: no such folder to compare; give client/ or results-DATE/")
    return folder / CLIENT if (folder / CLIENT).is_dir() else folder


def _differences(row_a: Row, row_b: Row) -> Iterator[Difference]:
    values_b = _compared(row_b)
    for what, (runs_a, a) in _compared(row_a).items():
        runs_b, b = values_b[what]
        p, half_width = welch(runs_a, runs_b) or (None, None)
        yield Difference(row_a, what, len(runs_a), len(runs_b), a, b, half_width, p)


def _compared(row: Row) -> dict[str, tuple[Sequence[float], float | None]]:
    """Return what is compared of a row: its values of runs, or pairs of runs, and the one that the table prints."""
    percents = [] if row.percent is None else [*map(improvement_percent, *row.pairs)]
    return {NO_TFO: (row.off.plts_ms, row.off.median_ms), TFO: (row.on.plts_ms, row.on.median_ms),
            IMPROVEMENT: (percents, row.percent)}


def differing_settings(a: Results, b: Results) -> Iterator[str]:
    """Give a line ``setting: value in A | value in B`` for each setting that differs, in the order of the files."""
    if a.old or b.old:      # 2013's tool recorded no settings
        if a.old != b.old:
            yield " | ".join(("program: the tool of 2013, which recorded no settings" if each.old else "TFO Lab")
                             for each in (a, b))
        return
    of_a, of_b = settings(a), settings(b)
    for name in dict.fromkeys([*of_a, *of_b]):
        value_a, value_b = (" and ".join(sorted(of.get(name, [NOT_RECORDED]))) for of in (of_a, of_b))
        if value_a != value_b:
            yield f"{name}: {value_a} | {value_b}"


def settings(results: Results, left_out: Collection[str] = NOT_SETTINGS) -> dict[str, dict[str, list[float]]]:
    """Return what the experiments' files say, but what is `left_out`, and the versions of Chrome and its driver.

    By name, and then by value the RTTs in ms that were measured so. A file that cannot be read has no settings;
    harness.files.results reports it.
    """
    said = [(name, value, experiment.rtt_ms) for experiment in results.experiments
            for name, value in _in_words(experiment.settings, left_out)]
    said += [(name, versions[name], load.rtt_ms) for load in results.loads for versions in [
        (load.record and load.record.environment and load.record.environment.versions) or {}]
        for name in OF_LOADS if name in versions]
    found: dict[str, dict[str, list[float]]] = {}
    for name, value, rtt_ms in dict.fromkeys(said):
        found.setdefault(name, {}).setdefault(value, []).append(rtt_ms)
    return found


def _in_words(record: Mapping[str, Any], left_out: Collection[str]) -> Iterator[tuple[str, str]]:
    """Give a file's settings by name but those `left_out`, and the kernel's by theirs, which are an object in it.

    Of a table of the servers it is told how many there are, and their numbers from the least to the largest.
    """
    for name, value in record.items():
        if name in left_out:
            continue
        if isinstance(value, dict) and value:
            numbers = [number for number in value.values() if isinstance(number, int | float)]
            yield from [(name, f"{min(numbers):.2f} to {max(numbers):.2f}, median {median(numbers):.2f} "
                               f"({len(numbers)} servers)")] if numbers else _in_words(value, left_out)
        else:
            yield name, _word(value)


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(_word, value)) or NOT_KNOWN
    return NOT_KNOWN if value in (None, "", {}) else f"{value:g}" if isinstance(value, float) else str(value)
