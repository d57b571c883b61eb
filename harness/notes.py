"""What must be said of single rows of the table: loads that do not count, a wide spread, no improvement."""

from collections import Counter
from collections.abc import Iterator

from harness.intervals import ENOUGH_PAIRS, Interval, improvement_interval, pairs
from harness.results import Results
from harness.selection import Cell, Selection
from harness.stats import coefficient_of_variation, median_confidence

WIDE_SPREAD = 0.05
"""Coefficient of variation from which a cell is named: faithful runs stay under 0.03 (the design's prototype)."""
WORDS = {0: "without TFO", 1: "with TFO"}


def note_lines(results: Results, selection: Selection) -> Iterator[str]:
    """Give a line for each row of the table that needs a word, and one on what the intervals are worth."""
    intervals = row_intervals(results, selection)
    notes = [(row, list(_notes(selection, *row, intervals.get(row)))) for row in _rows(results)]
    if any(found for _, found in notes):
        yield "Rows to be careful with:"
        yield from (f"  {page} at {rtt_ms:g} ms: {'; '.join(found)}" for (page, rtt_ms), found in notes if found)
    yield from _too_few(intervals)


def row_intervals(results: Results, selection: Selection) -> dict[tuple[str, float], Interval]:
    """Return the 95% interval of each (page, RTT in ms) of which two runs or more count without and with TFO."""
    found = {(page, rtt_ms): improvement_interval(*pairs(selection, page, rtt_ms)) for page, rtt_ms in _rows(results)}
    return {row: interval for row, interval in found.items() if interval}


def is_wide(spread: float | None) -> bool:
    """Whether a coefficient of variation is so large that the cell is named."""
    return spread is not None and spread > WIDE_SPREAD


def _rows(results: Results) -> Iterator[tuple[str, float]]:
    return ((page, rtt_ms) for page in results.urls for rtt_ms in results.rtts_ms)


def _notes(selection: Selection, page: str, rtt_ms: float, interval: Interval | None) -> Iterator[str]:
    left_out = Counter(Cell(load.page, load.rtt_ms, load.tfo) for load, _ in selection.left_out)
    for tfo, words in WORDS.items():
        cell = Cell(page, rtt_ms, tfo)
        counted = len(selection.cells[cell])
        if counted and left_out[cell]:
            yield f"{counted} of {counted + left_out[cell]} loads {words} valid"
    for tfo, words in WORDS.items():
        spread = coefficient_of_variation(selection.plts_ms(Cell(page, rtt_ms, tfo)))
        if is_wide(spread):
            yield f"spread {spread:.2%} {words}"
    if interval and not interval.excludes_zero:
        yield f"not significant: the improvement's 95% interval, {interval.low_percent:.2f}% to " \
              f"{interval.high_percent:.2f}%, contains 0"


def _too_few(intervals: dict[tuple[str, float], Interval]) -> Iterator[str]:
    few = sorted({interval.pairs for interval in intervals.values() if not interval.enough})
    if few:
        numbers, sure = " and ".join(map(str, few)), " and ".join(f"{median_confidence(n):.0%}" for n in few)
        yield f"Too few runs to be 95% sure of an improvement: its interval (--detail) from {numbers} pairs of loads " \
              f"holds the true one in {sure} of experiments. From {ENOUGH_PAIRS} pairs on it is what it says: " \
              f"--testruns {ENOUGH_PAIRS + 1}."
