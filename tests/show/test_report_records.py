"""What stands beside a request in the report: its own entry of the HAR, its own answer."""

from dataclasses import replace
from pathlib import Path

from harness.analysis.selection import Cell, select
from harness.analysis.shown import shown_load
from harness.files.har import UNFINISHED
from harness.files.load_parts import ReceivedAnswer, ReceivedAnswers
from harness.files.results import read_results, write_load
from harness.files.text_log import PageLog, Transaction, format_log
from harness.show.report.records import PHASES, shown_requests
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
