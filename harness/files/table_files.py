"""Tables of plain values as files: CSV, JSON, JSON lines or Markdown, by the ending of the file's name.

    write_table(Path("table.csv"), [{"page": "httpa.test", "plt_ms": 812.5, "valid": True, "why_not": []}])

Unknown values (None) are empty in CSV and Markdown, null in JSON. What is no UTF-8, as a file's name may be, is
escaped.
"""

import csv
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from harness.system.atomic import write_atomically

FORMAT = 1
"""Version of the format, in JSON. Keys may be added within a version."""

Row = dict[str, Any]


def write_table(path: Path, rows: Sequence[Row]) -> None:
    """Write `rows`, which have the same keys, to `path` in one step. Raises OSError; KeyError for another ending."""
    write_atomically(path, WRITERS[path.suffix](rows).encode("utf-8", "backslashreplace"))


def _csv(rows: Sequence[Row]) -> str:
    """RFC 4180: lines end in CR LF."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(rows[0] if rows else ())
    writer.writerows([_cell(value) for value in row.values()] for row in rows)
    return text.getvalue()


def _json(rows: Sequence[Row]) -> str:
    return json.dumps({"format": FORMAT, "cells": rows}, indent=1, allow_nan=False) + "\n"


def _jsonl(rows: Sequence[Row]) -> str:
    return "".join(json.dumps({"format": FORMAT, **row}, allow_nan=False) + "\n" for row in rows)


def _markdown(rows: Sequence[Row]) -> str:
    """GitHub's tables: a bar or a line break in a value would begin another cell."""
    if not rows:
        return ""
    lines = [list(rows[0]), ["---"] * len(rows[0]), *([_cell(value) for value in row.values()] for row in rows)]
    return "".join(f"| {' | '.join(_one_cell(value) for value in line)} |\n" for line in lines)


def _one_cell(value: str) -> str:
    return " ".join(value.replace("&", "&amp;").replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").split())


def _cell(value: object) -> str:
    """Return a value as a text: a list joined by "; ", an object as the JSON it is in the other files."""
    if isinstance(value, list):
        return "; ".join(value)
    if isinstance(value, bool | dict):
        return json.dumps(value)
    return "" if value is None else str(value)


WRITERS: dict[str, Callable[[Sequence[Row]], str]] = {".csv": _csv, ".json": _json, ".jsonl": _jsonl, ".md": _markdown}
