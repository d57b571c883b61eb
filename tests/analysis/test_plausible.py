"""What is said of an improvement that need not be TFO's: made loads whose race and whose handshakes are known."""

from pathlib import Path

import pytest

from harness.analysis.improvement import Improvement, improvement
from harness.analysis.plausible import awaited_answers, unexplained_saving
from harness.analysis.selection import Selection, select
from harness.files.results import read_results
from harness.show.notes import note_lines
from tests.support.client_folder import NEWS, add_load
from tests.support.made_har import chain
from tests.support.made_record import made_answers


def row_of(client: Path) -> tuple[Selection, Improvement]:
    results = read_results(client)
    selection = select(results, "load")
    [page], [rtt_ms] = results.urls, results.rtts_ms
    return selection, improvement(selection, page, rtt_ms)


def add_awaiting(client: Path, run: int, tfo: int, awaited: int, late: int) -> None:
    """Add a load whose load event waited for so many answers, and which asked for others after it."""
    answers = made_answers(*(f"{NEWS}/{number}" for number in range(awaited)))
    answers["each"] += made_answers(*(f"{NEWS}/late{number}" for number in range(late)), late=True)["each"]
    add_load(client, NEWS, 10, run, tfo, 1000, answers=answers)


@pytest.mark.parametrize(("off", "on", "told"), [
    ([48], [41], (48, 41)), ([41], [48], (41, 48)), ([20], [18], None), ([20], [17], (20, 17)), ([3], [2], None),
    ([4], [2], (4, 2)), ([0], [0], None), ([60, 41, 41], [41, 60, 41], None)])
def test_load_events_that_wait_for_other_answers(off: list[int], on: list[int], told: tuple[float, float] | None,
                                                 tmp_path: Path) -> None:
    """The median counts, and a tenth is allowed: what is late in one load is awaited in another."""
    for tfo, counts in enumerate((off, on)):
        for run, awaited in enumerate(counts, start=1):
            add_awaiting(tmp_path, run, tfo, awaited, 64 - awaited)
    assert awaited_answers(*row_of(tmp_path)) == told


def test_what_scripts_fetch_holds_up_no_load_event(tmp_path: Path) -> None:
    """A page that polls asks six times before its load event without TFO, and three times with it: that is no race."""
    for tfo, polls in enumerate((6, 3)):
        answers = made_answers(NEWS, f"{NEWS}/a.js")
        answers["each"] += made_answers(*(f"{NEWS}/poll{number}" for number in range(polls)), purpose="data")["each"]
        add_load(tmp_path, NEWS, 10, 1, tfo, 1000, answers=answers)
    assert awaited_answers(*row_of(tmp_path)) is None


def test_what_scripts_fetch_again_from_the_cache_holds_up_none_either(tmp_path: Path) -> None:
    for tfo, polls in enumerate((6, 3)):
        answers = made_answers(NEWS, f"{NEWS}/a.js")
        answers["each"] += made_answers(f"{NEWS}/settings", purpose="data")["each"]
        answers["from_cache"] = [f"{NEWS}/settings"] * polls
        add_load(tmp_path, NEWS, 10, 1, tfo, 1000, answers=answers)
    assert awaited_answers(*row_of(tmp_path)) is None


def test_loads_that_do_not_say_what_they_got_are_not_compared(tmp_path: Path) -> None:
    add_awaiting(tmp_path, 1, 0, 40, 0)
    add_load(tmp_path, NEWS, 10, 1, 1, 1000)
    assert awaited_answers(*row_of(tmp_path)) is None


@pytest.mark.parametrize(("on_ms", "explained"), [(431, True), (400, True), (380, False), (150, False), (900, True)])
def test_a_chain_of_four_saves_four_round_trips(on_ms: float, explained: bool, tmp_path: Path) -> None:
    """831 ms without TFO, 400 of them handshakes: what is saved beyond 442 (5% of the PLT more) is not explained."""
    chain(4).write(tmp_path)
    on = chain(4, connect=0)
    on.plt_ms = on_ms
    on.write(tmp_path, tfo=1)
    assert unexplained_saving(*row_of(tmp_path)) == (None if explained else (831 - on_ms, 400))


def test_a_short_page_may_vary_by_some_milliseconds(tmp_path: Path) -> None:
    chain(1, connect=20).write(tmp_path, rtt_ms=20)
    on = chain(1, connect=0)
    on.plt_ms = 130 - 44
    on.write(tmp_path, rtt_ms=20, tfo=1)
    assert unexplained_saving(*row_of(tmp_path)) is None


def test_without_a_critical_path_nothing_is_said(tmp_path: Path) -> None:
    for tfo, plt_ms in ((0, 9000), (1, 1000)):
        add_load(tmp_path, NEWS, 10, 1, tfo, plt_ms)
    assert unexplained_saving(*row_of(tmp_path)) is None


def test_both_are_said_of_the_row(tmp_path: Path) -> None:
    off, on = chain(4), chain(4, connect=0)
    on.plt_ms = 150
    for tfo, load in enumerate((off, on)):
        load.write(tmp_path, tfo=tfo)
    results = read_results(tmp_path)
    title, row = note_lines(results, select(results, "load"))
    assert title == "Rows to be careful with:"
    assert row == ("  httppage.test at 100 ms: 0.681 s saved, of which handshakes explain 0.400 s: the rest need not "
                   "be TFO's; load the page more often (--until-ci 3)")
    for tfo, awaited in enumerate((48, 41)):
        add_awaiting(tmp_path / "race", 1, tfo, awaited, 0)
    results = read_results(tmp_path / "race")
    _, row = note_lines(results, select(results, "load"))
    assert row == ("  httpwww.news.example at 20 ms: its load event waited for 48 answers without TFO and for 41 with "
                   "it, a race in the page: the improvement need not be TFO's")
