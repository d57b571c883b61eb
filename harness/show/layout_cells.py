"""The cells of tables that show the same pages, measured in several ways, side by side: each table chooses columns."""

from collections.abc import Iterable

from harness.analysis.layouts import LayoutRow
from harness.errors import printable
from harness.show.labels import NOT_KNOWN, percent, seconds, span


def row_line(row: LayoutRow, columns: Iterable[str]) -> str:
    """Return a row of a table, tab-separated; `columns` are keys of `_cells`."""
    cells = _cells(row)
    return "\t".join(cells[column] for column in columns)


def _cells(row: LayoutRow) -> dict[str, str]:
    """Return all that a table can say of a page at one RTT in one layout; times in seconds."""
    found = row.improvement
    low, high = (percent(found.interval.low_percent), percent(found.interval.high_percent)) if found.interval \
        else (NOT_KNOWN, NOT_KNOWN)
    return {
        "page": printable(row.url), "rtt": found.rtt_name, "name": printable(row.name),
        "loads": f"{row.loads[0]}, {row.loads[1]}", "servers": _count(row.servers),
        "connections": _count(row.connections), "handshakes": _count(row.handshakes),
        "handshakes of all": span(*row.handshakes_of_all) if row.handshakes_of_all else NOT_KNOWN,
        "no TFO": seconds(found.off_ms), "TFO": seconds(found.on_ms), "saved": seconds(found.saved_ms),
        "improvement": percent(found.percent), "low": low, "high": high,
        "interval": f"{low} to {high}" if found.interval else NOT_KNOWN,
    }


def _count(value: float | None) -> str:
    return NOT_KNOWN if value is None else f"{value:g}"
