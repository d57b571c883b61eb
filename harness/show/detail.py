"""The second table: how many loads there are, how much they vary, and how sure each improvement is."""

from collections.abc import Iterator

from harness.analysis.intervals import ENOUGH_PAIRS, RESAMPLES
from harness.analysis.row import rows_of
from harness.analysis.selection import Selection
from harness.errors import printable
from harness.files.results import Results
from harness.show.cells import tabbed
from harness.show.notes import NoteKind, doubt_lines

COLUMNS = {"RTT(ms)": "rtt", "n off": "n off", "n on": "n on", "off (s)": "off", "on (s)": "on", "MAD off": "MAD off",
           "MAD on": "MAD on", "Improv.": "percent", "95% low": "low", "high": "high", "pairs": "pairs",
           "excludes 0": "excludes 0"}
"""Titles of under 8 characters each, as are the values, so that tabs align them."""


def detail_lines(results: Results, selection: Selection) -> Iterator[str]:
    """Give the table of details, tab-separated, a page's rows under its name, and what its columns mean."""
    yield from tabbed(rows_of(results, selection), COLUMNS)
    yield ""
    yield "off, on: median PLT without and with TFO; n loads each. MAD: median absolute deviation from it, in ms."
    yield f"95% low, high: limits of the improvement, bootstrapped over pairs of loads of the same run ({RESAMPLES} " \
          "resamples, percentiles, seed 1). Where pairs is less than n, those limits know less than the medians do."
    yield "excludes 0: whether 0, no improvement, lies outside those limits, in a row of which no load waited for a " \
          f"processor. Behind it: how sure, if not 95%, are limits of fewer than {ENOUGH_PAIRS} pairs."
    yield from map(printable, doubt_lines(results, selection, (NoteKind.LIVE_LEFT_OUT,)))
