"""Reads and writes the cases of tests/corpus/replay/, each exchange on a line of its own."""

import json
from pathlib import Path
from typing import Any

FILES = sorted(Path(__file__).parent.glob("*.json"))


def read_cases(file: Path) -> list[dict[str, Any]]:
    """Return the cases of a file."""
    cases: list[dict[str, Any]] = json.loads(file.read_text())
    return cases


def write_cases(file: Path, cases: list[dict[str, Any]]) -> None:
    """Write the cases of a file so that a person can read and change them."""
    file.write_text("[\n" + ",\n".join(map(_case, cases)) + "\n]\n")


def _case(case: dict[str, Any]) -> str:
    lines = [f" {json.dumps(name)}: {_lines(value) if isinstance(value, list) else _text(value)}"
             for name, value in case.items()]
    return "{" + ",\n".join(lines)[1:] + "}"


def _lines(values: list[Any]) -> str:
    return "[\n" + ",\n".join(f"  {_text(value)}" for value in values) + "]"


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
