"""Corpora: cases, and what is noted beside each, which is what today's code reads.

With TFO_LAB_WRITE_CORPUS=1 that is written instead of compared: read the difference before it is committed.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).resolve().parent.parent
WRITES = bool(os.environ.get("TFO_LAB_WRITE_CORPUS"))


def cases(name: str | Path) -> list[Any]:
    """Return the cases of a file of JSON lines in tests."""
    return [json.loads(line) for line in (TESTS / name).read_text(encoding="utf-8").splitlines()]


def each_case(name: str) -> pytest.MarkDecorator:
    """Run a test with each `case` of such a file, which is called what stands there by "what"."""
    return pytest.mark.parametrize("case", cases(name), ids=lambda case: case.get("what") or json.dumps(case))


def assert_noted(found: Any, name: str, case: dict[str, Any]) -> None:
    """Fail unless `found` is what a case of such a file has by "is"."""
    found = json.loads(json.dumps(found))
    if WRITES:
        all_cases = cases(name)
        all_cases[all_cases.index(case)]["is"] = found
        (TESTS / name).write_text("".join(f"{_json(each)}\n" for each in all_cases), encoding="utf-8")
        pytest.skip("written, not compared")
    assert found == case["is"]


def assert_beside(found: dict[str, Any], noted: Path) -> None:
    """Fail unless `found` is what stands in the file `noted`."""
    found = json.loads(json.dumps(found))
    if WRITES:
        noted.write_text("{\n" + ",\n".join(f" {_json(name)}: {_rows(value)}" for name, value in found.items())
                         + "\n}\n", encoding="utf-8")
        pytest.skip("written, not compared")
    assert found == json.loads(noted.read_text(encoding="utf-8"))


def _rows(value: Any) -> str:
    """Return a value as JSON, of a list of objects each on a line of its own, so that differences are read by lines."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(f"  {_json(row)}" for row in value) + "]"
    return _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
