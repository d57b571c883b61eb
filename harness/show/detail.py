"""The second table: how many loads there are, how much they vary, and how sure each improvement is."""

from collections.abc import Iterator, Sequence

from harness.analysis.improvement import Improvement, improvement
from harness.analysis.intervals import ENOUGH_PAIRS, RESAMPLES
from harness.analysis.selection import Cell, Selection
from harness.analysis.stats import median_confidence
from harness.errors import printable
from harness.files.results import Results
from harness.show.labels import NOT_KNOWN, percent, seconds
from harness.show.notes import NoteKind, doubt_lines

COLUMNS = ("Page", "RTT(ms)", "n off", "n on", "off (s)", "on (s)", "MAD off", "MAD on", "Improv.", "95% low", "high",
           "pairs", "excludes 0")
"""Under 8 characters each, as are the values, so that tabs align them."""


def detail_lines(results: Results, selection: Selection) -> Iterator[str]:
    """Give the table of details, tab-separated, a page's rows under its name, and what its columns mean."""
    yield "\t".join(COLUMNS)
    for page in results.urls:
        yield printable(page)
        for rtt_ms in results.rtts_ms:
            off, on = (selection.plts_ms(Cell(page, rtt_ms, tfo)) for tfo in (0, 1))
            row = improvement(selection, page, rtt_ms)
            yield "\t".join((
                "", row.rtt_name, str(len(off)), str(len(on)), seconds(row.off_ms), seconds(row.on_ms),
                *(_deviation(values) for values in (off, on)), percent(row.percent), *_interval(row)))
    yield ""
    yield "off, on: median PLT without and with TFO; n loads each. MAD: median absolute deviation from it, in ms."
    yield f"95% low, high: limits of the improvement, bootstrapped over pairs of loads of the same run ({RESAMPLES} " \
          "resamples, percentiles, seed 1). Where pairs is less than n, those limits know less than the medians do."
    yield "excludes 0: whether 0, no improvement, lies outside those limits, in a row of which no load waited for a " \
          f"processor. Behind it: how sure, if not 95%, are limits of fewer than {ENOUGH_PAIRS} pairs."
    yield from map(printable, doubt_lines(results, selection, (NoteKind.LIVE_LEFT_OUT,)))


def median_deviation_ms(values_ms: Sequence[float]) -> float | None:
    """Return the median absolute deviation from the median, in ms and unscaled; None for fewer than two values."""
    if len(values_ms) < 2:
        return None
    from scipy import stats  # half a second to import

    return float(stats.median_abs_deviation(values_ms))


def _deviation(values_ms: Sequence[float]) -> str:
    deviation = median_deviation_ms(values_ms)
    return NOT_KNOWN if deviation is None else f"{deviation:.1f}"


def _interval(row: Improvement) -> tuple[str, ...]:
    interval = row.interval
    if interval is None:
        return (NOT_KNOWN,) * 4
    sure = "" if interval.enough else f" ({median_confidence(interval.pairs):.0%})"
    return (percent(interval.low_percent), percent(interval.high_percent), str(interval.pairs),
            f"{'yes' if row.significant else 'no'}{sure}")
