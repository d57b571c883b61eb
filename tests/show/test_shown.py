"""Which load stands for a cell: one rule for the figures and the report."""

from pathlib import Path

import pytest

from harness.analysis.row import Row
from harness.analysis.shown import file_problems, shown_load
from harness.files.text_log import PageLog, Transaction, format_log
from harness.show.breakdown import explained_loads
from harness.show.waterfall import compare_loads
from tests.support.client_folder import selected
from tests.support.made_har import PAGE, chain

LOG = format_log(PageLog(transactions=[Transaction(0, 50, PAGE)], transactions_seen=True))


def five_loads(client: Path, *gone: str) -> Row:
    """Return a row of loads whose PLT grows with the run, so that run 3 is the median.

    `gone` are files that cannot be read: RUN.har or RUN.log.
    """
    for run in range(1, 6):
        load = chain(2, connect=100 + run).write(client, run=run)
        load.log.write_text(LOG)
        if f"{run}.har" in gone:
            load.har.write_text("{")
        if f"{run}.log" in gone:
            load.log.unlink()
    return selected(client).rows[0]


@pytest.mark.parametrize(("gone", "run", "is_explained"), [
    ("", 3, True), ("3.har", 2, True), ("3.log 2.log", 3, True), ("3.har 4.har 5.har", 1, True),
    ("1.har 3.har 4.har 5.har", 2, True), ("1.har 2.har 3.har 4.har 5.har", 3, False)])
def test_it_is_the_median_of_those_it_was_chosen_from(tmp_path: Path, gone: str, run: int, *,
                                                      is_explained: bool) -> None:
    """And the same in all figures: the one of the requests once showed run 3 and the breakdown another one."""
    row = five_loads(tmp_path, *gone.split())
    shown, compared = shown_load(row.off), compare_loads(row)
    assert shown
    assert compared
    assert (shown.load.run, len(shown.cell.loads), bool(shown.explanation)) == (run, 5, is_explained)
    others = [compared.loads[0], *(load for load, _ in explained_loads([row]))]
    assert {each.load.run for each in others if each} == {run}


def test_of_a_cell_without_files_there_is_none(tmp_path: Path) -> None:
    row = five_loads(tmp_path, *(f"{run}.{of}" for run in range(1, 6) for of in ("har", "log")))
    assert (shown_load(row.off), compare_loads(row)) == (None, None)
    assert [problem.rpartition("/")[2].partition(":1: ")[0] for problem in file_problems(row.cells)] == [
        "httppage.test.har"] * 5
