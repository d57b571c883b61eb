"""Corpora: cases, and what is noted beside each, which is what today's code reads.

With TFO_LAB_WRITE_CORPUS=1 that is written instead of compared: read the difference before it is committed.
"""

import json
import os
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).resolve().parent.parent
WRITES = bool(os.environ.get("TFO_LAB_WRITE_CORPUS"))
Reader = Callable[..., Any]
JsonObject = dict[str, Any]
"""A case, what is noted of it, or a part of that."""
in_a_line = partial(json.dumps, ensure_ascii=False)


def cases(name: str | Path) -> list[Any]:
    """Return the cases of a file of JSON lines in tests."""
    return [json.loads(line) for line in (TESTS / name).read_text(encoding="utf-8").splitlines()]


def each_case(name: str) -> pytest.MarkDecorator:
    """Run a test with each `case` of such a file, which is called what stands there by "what"."""
    return _each(cases(name))


def _each(all_cases: list[Any]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", all_cases, ids=lambda case: case.get("what") or json.dumps(case))


def of_lines(name: str) -> Callable[[Reader], Reader]:
    """Make a test of a function that reads a `case` of such a file: the case has what the function returns."""
    all_cases = cases(name)

    def as_test(read: Reader) -> Reader:
        @wraps(read)
        def test(case: JsonObject, **fixtures: Any) -> None:
            assert_noted(read(case, **fixtures), case, TESTS / name, lambda: "\n".join(map(in_a_line, all_cases)))

        marked: Reader = _each(all_cases)(test)
        return marked

    return as_test


def assert_beside(found: JsonObject, noted: Path) -> None:
    """Fail unless the file `noted` has what was found, and beside that only what it is `about`, written by hand."""
    before = json.loads(noted.read_text(encoding="utf-8"))
    others = dict.fromkeys(before.keys() - {"about"})
    assert_noted(others | found, before, noted, lambda: in_rows(before))


def assert_noted(found: JsonObject, case: JsonObject, file: Path, text: Callable[[], str]) -> None:
    """Fail unless a case has what was found, by the same names (None: it has not), or write the `text` of its file."""
    found = json.loads(in_a_line(found))
    if WRITES:
        case.update({name: value for name, value in found.items() if value is not None or name in case})
        file.write_text(f"{text()}\n", encoding="utf-8")
        pytest.skip("written, not compared")
    assert found == {name: case.get(name) for name in found}


def in_rows(found: JsonObject) -> str:
    """Return an object as JSON, of a list of objects each on a line of its own: differences are read by lines."""
    rows = {name: ",\n".join(f"  {in_a_line(row)}" for row in value)
            for name, value in found.items() if isinstance(value, list)
            and all(isinstance(row, dict) for row in value)}
    return "{\n" + ",\n".join(f' "{name}": ' + (f"[\n{rows[name]}]" if rows.get(name) else in_a_line(value))
                              for name, value in found.items()) + "\n}"
