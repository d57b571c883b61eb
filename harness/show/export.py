"""The cells of the table in a file of the user's: CSV, JSON or Markdown, by its ending (docs/results.md)."""

from pathlib import Path
from typing import Any

from harness.analysis.selection import Selection
from harness.errors import InputError
from harness.files.table_files import write_table
from harness.show.columns import VALUES

ENDINGS = (".csv", ".json", ".md")
DIGITS = 3
"""Decimals of times in ms and of percents."""
KEYS = ("page", "url", "rtt_ms", "rtt", "metric", "n_off", "n_on", "left_out_off", "left_out_on", "median_off_ms",
        "median_on_ms", "improvement_percent", "low_percent", "high_percent", "pairs", "significant", "predicted_on_ms",
        "notes")
"""Of harness.show.columns.VALUES."""


def check_export_name(path: Path) -> None:
    """Raise InputError when the ending of `path` is none of ENDINGS."""
    if path.suffix not in ENDINGS:
        raise InputError(f"--export: {path}: let it end in {', '.join(ENDINGS)}")


def export(selection: Selection, path: Path) -> None:
    """Write a row for each page and RTT to `path`. Raises InputError when that cannot be."""
    try:
        write_table(path, export_rows(selection))
    except OSError as error:
        raise InputError(f"{path}:1: cannot be written ({error.strerror}); choose another --export") from None


def export_rows(selection: Selection) -> list[dict[str, Any]]:
    """Return a row for each page and RTT, in the table's order; None for what is not known."""
    return [{key: _rounded(VALUES[key](row)) for key in KEYS} for row in selection.rows]


def _rounded(value: Any) -> Any:
    return round(value, DIGITS) + 0.0 if isinstance(value, float) else value        # + 0.0: no -0.0
