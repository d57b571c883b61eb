"""What small functions give for what they are given: functions.json, by the function's name rows of its arguments (and
those by name), and what it gives. Bytes stand there as characters of Latin-1, among arguments as {"latin-1": "..."}.
"""

import importlib
import json
from pathlib import Path
from typing import Any

import pytest


def _bytes(found: dict[str, Any]) -> Any:
    return found["latin-1"].encode("latin-1") if "latin-1" in found else found


TABLES = json.loads((Path(__file__).parent / "functions.json").read_text("utf-8"), object_hook=_bytes)
ROWS = [(name, *row) for name, rows in TABLES.items() for row in rows]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]} {row[1]}"[:80])
def test_a_function_gives_what_stands_beside_it(row: list[Any]) -> None:
    name, given, *named, expected = row
    module, _, function = name.rpartition(".")
    found = getattr(importlib.import_module(f"harness.{module}"), function)(*given, **(named[0] if named else {}))
    assert json.loads(json.dumps(found, default=lambda body: body.decode("latin-1"))) == expected
