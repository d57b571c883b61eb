"""The second table: how many loads, how far apart, and how sure each improvement is."""

from collections.abc import Iterator, Sequence

from harness.intervals import ENOUGH_PAIRS, RESAMPLES, Interval
from harness.notes import row_intervals
from harness.results import Results
from harness.selection import Cell, Selection
from harness.stats import improvement_percent, median, median_confidence

COLUMNS = ("Page", "RTT(ms)", "n off", "n on", "off (s)", "on (s)", "MAD off", "MAD on", "Improv.", "95% low", "high",
           "pairs", "excludes 0")
"""Under 8 characters each, as are the values, so that tabs align them."""
UNKNOWN = "-"


def detail_lines(results: Results, selection: Selection) -> Iterator[str]:
    """Give the table of details, tab-separated, a page's rows under its name, and what its columns mean."""
    intervals = row_intervals(results, selection)
    yield "\t".join(COLUMNS)
    for page in results.urls:
        yield page
        for rtt_ms in results.rtts_ms:
            off, on = (selection.plts_ms(Cell(page, rtt_ms, tfo)) for tfo in (0, 1))
            yield "\t".join(("", f"{rtt_ms:g}", *_cells(off, on), *_interval(intervals.get((page, rtt_ms)))))
    yield ""
    yield "off, on: median PLT without and with TFO; n loads each. MAD: median absolute deviation from it, in ms."
    yield f"95% low, high: limits of the improvement, bootstrapped over pairs of loads of the same run ({RESAMPLES} " \
          "resamples, percentiles, seed 1). Where pairs is less than n, those limits know less than the medians do."
    yield "excludes 0: whether 0, no improvement, lies outside those limits. Behind it: how sure, if not 95%, are " \
          f"limits of fewer than {ENOUGH_PAIRS} pairs."


def median_deviation_ms(values_ms: Sequence[float]) -> float | None:
    """Return the median absolute deviation from the median, in ms and unscaled; None for fewer than two values."""
    if len(values_ms) < 2:
        return None
    from scipy import stats  # half a second to import

    return float(stats.median_abs_deviation(values_ms))


def _cells(off_ms: Sequence[float], on_ms: Sequence[float]) -> Iterator[str]:
    for values in (off_ms, on_ms):
        yield str(len(values))
    for values in (off_ms, on_ms):
        yield f"{median(values) / 1000:.3f}" if values else UNKNOWN
    for values in (off_ms, on_ms):
        deviation = median_deviation_ms(values)
        yield UNKNOWN if deviation is None else f"{deviation:.1f}"
    yield f"{improvement_percent(median(off_ms), median(on_ms)):.2f}%" if off_ms and on_ms else UNKNOWN


def _interval(interval: Interval | None) -> tuple[str, ...]:
    if interval is None:
        return (UNKNOWN,) * 4
    sure = "" if interval.enough else f" ({median_confidence(interval.pairs):.0%})"
    return (f"{interval.low_percent:.2f}%", f"{interval.high_percent:.2f}%", str(interval.pairs),
            f"{'yes' if interval.excludes_zero else 'no'}{sure}")
