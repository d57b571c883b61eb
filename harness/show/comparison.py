"""The comparison of two result folders as text: what differs in the set-ups, and in each row of the table."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from harness.analysis.cell import METRICS
from harness.analysis.compare import IMPROVEMENT, SURE, Difference, compare
from harness.analysis.row import Row
from harness.analysis.selection import Selection
from harness.analysis.setups import differing_settings
from harness.errors import printable
from harness.show.labels import NOT_KNOWN, span
from harness.show.notes import doubt_lines
from harness.show.section import Table, columns, table_lines

COLUMNS = ("RTT(ms)", "what", "n A", "n B", "A", "B", "B - A", "+-", "p", "differs")


def format_comparison(side_a: Selection, side_b: Selection) -> tuple[str, bool]:
    """Return the text of the comparison, and whether every row of either folder could be compared with the other's.

    The text: the two folders, their set-ups, the table, what its columns mean, what is on one side only.
    """
    differences = [difference for difference in compare(side_a, side_b)
                   if difference.a is not None or difference.b is not None]
    only = [*_listed("Only in A", _only_in(side_a, side_b)), *_listed("Only in B", _only_in(side_b, side_a)),
            *_listed("Measured in one only", [
                f"{difference.row.page} at {_rtt_name(difference.row, side_b)} ms, {difference.what}"
                for difference in differences if (difference.a is None) != (difference.b is None)])]
    table = Table("", columns(*COLUMNS), [
        (page, [_cells(difference, side_b) for difference in of_page])
        for page, of_page in groupby(differences, key=lambda difference: difference.row.page)])
    lines = [
        f"A: {side_a.results.clientdir}", f"B: {side_b.results.clientdir}",
        *(_listed("The set-ups differ in", differing_settings(side_a.results, side_b.results))
          or ["The set-ups do not differ in anything that was recorded."]), "",
        *table_lines(table), "",
        f"no TFO, TFO: median PLT in s, {METRICS[side_a.metric]}. Improv.: in percent, B - A in points.",
        *_legend(differences),
        *_listed("Rows of A to be careful with", doubt_lines(side_a.rows)),
        *_listed("Rows of B to be careful with", doubt_lines(side_b.rows)), *only]
    return "".join("\t".join(map(printable, line.split("\t"))) + "\n" for line in lines), not only


def _only_in(there: Selection, not_there: Selection) -> list[str]:
    return [row.title for place, row in there.by_place.items() if place not in not_there.by_place]


def _rtt_name(row: Row, other: Selection) -> str:
    """Return what an RTT is called, in ms; both names if the folders have different ones."""
    return " | ".join(dict.fromkeys([row.rtt_name, other.by_place[row.page, row.rtt_ms].rtt_name]))


def _cells(difference: Difference, side_b: Selection) -> list[str]:
    scale, digits, unit = (1, 2, "%") if difference.what == IMPROVEMENT else (1000, 3, "")

    def text(value: float | None, form: str) -> str:
        return NOT_KNOWN if value is None else f"{value / scale:{form}.{digits}f}"

    values = [text(value, "") + (unit if value is not None else "") for value in (difference.a, difference.b)]
    verdict = [NOT_KNOWN, NOT_KNOWN] if difference.p is None else [
        "<0.001" if difference.p < 0.001 else f"{difference.p:.3f}", "yes" if difference.is_sure else "no"]
    return [_rtt_name(difference.row, side_b), difference.what, str(difference.n_a), str(difference.n_b), *values,
            text(difference.b_minus_a, "+"), text(difference.half_width, ""), *verdict]


def _legend(differences: Sequence[Difference]) -> Iterator[str]:
    runs = [n for difference in differences if difference.p is not None for n in (difference.n_a, difference.n_b)]
    if not runs:
        yield "Nothing was tested: a test needs two runs or more on both sides. Measure more runs."
        return
    yield "+-: half of the 95% interval of the difference of the means. p: Welch's t-test on the runs (Improv.: on " \
          f"pairs of runs), adjusted for {len(runs) // 2} tests (Benjamini-Hochberg)."
    yield f"differs: p < {SURE:g}. It assumes that the runs of a cell, n = {span(min(runs), max(runs))}, vary as a " \
          'normal distribution does. And "no" is not "equal": n runs cannot show what is smaller than +-.'


def _listed(title: str, lines: Iterable[str]) -> list[str]:
    """Return lines under a title; nothing without lines."""
    found = [f"  {line}" for line in lines]
    return [f"{title}:", *found] if found else []
