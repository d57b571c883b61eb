"""The cells of the table in a file of the user's: CSV, JSON or Markdown, by its ending (docs/results.md).

Where transports were compared each has a row of its own.
"""

from pathlib import Path
from typing import Any

from harness.analysis.selection import Selection
from harness.analysis.transports import is_compared, transport_rows
from harness.errors import InputError
from harness.files.table_files import write_table
from harness.show.columns import value_of

ENDINGS = (".csv", ".json", ".md")
DIGITS = 3
"""Decimals of times in ms and of percents."""
KEYS = {name: name for name in (
    "page", "url", "rtt_ms", "rtt", "metric", "n_off", "n_on", "left_out_off", "left_out_on", "median_off_ms",
    "median_on_ms", "improvement_percent", "low_percent", "high_percent", "pairs", "significant", "predicted_on_ms",
    "notes")}
"""What stands under each key: one of harness.show.columns.VALUES."""
OF_TRANSPORTS = {
    "page": "page", "url": "url", "rtt_ms": "rtt_ms", "rtt": "rtt", "metric": "metric", "transport": "transport",
    "round_trips": "round_trips", "n": "n_on", "left_out": "left_out_on", "median_ms": "median_on_ms",
    "saved_ms": "saved_ms", "saved_percent": "improvement_percent", "low_percent": "low_percent",
    "high_percent": "high_percent", "pairs": "pairs", "predicted_ms": "replayed_ms",
    "early_possible": "early_possible", "early": "early_sent", "early_in_syn": "early_in_syn",
    "early_too_late": "early_too_late"}


def check_export_name(path: Path) -> None:
    """Raise InputError when the ending of `path` is none of ENDINGS."""
    if path.suffix not in ENDINGS:
        raise InputError(f"--export: {path}: let it end in {', '.join(ENDINGS)}")


def export(selection: Selection, path: Path) -> None:
    """Write a row for each page and RTT, or for each transport of these, to `path`. Raises InputError otherwise."""
    try:
        write_table(path, export_rows(selection))
    except OSError as error:
        raise InputError(f"{path}:1: cannot be written ({error.strerror}); choose another --export") from None


def export_rows(selection: Selection) -> list[dict[str, Any]]:
    """Return a row for each page and RTT, in the table's order, or for each transport; None for what is not known."""
    rows, keys = (transport_rows(selection), OF_TRANSPORTS) if is_compared(selection.results) else (
        selection.rows, KEYS)
    return [{key: _rounded(value_of(row, name)) for key, name in keys.items()} for row in rows]


def _rounded(value: Any) -> Any:
    return round(value, DIGITS) + 0.0 if isinstance(value, float) else value        # + 0.0: no -0.0
