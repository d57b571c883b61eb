"""The cells of the table in a file of the user's: CSV, JSON or Markdown, by its ending (docs/results.md)."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.analysis.row import rows_of
from harness.analysis.selection import Selection
from harness.errors import InputError
from harness.files.results import Results
from harness.show.notes import notes_on
from harness.system.atomic import write_atomically

FORMAT = 1
"""Version of the format, in the JSON. Keys may be added within a version."""
DIGITS = 3
"""Decimals of times in ms and of percents."""

Row = Mapping[str, Any]


def check_export_name(path: Path) -> None:
    """Raise InputError when the ending of `path` is none of WRITERS."""
    if path.suffix not in WRITERS:
        raise InputError(f"--export: {path}: let it end in {', '.join(WRITERS)}")


def export(results: Results, selection: Selection, path: Path) -> None:
    """Write the cells to `path` in one step. Raises InputError when that cannot be."""
    text = WRITERS[path.suffix](list(export_rows(results, selection)))
    try:
        write_atomically(path, text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise InputError(f"{path}:1: cannot be written ({error.strerror}); choose another --export") from None


def export_rows(results: Results, selection: Selection) -> Iterator[Row]:
    """Give a row for each page and RTT, in the table's order; None for what is not known."""
    for row in rows_of(results, selection):
        found, is_load = row.improvement, selection.metric == "load"
        yield {
            "page": row.page, "url": row.url, "rtt_ms": row.rtt_ms, "rtt": found.rtt_name, "metric": selection.metric,
            "n_off": len(row.loads(0)), "n_on": len(row.loads(1)),
            "left_out_off": row.left_out(0), "left_out_on": row.left_out(1),
            "median_off_ms": _rounded(found.off_ms), "median_on_ms": _rounded(found.on_ms),
            "improvement_percent": _rounded(found.percent),
            "low_percent": _rounded(getattr(found.interval, "low_percent", None)),
            "high_percent": _rounded(getattr(found.interval, "high_percent", None)),
            "pairs": found.pairs, "significant": found.significant if found.interval else None,
            "predicted_on_ms": _rounded(getattr(row.prediction, "predicted_ms", None) if is_load else None),
            "notes": [note.kind.name.lower() for note in notes_on(results, selection, found)],
        }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS) + 0.0        # + 0.0: no -0.0


def _csv(rows: Sequence[Row]) -> str:
    """RFC 4180, as loads.csv: unknown values empty, kinds of notes joined by "; "."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(rows[0] if rows else ())
    writer.writerows([_cell(value) for value in row.values()] for row in rows)
    return text.getvalue()


def _json(rows: Sequence[Row]) -> str:
    return json.dumps({"format": FORMAT, "cells": rows}, indent=1, allow_nan=False) + "\n"


def _markdown(rows: Sequence[Row]) -> str:
    """GitHub's tables: a bar or a line break in a value would begin another cell."""
    if not rows:
        return ""
    lines = [list(rows[0]), ["---"] * len(rows[0]), *([_cell(value) for value in row.values()] for row in rows)]
    return "".join(f"| {' | '.join(_one_cell(value) for value in line)} |\n" for line in lines)


def _one_cell(value: str) -> str:
    return " ".join(value.replace("&", "&amp;").replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").split())


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return "; ".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


WRITERS: dict[str, Callable[[Sequence[Row]], str]] = {".csv": _csv, ".json": _json, ".md": _markdown}
