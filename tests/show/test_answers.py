"""Answers that were not recorded for their request: counted under the table, marked, named in figures and report."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.errors import shortened
from harness.files.load_parts import Coverage, ReceivedAnswer, ReceivedAnswers
from harness.files.results import write_load
from harness.files.text_log import PageLog, Transaction, format_log
from harness.show.answers import answers_table
from harness.show.breakdown import draw_breakdown
from harness.show.columns import MARK, text_of
from harness.show.prediction import prediction_section
from harness.show.report.render import render
from harness.show.waterfall import compare_loads, draw_requests
from tests.support.client_folder import selected
from tests.support.made_har import PAGE, chain

SCRIPT, ASIDE = "http://host1.test/s.js", "http://aside.test/i.gif"
URLS = (PAGE, SCRIPT, ASIDE)
LOST = "http://a.test/lost.js"
LONG = "http://a.test/" + "long/" * 50
Change = Callable[[ReceivedAnswers], ReceivedAnswers]


def add(client: Path, stand_ins: Sequence[str] = (), runs: Sequence[int] = (1, 2), critical: bool | None = None,
        change: Change = lambda answers: answers) -> None:
    """Write loads without and with TFO: a document, a script that the load event waits for, an image beside them.

    The URLs in `stand_ins` were answered by stand-ins; `change` is made to what is known of the answers.
    """
    answers = tuple(ReceivedAnswer(url, "stand-in" if url in stand_ins else "exact",
                                   critical=url != ASIDE if critical is None else critical) for url in URLS)
    counted = change(ReceivedAnswers(len(URLS) - len(stand_ins), len(stand_ins), 0, 0, answers))
    for run in runs:
        for tfo in (0, 1):
            made = chain(2)
            made.add(ASIDE, 5, "image", wait=1)
            load = made.write(client, run=run, tfo=tfo)
            assert load.record is not None
            write_load(load.log.parent, replace(load.record, answers=counted))
            load.log.write_text(format_log(PageLog(
                transactions=[Transaction(5 + place, 300, url) for place, url in enumerate(URLS)],
                transactions_seen=True, transactions_whole=True)))


def page_row(client: Path) -> list[str]:
    """Return what the table of answers says of the page: five counts, what was received, and two lists of URLs."""
    rows = [row for _, group in answers_table(selected(client)).groups for row in group]
    return [*rows[0][1:]] if rows else []


def of_script(**changes: Any) -> Change:
    """Change the answer to the script."""
    return lambda answers: replace(answers, each=tuple(
        replace(answer, **changes) if answer.url == SCRIPT else answer for answer in answers.each))


@pytest.mark.parametrize(("stand_ins", "critical", "change", "expected"), [
    ((), None, lambda answers: answers, ([], "")),
    ((ASIDE,), None, lambda answers: answers, (["2", "1", "0", "0"], "")),
    ((SCRIPT,), None, lambda answers: answers, (["2", "1", "0", "0"], SCRIPT)),
    ((SCRIPT,), True, lambda answers: answers, (["2", "1", "0", "0"], SCRIPT)),
    ((SCRIPT,), False, lambda answers: answers, (["2", "1", "0", "0"], "")),
    ((), None, lambda answers: replace(answers, missing=1, failed=2), (["3", "0", "1", "2"], "")),
    ((), None, lambda answers: of_script(kind="missing", status=404)(replace(answers, exact=2, missing=1)),
     (["2", "0", "1", "0"], SCRIPT)),
    ((), None, of_script(expected=True, status=504), (["3", "0", "0", "0"], SCRIPT))])     # as when it was recorded
def test_what_was_not_recorded_is_counted_and_marks_its_row_on_the_critical_path(
        tmp_path: Path, stand_ins: tuple[str, ...], critical: bool | None, change: Change,
        expected: tuple[list[str], str]) -> None:
    numbers, named = expected
    add(tmp_path, stand_ins, critical=critical, change=change)
    selection = selected(tmp_path)
    found = page_row(tmp_path)
    assert found[:4] == numbers
    assert found[6:7] == ([named or "-"] if numbers else [])
    assert text_of(selection.rows[0], "improvement, marked").endswith(MARK) == bool(named)
    assert any(named in line for line in prediction_section(selection).words if "On the critical path" in line) \
        == bool(named)


def test_a_doubtful_answer_is_named_in_figures_and_report(tmp_path: Path) -> None:
    add(tmp_path, [SCRIPT])
    selection = selected(tmp_path)
    [row] = selection.rows
    figures = [draw_requests(row), draw_breakdown([row])]
    assert all(figure and SCRIPT in figure.get_supxlabel() for figure in figures)
    assert render(selection).count(f"recorded: {SCRIPT}") >= 4   # waterfall, breakdown
    compared = compare_loads(row)
    assert compared is not None
    assert {tuple((request.url, request.answer) for request in pair if request) for pair in compared.pairs} == {
        ((PAGE, ""),) * 2, ((SCRIPT, "stand-in"),) * 2, ((ASIDE, ""),) * 2}
    assert figures[0] is not None
    [marks] = [line for line in figures[0].axes[0].lines if line.get_marker() == "D"]
    assert len(np.asarray(marks.get_xdata())) == 2


def test_a_long_name_does_not_leave_the_picture(tmp_path: Path) -> None:
    long = ReceivedAnswer(LONG, "stand-in", critical=True)
    add(tmp_path, change=lambda answers: replace(answers, each=(*answers.each, long)))
    [row] = selected(tmp_path).rows
    assert len(shortened(LONG)) == 100
    for figure in (draw_requests(row), draw_breakdown([row])):
        assert figure is not None
        figure.draw_without_rendering()
        lines = [text.get_window_extent() for text in figure.texts]
        assert lines
        assert all(line.x0 >= 0 and line.x1 <= figure.bbox.width for line in lines)


@pytest.mark.parametrize(("got", "got_bytes", "received"), [
    (90, 9000, []), (73, 9000, ["73 of 100 answers, 9 of 9 kB"]), (100, 800, ["100 of 100 answers, 1 of 9 kB"])])
def test_a_page_that_asks_for_less_than_was_recorded_is_named(tmp_path: Path, got: int, got_bytes: int,
                                                              received: list[str]) -> None:
    """It is the load that got least that tells."""
    for run, cover in ((1, Coverage(100, 9000, got, got_bytes)), (2, Coverage(100, 9000, 100, 9000))):
        add(tmp_path, runs=[run], change=lambda answers, cover=cover: replace(answers, coverage=cover))  # type: ignore[misc]
    assert page_row(tmp_path)[5:6] == received


def test_what_failed_as_when_it_was_recorded_is_counted_and_named_if_the_page_is_made_of_it(tmp_path: Path) -> None:
    lost = ReceivedAnswer(LOST, "exact", status=504, purpose="script", expected=True)
    add(tmp_path, change=lambda answers: replace(answers, failed_as_recorded=2,
                                                 each=(lost, replace(lost, url=f"{LOST}.png", purpose="image"))))
    found = page_row(tmp_path)
    assert (found[4], found[7]) == ("2", LOST)
