"""What tables and files say of a row: each thing once, as a value and as a text.

    value_of(row, "median_off_ms")      1062.0
    text_of(row, "median_off_ms")       "1.062": in s

A name ends in the unit of its value. A new column is a line in VALUES, or a property of Row; tables name theirs by
title (`Columns`).

The cells of the table go to a file of the user's, too: CSV, JSON or Markdown, by its ending (docs/results.md).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from harness.analysis.row import Cell, Row
from harness.analysis.selection import Selection
from harness.analysis.stats import median, median_confidence
from harness.files.table_files import write_table
from harness.files.transport import Transport
from harness.show.figures import writing
from harness.show.labels import NOT_KNOWN, percent, seconds, span
from harness.show.row_notes import notes_on
from harness.show.section import Table

MARK = "*"
"""Behind a row's improvement when the critical path of one of its loads has a stand-in, or what was not recorded."""
Columns = Mapping[str, str]
"""A table's columns: by their titles, keys of VALUES."""
ENDINGS = ("csv", "json", "md")
DIGITS = 3
"""Decimals of times in ms and of percents."""
KEYS = {name: name for name in (
    "page", "url", "rtt_ms", "rtt", "metric", "n_off", "n_on", "left_out_off", "left_out_on", "median_off_ms",
    "median_on_ms", "improvement_percent", "low_percent", "high_percent", "pairs", "significant", "predicted_on_ms",
    "notes")}
"""What stands under each key: one of VALUES."""
OF_TRANSPORTS = {
    "page": "page", "url": "url", "rtt_ms": "rtt_ms", "rtt": "rtt", "metric": "metric", "transport": "transport",
    "round_trips": "round_trips", "n": "n_on", "left_out": "left_out_on", "median_ms": "median_on_ms",
    "saved_ms": "saved_ms", "saved_percent": "improvement_percent", "low_percent": "low_percent",
    "high_percent": "high_percent", "pairs": "pairs", "predicted_ms": "predicted_ms",
    "early_possible": "early_possible", "early": "early_sent", "early_in_syn": "early_in_syn",
    "early_too_late": "early_too_late"}


def _excludes_0(row: Row) -> str | None:
    """Tell whether the interval does; and how sure that is, if not 95%."""
    if row.interval is None:
        return None
    sure = "" if row.interval.enough else f" ({median_confidence(row.interval.pairs):.0%})"
    return f"{'yes' if row.significant else 'no'}{sure}"


def _deviation(cell: Cell) -> str | None:
    """Return the median absolute deviation from the median, in ms and unscaled; None for fewer than two loads."""
    if cell.median_ms is None or len(cell.plts_ms) < 2:
        return None
    middle_ms = cell.median_ms
    return f"{median([abs(plt_ms - middle_ms) for plt_ms in cell.plts_ms]):.1f}"


def _early_data(row: Row) -> str | None:
    """Say how many connections brought their request in early data, of those that could; and how many with the SYN."""
    counts = row.early
    with_syn = f" ({counts.in_syn} with the SYN)" if Transport(row.on.transport).tfo and counts.sent else ""
    return f"{counts.sent} of {counts.possible}{with_syn}" if counts.possible else None


def _difference(row: Row) -> str | None:
    difference = row.prediction.difference_percent(row.prediction.predicted_ms) if row.prediction else None
    return None if difference is None else f"{round(difference, 1) + 0.0:+.1f}%"        # + 0.0: no "-0.0%"


VALUES: dict[str, str | Callable[[Row], object]] = {
    "rtt": "rtt_name", "metric": "off.metric", "median_off_ms": "off.median_ms", "median_on_ms": "on.median_ms",
    "improvement_percent": "percent", "pairs of interval": "interval.pairs",
    "explained_off_ms": "prediction.off_ms", "explained_on_ms": "prediction.measured_ms",
    "predicted_ms": "prediction.predicted_ms", "predicted_percent": "prediction.predicted_percent",
    "theory_percent": "prediction.theory_percent",
    "n_off": lambda row: len(row.off.loads), "n_on": lambda row: len(row.on.loads),
    "loads": lambda row: f"{len(row.off.loads)}, {len(row.on.loads)}",
    "left_out_off": lambda row: len(row.off.left_out), "left_out_on": lambda row: len(row.on.left_out),
    "deviation_off": lambda row: _deviation(row.off), "deviation_on": lambda row: _deviation(row.on),
    "improvement, marked": lambda row: percent(row.percent) + (MARK if any(row.doubtful.values()) else ""),
    "low_percent": lambda row: row.limits_percent[0], "high_percent": lambda row: row.limits_percent[1],
    "pairs": lambda row: len(row.pairs[0]),
    "significant": lambda row: row.significant if row.interval else None, "excludes 0": _excludes_0,
    "predicted_on_ms": lambda row: row.prediction.predicted_ms if row.prediction and row.off.metric == "load" else None,
    "difference": _difference, "handshakes": lambda row: span(*row.prediction.handshakes) if row.prediction else None,
    "95% interval": lambda row: " to ".join(map(percent, row.limits_percent)) if row.interval else None,
    "transport": lambda row: Transport(row.on.transport).words,
    "round_trips": lambda row: Transport(row.on.transport).round_trips, "early data": _early_data,
    **{f"early_{name}": f"early.{name}" for name in ("possible", "sent", "in_syn", "too_late")},
    "notes": lambda row: [note.kind.name.lower() for note in notes_on(row)],
}
"""What computes each, or where it stands: "prediction.off_ms" is row.prediction.off_ms, None without a prediction.

Another name is that of the row's own value: "saved_ms" is row.saved_ms.
"""


def value_of(row: Row, name: str) -> object:
    """Return one of VALUES, or the row's own."""
    found = VALUES.get(name, name)
    if callable(found):
        return found(row)
    value: object = row
    for part in found.split("."):
        value = None if value is None else getattr(value, part)
    return value


def text_of(row: Row, name: str) -> str:
    """Return one of VALUES as a table has it."""
    return as_text(value_of(row, name), name)


def as_text(value: object, name: str) -> str:
    """Return the value called `name` as a table has it: times in s, percentages with two digits."""
    if value is None or isinstance(value, str):
        return value or NOT_KNOWN
    if isinstance(value, int | float):
        return seconds(value) if name.endswith("_ms") else percent(value) if name.endswith("_percent") else f"{value:g}"
    return str(value)


def texts(row: Row, chosen: Columns) -> list[str]:
    """Return what stands in a row of a table."""
    return [text_of(row, name) for name in chosen.values()]


def table_of(caption: str, rows: Iterable[Row], chosen: Columns) -> Table:
    """Return a table of rows, each page's under its URL."""
    return Table(caption, [*chosen], [(url, [texts(row, chosen) for row in of_page])
                                      for url, of_page in groupby(rows, key=lambda row: row.url)])


def export(selection: Selection, path: Path) -> None:
    """Write a row for each page and RTT, or for each transport of these, to `path`. Raises InputError otherwise."""
    with writing(path):
        write_table(path, rounded(export_rows(selection)))


def export_rows(selection: Selection, keys: Columns = KEYS) -> list[dict[str, Any]]:
    """Return a row for each page and RTT, in the table's order, or for each transport; None for what is not known.

    Other `keys` than KEYS are always of a page and RTT.
    """
    rows: Sequence[Row] = selection.rows
    if selection.compares_transports and keys is KEYS:
        rows, keys = selection.transport_rows, OF_TRANSPORTS
    return [{key: value_of(row, name) for key, name in keys.items()} for row in rows]


def rounded(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return rows as they stand in a file: numbers have DIGITS decimals."""
    return [{key: round(value, DIGITS) + 0.0 if isinstance(value, float) else value     # + 0.0: no -0.0
             for key, value in row.items()} for row in rows]
