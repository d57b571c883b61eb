"""Answers that were not recorded for their request: counted under the table, marked, named in figures and report."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from harness.analysis.answers import answer_counts, doubtful_urls
from harness.analysis.selection import Selection, select
from harness.errors import shortened
from harness.files.load_parts import Coverage, ReceivedAnswer, ReceivedAnswers
from harness.files.pages import sanitise
from harness.files.results import Results, read_results, write_load
from harness.files.text_log import PageLog, Transaction, format_log
from harness.show.answers import MARK, answer_lines, doubtful_words
from harness.show.breakdown_figure import draw_breakdown
from harness.show.prediction import prediction_lines
from harness.show.report.render import render
from harness.show.requests_figure import compare_loads, draw_figure
from tests.support.made_har import PAGE, MadeLoad, chain
from tests.support.made_record import made_record
from tests.support.texts import format_report

SCRIPT, ASIDE = "http://host1.test/s.js", "http://aside.test/i.gif"
NAME = sanitise(PAGE)


def page_load() -> MadeLoad:
    """A document, then a script that the load event waits for; an image beside them that it does not wait for."""
    load = chain(2)
    load.add(ASIDE, 5, "image", wait=1)
    return load


def add(client: Path, stand_ins: Sequence[str], runs: Sequence[int] = (1, 2), critical: bool | None = None) -> None:
    """Write loads without and with TFO in which the URLs in `stand_ins` were answered by stand-ins."""
    urls = (PAGE, SCRIPT, ASIDE)
    answers = tuple(ReceivedAnswer(url, "stand-in" if url in stand_ins else "exact", critical=critical) for url in urls)
    counted = ReceivedAnswers(len(urls) - len(stand_ins), len(stand_ins), 0, 0, answers)
    for run in runs:
        for tfo in (0, 1):
            load = page_load().write(client, run=run, tfo=tfo)
            assert load.record is not None
            write_load(load.log.parent, replace(load.record, answers=counted))
            load.log.write_text(format_log(PageLog(
                transactions=[Transaction(5 + place, 300, url) for place, url in enumerate(urls)],
                transactions_seen=True, transactions_whole=True)))


def read(client: Path) -> tuple[Results, Selection]:
    results = read_results(client)
    return results, select(results, "load")


@pytest.mark.parametrize(("got", "got_bytes", "said"), [(90, 9000, False), (73, 9000, True), (100, 800, True)])
def test_a_page_that_asks_for_less_than_was_recorded_is_named(tmp_path: Path, got: int, got_bytes: int,
                                                              said: bool) -> None:
    add(tmp_path, [])
    loads = read_results(tmp_path).loads
    for load in loads:
        assert load.record is not None
        assert load.record.answers is not None
        least = load is loads[0]
        cover = Coverage(100, 9000, got if least else 100, got_bytes if least else 9000)
        write_load(load.log.parent, replace(load.record, answers=replace(load.record.answers, coverage=cover)))
    lines = list(answer_lines(*read(tmp_path)))
    assert lines == (["Pages whose loads ask for less than the recording holds, which another browser made (what a "
                      "load got at least):", f"  {NAME}: {got} of 100 answers, {got_bytes / 1000:,.0f} of 9 kB"]
                     if said else [])


def test_what_failed_as_when_it_was_recorded_is_said(tmp_path: Path) -> None:
    add(tmp_path, [])
    for load in read_results(tmp_path).loads:
        assert load.record is not None
        assert load.record.answers is not None
        lost = ReceivedAnswer("http://a.test/lost.js", "exact", status=504, purpose="script", expected=True)
        answers = replace(load.record.answers, failed_as_recorded=2, each=(lost, replace(lost, purpose="image")))
        write_load(load.log.parent, replace(load.record, answers=answers))
    heading, line = answer_lines(*read(tmp_path))
    assert "got no answer when the page was recorded either" in heading
    assert line == f"  {NAME}: 2, among them a document, script or style sheet: http://a.test/lost.js"


def test_nothing_is_said_of_a_page_that_got_what_was_recorded(tmp_path: Path) -> None:
    add(tmp_path, [])
    results, selection = read(tmp_path)
    assert list(answer_lines(results, selection)) == []
    assert "*" not in format_report(results, selection)
    assert "stand-in" not in "".join(prediction_lines(results, selection))


def test_a_stand_in_beside_the_critical_path_is_counted_and_marks_nothing(tmp_path: Path) -> None:
    add(tmp_path, [ASIDE])
    title, line = answer_lines(*read(tmp_path))
    assert title.startswith("Pages with stand-ins")
    assert line == f"  {NAME}: 2 exact, 1 stand-in, 0 missing, 0 failed; none on a critical path that is known"
    assert f"%{MARK}" not in format_report(*read(tmp_path))


def test_a_page_without_stand_ins_tells_what_failed_or_was_missing(tmp_path: Path) -> None:
    add(tmp_path, [])
    for load in read(tmp_path)[0].loads:
        assert load.record is not None
        assert load.record.answers is not None
        answers = replace(load.record.answers, missing=1, failed=2)
        write_load(load.log.parent, replace(load.record, answers=answers))
    title, line = answer_lines(*read(tmp_path))
    assert "missing or failed ones" in title
    assert line == f"  {NAME}: 3 exact, 0 stand-in, 1 missing, 2 failed; none on a critical path that is known"


@pytest.mark.parametrize(("kind", "expected", "words"), [
    ("missing", False, "2 exact, 0 stand-in, 1 missing, 0 failed"),
    ("exact", True, "3 exact, 0 stand-in, 0 missing, 0 failed")])
def test_what_the_recording_does_not_answer_marks_its_row_as_well(
        tmp_path: Path, kind: Literal["exact", "missing"], expected: bool, words: str) -> None:
    """A 404 (or, where nobody answered when it was recorded, a 504) takes another time than the page's own answer."""
    add(tmp_path, [])
    for load in read(tmp_path)[0].loads:
        assert load.record is not None
        assert load.record.answers is not None
        each = tuple(replace(answer, kind=kind, status=504 if expected else 404, expected=expected)
                     if answer.url == SCRIPT else answer for answer in load.record.answers.each)
        lacks = int(kind == "missing")
        answers = replace(load.record.answers, exact=3 - lacks, missing=lacks, each=each)
        write_load(load.log.parent, replace(load.record, answers=answers))
    report = format_report(*read(tmp_path))
    row, = (line for line in report.splitlines() if line.startswith("\t"))
    assert row.endswith(f"%{MARK}")
    assert f"  {NAME}: {words}; on a critical path: {SCRIPT}" in report


@pytest.mark.parametrize("told", [None, True])
def test_a_stand_in_on_the_critical_path_marks_its_row_and_is_named(tmp_path: Path, told: bool | None) -> None:
    add(tmp_path, [SCRIPT], critical=told)
    results, selection = read(tmp_path)
    report = format_report(results, selection)
    row, = (line for line in report.splitlines() if line.startswith("\t"))
    assert row.endswith(f"%{MARK}")
    assert f"  {NAME}: 2 exact, 1 stand-in, 0 missing, 0 failed; on a critical path: {SCRIPT}" in report
    assert f"{MARK} on the critical path of a load of this row lies an answer" in report
    words = f" On the critical path, not as recorded: {SCRIPT}."
    assert any(words in line for line in prediction_lines(results, selection))
    figures = [draw_figure(results, selection, NAME, 100), draw_breakdown(results, selection, NAME)]
    assert all(figure and words.strip() in figure.get_supxlabel().replace("\n", " ") for figure in figures)
    html = render(results, selection)
    assert html.count(words.strip()) >= 4       # of two loads, in the waterfall and in the breakdown


def test_a_long_name_does_not_leave_the_picture(tmp_path: Path) -> None:
    add(tmp_path, [])
    for load in read(tmp_path)[0].loads:
        assert load.record is not None
        assert load.record.answers is not None
        long = ReceivedAnswer("http://a.test/" + "long/" * 50, "stand-in", critical=True)
        answers = replace(load.record.answers, each=(*load.record.answers.each, long))
        write_load(load.log.parent, replace(load.record, answers=answers))
    results, selection = read(tmp_path)
    for figure in (draw_figure(results, selection, NAME, 100), draw_breakdown(results, selection, NAME)):
        assert figure is not None
        figure.draw_without_rendering()
        lines = [text.get_window_extent() for text in figure.texts]
        assert lines
        assert all(line.x0 >= 0 and line.x1 <= figure.bbox.width for line in lines)


def test_the_waterfall_shows_which_request_it_was(tmp_path: Path) -> None:
    add(tmp_path, [SCRIPT])
    results, selection = read(tmp_path)
    compared = compare_loads(selection, NAME, results.rtts_ms[0])
    assert compared is not None
    assert {tuple((request.url, request.answer) for request in pair if request) for pair in compared.pairs} == {
        ((PAGE, ""),) * 2, ((SCRIPT, "stand-in"),) * 2, ((ASIDE, ""),) * 2}
    figure = draw_figure(results, selection, NAME, results.rtts_ms[0])
    assert figure is not None
    [marks] = figure.axes[0].collections
    assert (marks.get_label(), len(np.asarray(marks.get_offsets()))) == ("answered by a stand-in", 2)
    assert "answered by a stand-in" in render(results, selection)


def test_loads_that_differ_give_a_span(tmp_path: Path) -> None:
    add(tmp_path, [ASIDE], runs=[1])
    add(tmp_path, [ASIDE, SCRIPT], runs=[2])
    _, line, _ = answer_lines(*read(tmp_path))
    counts = "1 to 2 exact, 1 to 2 stand-in, 0 missing, 0 failed"
    assert line == f"  {NAME}: {counts}; on a critical path: {SCRIPT}"


def test_records_of_format_1_know_what_the_servers_counted() -> None:
    counts = answer_counts(made_record(best_match=3, missing=1, failed_requests={"net::ERR_FAILED": 2}))
    assert counts is not None
    assert (counts.exact, counts.stand_in, counts.missing, counts.failed) == (None, 3, 1, 2)
    assert answer_counts(made_record()) is None
    assert answer_counts(None) is None


def test_what_the_verdict_says_is_not_on_the_path_is_not_looked_for(tmp_path: Path) -> None:
    add(tmp_path, [SCRIPT], critical=False)
    assert [doubtful_urls(load, 100) for load in read(tmp_path)[0].loads] == [[]] * 4


def test_words() -> None:
    assert doubtful_words([]) == ""
    assert doubtful_words(["u", "v", "w"]) == " On the critical path, not as recorded: u (and 2 more)."
    assert len(shortened("http://a.test/" + "x" * 500)) == 100
