"""Which load stands for a cell: one rule for the figures and the report."""

import os
from pathlib import Path

import pytest

from harness.analysis.selection import Cell, Selection, select
from harness.analysis.shown import file_problems, load_with_requests, shown_load
from harness.files.experiment import write_experiment
from harness.files.pages import sanitise
from harness.files.results import Results, read_results
from harness.files.text_log import PageLog, Transaction, format_log
from harness.show.breakdown_figure import draw_breakdown, explained_loads
from harness.show.report.critical import breakdown_section
from harness.show.requests_figure import compare_loads
from tests.support.made_har import PAGE, chain
from tests.support.texts import format_report

CELL = Cell(sanitise(PAGE), 100, 0)
LOG = format_log(PageLog(transactions=[Transaction(0, 50, PAGE)], transactions_seen=True))


def five_loads(client: Path) -> None:
    """PLT grows with the run, the median is run 3."""
    for run in range(1, 6):
        load = chain(2, connect=100 + run).write(client, run=run)
        load.log.write_text(LOG)


def read(client: Path) -> tuple[Results, Selection]:
    results = read_results(client)
    return results, select(results, "load")


def shown_runs(client: Path) -> set[int]:
    """Return the runs that the figures and the report show."""
    results, selection = read(client)
    compared = compare_loads(selection, CELL.page, CELL.rtt_ms)
    assert compared is not None
    bar, = explained_loads(results, selection, CELL.page)
    shown = [shown_load(selection, CELL), load_with_requests(selection, CELL), compared.loads[0], bar.shown]
    return {each.load.run for each in shown if each}


def test_it_is_the_median(tmp_path: Path) -> None:
    five_loads(tmp_path)
    assert shown_runs(tmp_path) == {3}


def test_a_load_that_cannot_be_explained_is_passed_over_by_all(tmp_path: Path) -> None:
    """Before, the figure of the requests showed run 3 and the breakdown another one."""
    five_loads(tmp_path)
    (tmp_path / "50-3-tfo-0" / f"{CELL.page}.har").write_text("{")
    assert shown_runs(tmp_path) == {2}


def test_a_load_that_cannot_be_drawn_is_passed_over_by_all(tmp_path: Path) -> None:
    five_loads(tmp_path)
    (tmp_path / "50-3-tfo-0" / CELL.page).unlink()
    (tmp_path / "50-2-tfo-0" / CELL.page).unlink()
    assert shown_runs(tmp_path) == {4}


def test_without_any_har_it_is_the_median_of_what_can_be_drawn(tmp_path: Path) -> None:
    five_loads(tmp_path)
    for path in tmp_path.glob("*/*.har"):
        path.unlink()
    shown = shown_load(read(tmp_path)[1], CELL)
    assert shown is not None
    assert (shown.load.run, shown.loads, shown.explanation) == (3, 5, None)
    assert shown.which == "run 3, the median of 5 loads"


def test_it_is_not_called_the_median_of_loads_that_it_was_not_chosen_from(tmp_path: Path) -> None:
    said = []
    for broken in ((), (3,), (3, 4), (3, 4, 5), (1, 3, 4, 5)):
        client = tmp_path / f"{len(broken)}"
        five_loads(client)
        for run in broken:
            (client / f"50-{run}-tfo-0" / f"{CELL.page}.har").write_text("{")
        shown = shown_load(read(client)[1], CELL)
        said.append(shown.which if shown else "")
    assert said == [
        "run 3, the median of 5 loads",
        "run 2, the lower of the middle two of those 4 of 5 loads whose files can be read",
        "run 2, the median of those 3 of 5 loads whose files can be read",
        "run 1, the lower of the middle two of those 2 of 5 loads whose files can be read",
        "run 2, the only one of 5 loads whose files can be read"]


def test_the_breakdown_says_so_too_and_stays_in_the_picture(tmp_path: Path) -> None:
    """It said "of 5 loads" of the median of three. Of an even number the line left the picture on both sides."""
    for broken, words in (((3,), "(of an even number the lower middle one), of 4 loads whose files can be read."),
                          ((3, 4), "Each bar: the load of the median PLT, of 3 loads whose files can be read.")):
        client = tmp_path / f"{len(broken)}"
        write_experiment(client, 50, {"pages": [PAGE], "rtt_ms": 100, "tfo": "both", "synthetic": True})
        five_loads(client)
        for run in broken:
            (client / f"50-{run}-tfo-0" / f"{CELL.page}.har").write_text("{")
        results, selection = read(client)
        figure = draw_breakdown(results, selection, CELL.page)
        assert figure is not None
        assert words in figure.get_supxlabel()
        figure.canvas.draw()
        spans = [text.get_window_extent() for text in figure.texts]
        assert all(0 < span.x0 < span.x1 < figure.get_size_inches()[0] * figure.dpi for span in spans)
        assert words in " ".join(breakdown_section(results, selection, CELL.page, "b").words)


def test_nothing_to_show(tmp_path: Path) -> None:
    five_loads(tmp_path)
    for path in (*tmp_path.glob("*/*.har"), *tmp_path.glob("*/httppage.test")):
        path.unlink()
    _, selection = read(tmp_path)
    assert shown_load(selection, CELL) is None
    assert shown_load(selection, Cell("httpnone", 100, 0)) is None


@pytest.mark.timeout(20)
def test_files_that_cannot_be_shown_are_problems(tmp_path: Path) -> None:
    five_loads(tmp_path / "whole")
    assert list(file_problems(read(tmp_path / "whole")[1])) == []
    five_loads(tmp_path)
    cells = [tmp_path / f"50-{run}-tfo-0" for run in range(1, 6)]
    (cells[0] / f"{CELL.page}.har").write_text('{"log": {"entries": [7]}}')
    (cells[1] / f"{CELL.page}.har").write_text("[1e999]")
    (cells[2] / f"{CELL.page}.har").unlink()
    os.mkfifo(cells[2] / f"{CELL.page}.har")
    (cells[3] / CELL.page).unlink()
    (cells[3] / CELL.page).mkdir()
    (cells[4] / CELL.page).unlink()
    found = [problem.replace(f"{tmp_path}/", "") for problem in file_problems(read(tmp_path)[1])]
    assert found == [
        "50-1-tfo-0/httppage.test.har:1: cannot be read (no HAR: an entry is no object)",
        "50-2-tfo-0/httppage.test.har:1: cannot be read (1e999 is no finite number)",
        "50-3-tfo-0/httppage.test.har:1: cannot be read (it is no regular file)",
        "50-4-tfo-0/httppage.test:1: cannot be read (it is no regular file)"]
    assert all(f"  {problem}" in format_report(*read(tmp_path)).replace(f"{tmp_path}/", "") for problem in found)
