"""What stands beside a request in the report: its own entry of the HAR, its own answer."""

from dataclasses import replace
from pathlib import Path

from harness.analysis.selection import Cell, select
from harness.analysis.shown import shown_load
from harness.files.exchange import UNFINISHED
from harness.files.load_parts import ReceivedAnswer, ReceivedAnswers
from harness.files.results import read_results, write_load
from harness.files.text_log import PageLog, Transaction, format_log
from harness.show.records import PHASES, shown_requests
from harness.show.requests_figure import draw_figure
from tests.support.made_har import PAGE, MadeLoad

POLL = "http://poll.test/"


def test_a_request_that_never_ended_lends_nothing_to_the_next_one_of_its_url(tmp_path: Path) -> None:
    """The text log leaves it out. Before, the second one was drawn with its 900 ms, and called unfinished."""
    made = MadeLoad(1000)
    made.add(PAGE, 0, "document", referer="")
    made.add(POLL, 300, "data", connect=50, wait=900, error=UNFINISHED)
    made.add(POLL, 400, "data", connect=22, wait=11)
    load = made.write(tmp_path)
    load.log.write_text(format_log(PageLog(transactions=[Transaction(0, 200, PAGE), Transaction(400, 433, POLL)])))
    each = (ReceivedAnswer(PAGE, "exact"), ReceivedAnswer(POLL, "failed", error=UNFINISHED),
            ReceivedAnswer(POLL, "stand-in"))
    write_load(load.log.parent, replace(made.record(), answers=ReceivedAnswers(1, 1, 0, 1, each)))
    shown = shown_load(select(read_results(tmp_path), "load"), Cell(load.page, 100, 0))
    assert shown is not None
    _, poll = shown_requests(shown)
    took_ms = dict(zip(PHASES, poll.phases_ms or (), strict=True))
    assert took_ms == dict.fromkeys(PHASES, 0) | {"connect": 22, "wait": 11}
    assert (poll.error, poll.answer) == ("", "stand-in")


def test_a_mark_is_on_the_bar_of_its_own_answer(tmp_path: Path) -> None:
    """Of three requests for one URL Chrome's cache answered the second: no list of servers' answers has that one."""
    made = MadeLoad(1000)
    made.add(PAGE, 0, "document", referer="")
    made.add(POLL, 300, "data")
    made.add_cached(POLL, 510, 1, "data")
    made.add(POLL, 600, "data", connect=22, wait=11)
    load = made.write(tmp_path)
    load.log.write_text(format_log(PageLog(transactions=[Transaction(0, 200, PAGE), *(
        Transaction(start_ms, end_ms, POLL) for start_ms, end_ms in ((300, 500), (510, 511), (600, 633)))])))
    each = (ReceivedAnswer(PAGE, "exact"), ReceivedAnswer(POLL, "exact"), ReceivedAnswer(POLL, "stand-in"))
    write_load(load.log.parent, replace(made.record(), answers=ReceivedAnswers(2, 1, 0, 0, each, from_cache=(POLL,))))
    shown = shown_load(select(read_results(tmp_path), "load"), Cell(load.page, 100, 0))
    assert shown is not None
    assert [request.answer for request in shown_requests(shown)] == ["", "", "", "stand-in"]


def test_the_critical_path_lies_in_the_rows_of_its_own_requests(tmp_path: Path) -> None:
    """Of two for one URL a step lay in the row of the one that began nearer to it, which nobody waited for."""
    made = MadeLoad(1010)
    made.add(PAGE, 0, "document", referer="")
    made.add(POLL, 200, "script", dns=200, connect=100, wait=500)
    made.add(POLL, 480, "data", connect=100, wait=1000)
    load = made.write(tmp_path)
    load.log.write_text(format_log(PageLog(transactions=[
        Transaction(0, 200, PAGE), Transaction(200, 1000, POLL), Transaction(480, 1580, POLL)])))
    results = read_results(tmp_path)
    figure = draw_figure(results, select(results, "load"), load.page, 100)
    assert figure is not None
    assert [bar.get_linewidth() > 1 for bar in figure.axes[0].patches] == [True, True, False]
