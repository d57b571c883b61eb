"""A property gets the same examples in each run, whatever ran before it, and whatever else was changed."""

import importlib
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

NAME = "one_more_module_of_the_project"


def examples() -> list[str]:
    found: list[str] = []

    @given(st.text(max_size=60))
    def note(text: str) -> None:
        found.append(text)

    note()
    return found


@pytest.mark.skipif("HYPOTHESIS" in os.environ, reason="other examples are wanted")
def test_words_of_another_module_are_no_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = examples()
    (tmp_path / f"{NAME}.py").write_text(f"WORDS = {[f'word {number}' for number in range(1000)]}\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module(NAME)
    try:
        assert examples() == before
    finally:
        del sys.modules[NAME]
