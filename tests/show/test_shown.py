"""Which load stands for a cell: one rule for the figures and the report."""

import os
from pathlib import Path

import pytest

from harness.analysis.shown import file_problems, shown_load
from harness.files.text_log import PageLog, Transaction, format_log
from harness.show.breakdown import explained_loads
from harness.show.report import render
from harness.show.waterfall import compare_loads
from tests.support.client_folder import selected
from tests.support.made_har import PAGE, chain

NAME = "httppage.test"
LOG = format_log(PageLog(transactions=[Transaction(0, 50, PAGE)], transactions_seen=True))


def five_loads(client: Path, *gone: str) -> Path:
    """PLT grows with the run, the median is run 3. `gone` are files that cannot be read: RUN.har or RUN.log."""
    for run in range(1, 6):
        load = chain(2, connect=100 + run).write(client, run=run)
        load.log.write_text(LOG)
        if f"{run}.har" in gone:
            load.log.with_name(f"{NAME}.har").write_text("{")
        if f"{run}.log" in gone:
            load.log.unlink()
    return client


@pytest.mark.parametrize(("gone", "run", "is_explained"), [
    ("", 3, True), ("3.har", 2, True), ("3.log 2.log", 3, True), ("3.har 4.har 5.har", 1, True),
    ("1.har 3.har 4.har 5.har", 2, True), ("1.har 2.har 3.har 4.har 5.har", 3, False)])
def test_it_is_the_median_of_those_it_was_chosen_from(tmp_path: Path, gone: str, run: int, *,
                                                      is_explained: bool) -> None:
    """And the same in all figures: the one of the requests once showed run 3 and the breakdown another one."""
    [row] = selected(five_loads(tmp_path, *gone.split())).rows
    shown, compared = shown_load(row.off), compare_loads(row)
    assert shown
    assert compared
    assert (shown.load.run, len(shown.cell.loads), bool(shown.explanation)) == (run, 5, is_explained)
    others = [compared.loads[0], *(load for load, _ in explained_loads([row]))]
    assert {each.load.run for each in others if each} == {run}


def test_of_a_cell_without_files_there_is_none(tmp_path: Path) -> None:
    [row] = selected(five_loads(tmp_path, *(f"{run}.{of}" for run in range(1, 6) for of in ("har", "log")))).rows
    assert (shown_load(row.off), compare_loads(row)) == (None, None)


def test_files_that_cannot_be_shown_are_problems(tmp_path: Path) -> None:
    assert list(file_problems(selected(five_loads(tmp_path / "whole")).cells)) == []
    hars = [tmp_path / f"50-{run}-tfo-0" / f"{NAME}.har" for run in range(1, 6)]
    five_loads(tmp_path, "1.har", "5.log")
    hars[1].unlink()
    os.mkfifo(hars[1])
    log = hars[2].with_suffix("")
    log.unlink()
    log.mkdir()
    selection = selected(tmp_path)
    found = list(file_problems(selection.cells))
    assert [problem.partition(":1: ")[0] for problem in found] == [*map(str, (*hars[:2], log))]
    html = render(selection)
    assert all(f">{problem}</th>" in html for problem in found)
