"""Text logs as they were found, or could be, each beside what is read in it: tests/corpus/logs/.

A case is a log ``NAME.log`` and ``NAME.json``: what is so of it (`about`), its rows by section, `whole` and `seen` of
its transactions, the sections that are `torn`, what was asked for `after_load`, and the lines that have a problem.

``TFO_LAB_WRITE_CORPUS=1 .venv/bin/python -m pytest tests/corpus/test_logs.py`` writes what today's code reads.
"""

from dataclasses import astuple
from pathlib import Path

import pytest

from harness.files.text_log import read_log
from tests.support.noted import assert_beside

LOGS = Path(__file__).parent / "logs"


@pytest.mark.parametrize("path", sorted(LOGS.glob("*.log")), ids=lambda path: path.stem)
def test_a_log_is_read_as_its_summary_says(path: Path) -> None:
    log = read_log(path)
    assert_beside({
        "seen": log.transactions_seen, "whole": log.transactions_whole, "torn": sorted(log.torn),
        "transactions": [*map(astuple, log.transactions)],
        "responses": [*map(astuple, log.responses)], "after_load": sorted(log.urls_after_load()),
        "problems": [int(problem.removeprefix(f"{path}:").partition(":")[0]) for problem in log.problems]},
        path.with_suffix(".json"))
