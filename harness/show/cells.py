"""What stands in a table's cell: each thing that is said of a page at one RTT once, for console and report."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby

from harness.analysis.answers import doubtful_in_row
from harness.analysis.row import Row
from harness.analysis.stats import median_confidence
from harness.errors import printable
from harness.show.answers import MARK
from harness.show.labels import NOT_KNOWN, percent, seconds, span

Columns = Mapping[str, str]
"""A table's columns: by their titles, keys of CELLS."""


def cells(row: Row, columns: Columns) -> list[str]:
    """Return what stands in a row of a table."""
    return [CELLS[cell](row) for cell in columns.values()]


def tabbed(rows: Sequence[Row], columns: Columns) -> Iterator[str]:
    """Give a table's lines, tab-separated: its titles, then each page's rows under its name."""
    yield "\t".join(["Page", *columns])
    for page, of_page in groupby(rows, key=lambda row: row.page):
        yield printable(page)
        yield from ("\t" + "\t".join(cells(row, columns)) for row in of_page)


def median_deviation_ms(values_ms: Sequence[float]) -> float | None:
    """Return the median absolute deviation from the median, in ms and unscaled; None for fewer than two values."""
    if len(values_ms) < 2:
        return None
    from scipy import stats  # half a second to import

    return float(stats.median_abs_deviation(values_ms))


def _known(value: float | None, form: str = "{:g}") -> str:
    return NOT_KNOWN if value is None else form.format(value)


def _mark(row: Row) -> str:
    return MARK if doubtful_in_row(row.selection, row.page, row.rtt_ms) else ""


def _deviation(tfo: int) -> Callable[[Row], str]:
    return lambda row: _known(median_deviation_ms(row.plts_ms(tfo)), "{:.1f}")


def _limit(name: str) -> Callable[[Row], str]:
    return lambda row: percent(getattr(row.improvement.interval, name, None))


def _interval(row: Row) -> str:
    return f"{_limit('low_percent')(row)} to {_limit('high_percent')(row)}" if row.improvement.interval else NOT_KNOWN


def _excludes_0(row: Row) -> str:
    interval = row.improvement.interval
    if interval is None:
        return NOT_KNOWN
    sure = "" if interval.enough else f" ({median_confidence(interval.pairs):.0%})"
    return f"{'yes' if row.improvement.significant else 'no'}{sure}"


def _of_prediction(name: str) -> Callable[[Row], str]:
    return lambda row: seconds(getattr(row.prediction, name, None))


def _difference(row: Row) -> str:
    found = row.prediction
    difference = found.difference_percent(found.predicted_ms) if found else None
    return NOT_KNOWN if difference is None else f"{round(difference, 1) + 0.0:+.1f}%"       # + 0.0: no "-0.0%"


CELLS: dict[str, Callable[[Row], str]] = {
    "rtt": lambda row: row.improvement.rtt_name,
    "page": lambda row: printable(row.url),
    "name": lambda row: printable(row.name),
    "off": lambda row: seconds(row.improvement.off_ms),
    "on": lambda row: seconds(row.improvement.on_ms),
    "saved": lambda row: seconds(row.improvement.saved_ms),
    "percent": lambda row: percent(row.improvement.percent),
    "percent, marked": lambda row: percent(row.improvement.percent) + _mark(row),
    "n off": lambda row: str(len(row.plts_ms(0))),
    "n on": lambda row: str(len(row.plts_ms(1))),
    "loads": lambda row: f"{len(row.loads(0))}, {len(row.loads(1))}",
    "MAD off": _deviation(0),
    "MAD on": _deviation(1),
    "low": _limit("low_percent"),
    "high": _limit("high_percent"),
    "interval": _interval,
    "pairs": lambda row: str(row.improvement.pairs) if row.improvement.interval else NOT_KNOWN,
    "excludes 0": _excludes_0,
    "servers": lambda row: _known(row.servers),
    "connections": lambda row: _known(row.connections),
    "handshakes": lambda row: _known(row.handshakes),
    "handshakes of all": lambda row: span(*row.prediction.handshakes) if row.prediction else NOT_KNOWN,
    "explained off": _of_prediction("off_ms"),
    "predicted": _of_prediction("predicted_ms"),
    "explained on": _of_prediction("measured_ms"),
    "difference": _difference,
}
