"""Notes on single rows of the table: loads that do not count, a wide spread, more saved than handshakes took."""

from collections import Counter
from collections.abc import Iterable, Iterator

from harness.analysis.improvement import Improvement, improvements
from harness.analysis.intervals import ENOUGH_PAIRS
from harness.analysis.plausible import awaited_answers, unexplained_saving
from harness.analysis.selection import Cell, Selection
from harness.analysis.stats import coefficient_of_variation, median_confidence
from harness.files.results import Results
from harness.show.labels import seconds

WIDE_SPREAD = 0.05
"""Coefficient of variation from which a cell is named: faithful runs stay under 0.03 (the design's prototype)."""
WORDS = {0: "without TFO", 1: "with TFO"}


def note_lines(results: Results, selection: Selection) -> Iterator[str]:
    """Give a line for each row of the table that needs a note, and a line on how reliable the intervals are."""
    rows = improvements(results, selection)
    notes = [(row, list(_notes(selection, row))) for row in rows]
    if any(words for _, words in notes):
        yield "Rows to be careful with:"
        yield from (f"  {row.page} at {row.rtt_name} ms: {'; '.join(words)}" for row, words in notes if words)
    yield from _too_few(rows)


def is_wide(spread: float | None) -> bool:
    """Whether a coefficient of variation is so large that the cell gets a note."""
    return spread is not None and spread > WIDE_SPREAD


def _notes(selection: Selection, row: Improvement) -> Iterator[str]:
    """Give what to know before one believes a row, each in words."""
    left_out = Counter(Cell(load.page, load.rtt_ms, load.tfo) for load, _ in selection.left_out)
    for tfo, words in WORDS.items():
        cell = Cell(row.page, row.rtt_ms, tfo)
        counted = len(selection.cells[cell])
        if counted and left_out[cell]:
            yield f"{counted} of {counted + left_out[cell]} loads {words} valid"
    counts = [len(loads) for loads in selection.cells.values()]
    for tfo, words in WORDS.items():
        if len(selection.cells[Cell(row.page, row.rtt_ms, tfo)]) == 1 < max(counts):
            yield f"a single load {words} (n = 1): nothing tells whether something disturbed it"
    for tfo, words in WORDS.items():
        spread = coefficient_of_variation(selection.plts_ms(Cell(row.page, row.rtt_ms, tfo)))
        if is_wide(spread):
            yield f"spread {spread:.2%} {words}"
    if row.interval and not row.interval.excludes_zero:
        yield f"not significant: the improvement's 95% interval, {row.interval.low_percent:.2f}% to " \
              f"{row.interval.high_percent:.2f}%, contains 0"
    awaited = awaited_answers(selection, row)
    if awaited:
        yield f"its load event waited for {awaited[0]:g} answers without TFO and for {awaited[1]:g} with it, a race " \
              "in the page: the improvement need not be TFO's"
    saving = unexplained_saving(selection, row)
    if saving:
        yield f"{seconds(saving[0])} s saved, of which handshakes explain {seconds(saving[1])} s: the rest need " \
              "not be TFO's; load the page more often (--until-ci 3)"


def _too_few(rows: Iterable[Improvement]) -> Iterator[str]:
    few = sorted({row.interval.pairs for row in rows if row.interval and not row.interval.enough})
    if few:
        numbers, sure = " and ".join(map(str, few)), " and ".join(f"{median_confidence(n):.0%}" for n in few)
        yield f"Too few runs to be 95% sure of an improvement: its interval (--detail) from {numbers} pairs of loads " \
              f"holds the true one in {sure} of experiments. From {ENOUGH_PAIRS} pairs on it does in 93% and more: " \
              f"--testruns {ENOUGH_PAIRS + 1}."
