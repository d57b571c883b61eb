"""Text logs as they were found, or could be, each beside what is read in it: tests/corpus/logs/.

A case is a log ``NAME.log`` and ``NAME.json``: what is so of it (`about`), its rows by section, `whole` and `seen` of
its transactions, the sections that are `torn`, what was asked for `after_load`, and the lines that have a problem.

``TFO_LAB_WRITE_CORPUS=1 .venv/bin/python -m pytest tests/corpus/test_logs.py`` writes what today's code reads.
"""

import json
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest

from harness.files.text_log import read_log
from tests.support.noted import assert_beside

LOGS = Path(__file__).parent / "logs"


def summary(path: Path) -> dict[str, Any]:
    """Return what is read in a log."""
    log = read_log(path)
    return {"seen": log.transactions_seen, "whole": log.transactions_whole, "torn": sorted(log.torn),
            "transactions": [*map(astuple, log.transactions)],
            "responses": [*map(astuple, log.responses)], "after_load": sorted(log.urls_after_load()),
            "problems": [int(problem.removeprefix(f"{path}:").partition(":")[0]) for problem in log.problems]}


@pytest.mark.parametrize("path", sorted(LOGS.glob("*.log")), ids=lambda path: path.stem)
def test_a_log_is_read_as_its_summary_says(path: Path) -> None:
    noted = path.with_suffix(".json")
    assert_beside({"about": json.loads(noted.read_text())["about"]} | summary(path), noted)
