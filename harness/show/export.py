"""The cells of the table in a file of the user's: CSV, JSON or Markdown, by its ending (docs/results.md).

Where transports were compared each has a row of its own.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.analysis.row import Row
from harness.analysis.selection import Selection
from harness.analysis.transports import early_counts, is_compared, predicted_ms, transport_rows
from harness.errors import InputError
from harness.files.table_files import write_table
from harness.files.transport import Transport
from harness.show.columns import VALUES

ENDINGS = (".csv", ".json", ".md")
DIGITS = 3
"""Decimals of times in ms and of percents."""
KEYS = ("page", "url", "rtt_ms", "rtt", "metric", "n_off", "n_on", "left_out_off", "left_out_on", "median_off_ms",
        "median_on_ms", "improvement_percent", "low_percent", "high_percent", "pairs", "significant", "predicted_on_ms",
        "notes")
"""Of harness.show.columns.VALUES."""
OF_TRANSPORTS: dict[str, Callable[[Row], Any]] = {
    **{key: VALUES[key] for key in ("page", "url", "rtt_ms", "rtt", "metric")},
    "transport": lambda row: Transport(row.on.transport).words,
    "round_trips": lambda row: Transport(row.on.transport).round_trips,
    "n": VALUES["n_on"], "left_out": VALUES["left_out_on"], "median_ms": VALUES["median_on_ms"],
    "saved_ms": VALUES["saved_ms"], "saved_percent": VALUES["improvement_percent"],
    **{key: VALUES[key] for key in ("low_percent", "high_percent", "pairs")}, "predicted_ms": predicted_ms,
    "early_possible": lambda row: early_counts(row).possible, "early": lambda row: early_counts(row).sent,
    "early_in_syn": lambda row: early_counts(row).in_syn, "early_too_late": lambda row: early_counts(row).too_late}


def check_export_name(path: Path) -> None:
    """Raise InputError when the ending of `path` is none of ENDINGS."""
    if path.suffix not in ENDINGS:
        raise InputError(f"--export: {path}: let it end in {', '.join(ENDINGS)}")


def export(selection: Selection, path: Path) -> None:
    """Write a row for each page and RTT, or for each transport of these, to `path`. Raises InputError otherwise."""
    rows = compared_rows if is_compared(selection.results) else export_rows
    try:
        write_table(path, rows(selection))
    except OSError as error:
        raise InputError(f"{path}:1: cannot be written ({error.strerror}); choose another --export") from None


def export_rows(selection: Selection) -> list[dict[str, Any]]:
    """Return a row for each page and RTT, in the table's order; None for what is not known."""
    return [{key: _rounded(VALUES[key](row)) for key in KEYS} for row in selection.rows]


def compared_rows(selection: Selection) -> list[dict[str, Any]]:
    """Return a row for each page, RTT and transport, in the table's order; None for what is not known."""
    return [{key: _rounded(value(row)) for key, value in OF_TRANSPORTS.items()} for row in transport_rows(selection)]


def _rounded(value: Any) -> Any:
    return round(value, DIGITS) + 0.0 if isinstance(value, float) else value        # + 0.0: no -0.0
