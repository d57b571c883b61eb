"""A row of the table: medians, improvement, interval, kinds of notes and what was predicted, each computed once."""

import math
from pathlib import Path

import pytest

from harness.analysis.compare import compare, read_sides
from harness.analysis.intervals import improvement_interval
from harness.analysis.row import Row, threshold_ms
from harness.show.console import format_console
from harness.show.improvement import improvement_section, threshold_lines
from harness.show.labels import percent
from harness.show.notes import notes_on
from harness.show.report.render import render
from harness.show.section import section_lines
from tests.support.client_folder import NEWS, add_load, make_client, selected
from tests.support.made_har import chain
from tests.support.made_record import made_answers


def row_of(client: Path) -> Row:
    [row] = selected(client).rows
    return row


def add_pairs(client: Path, off_ms: list[float], on_ms: list[float]) -> Path:
    """Add a load for each time."""
    for tfo, plts_ms in enumerate((off_ms, on_ms)):
        for run, plt_ms in enumerate(plts_ms, start=1):
            add_load(client, NEWS, 10, run, tfo, plt_ms)
    return client


@pytest.mark.parametrize(("off_ms", "on_ms", "helps"), [
    ([1000, 1010, 1020], [900, 880, 870], True), ([1000, 1010, 1020], [1100, 1110, 1120], False),
    ([1000, 1100, 1200], [1050, 1051, 1052], False), ([1000], [900], False), ([1000], [], False)])
def test_medians_percent_and_interval(tmp_path: Path, off_ms: list[float], on_ms: list[float], *, helps: bool) -> None:
    row = row_of(add_pairs(tmp_path, off_ms, on_ms))
    middle = sorted(off_ms)[len(off_ms) // 2], sorted(on_ms)[len(on_ms) // 2] if on_ms else None
    assert (row.off.median_ms, row.on.median_ms) == middle
    assert row.percent == (pytest.approx((middle[0] - middle[1]) / middle[0] * 100) if middle[1] else None)
    assert row.interval == (improvement_interval(off_ms, on_ms) if len(on_ms) > 1 else None)
    assert row.helps == helps
    assert row.significant == (helps or on_ms[-1:] == [1120])


def test_everything_that_prints_it_takes_it_from_one_computation(tmp_path: Path) -> None:
    client = make_client(tmp_path / "client", delays_ms=[5, 10, 20])
    selection = selected(client)
    printed = format_console(selection) + "\n".join(section_lines(improvement_section(selection, chart=False)))
    html = render(selection)
    assert len(selection.rows) == 6
    for row in selection.rows:
        assert printed.count(percent(row.percent)) >= 2
        assert percent(row.percent) in html
    differences = compare(*read_sides([client, client], "load"))
    assert [each.a for each in differences if each.what == "Improv."] == [row.percent for row in selection.rows]


@pytest.mark.parametrize(("saved", "threshold", "words"), [
    ({2: (0.1, 0.001), 20: (0.1, 0.001), 200: (0.3, 0.001)}, 2, "at all RTTs measured, from 2 ms on"),
    ({2: (0.0, 0.05), 20: (0.1, 0.001), 200: (0.3, 0.001)}, 20, "from 20 ms on"),
    ({2: (0.1, 0.001), 20: (0.0, 0.05), 200: (0.3, 0.001)}, 200, "from 200 ms on"),
    ({2: (0.1, 0.001), 20: (-0.1, 0.001), 200: (-0.3, 0.001)}, None, "not even at 200 ms, the largest RTT measured"),
    ({2: (0.1, 0.001), 20: (math.nan, 0), 200: (0.3, 0.001)}, 200, "from 200 ms on"),
    ({2: (0.1, 0.001), 20: (0.1, 0.001), 200: (math.nan, 0)}, None, "not known at 200 ms, the largest RTT measured")])
def test_from_which_rtt_on(tmp_path: Path, saved: dict[float, tuple[float, float]], threshold: float | None,
                           words: str) -> None:
    """`saved` is the share at each RTT, and by which share runs differ; NaN: no load with TFO counts."""
    for rtt_ms, (share, noise) in saved.items():
        for run in range(1, 7):
            wobble = 1 + noise * (-1, 0, 1)[run % 3]
            add_load(tmp_path, NEWS, rtt_ms / 2, run, 0, 1000 * wobble)
            add_load(tmp_path, NEWS, rtt_ms / 2, run, 1, 1000 if math.isnan(share) else 1000 * (1 - share) / wobble,
                     valid=not math.isnan(share), why_not=["broken"] if math.isnan(share) else [])
    selection = selected(tmp_path)
    assert threshold_ms(selection.rows) == threshold
    assert [*threshold_lines(selection)][1] == f"{NEWS}: {words}"


def add_awaiting(client: Path, run: int, tfo: int, awaited: int, *, late: int = 0, polls: int = 0,
                 cached: int = 0) -> None:
    """Add a load whose load event waited for so many answers; `late` came after it, scripts read the `polls`."""
    answers = made_answers(*(f"{NEWS}/{number}" for number in range(awaited)))
    answers["each"] += made_answers(*(f"{NEWS}/late{number}" for number in range(late)), late=True)["each"]
    answers["each"] += made_answers(*(f"{NEWS}/poll{number}" for number in range(polls)), purpose="data")["each"]
    answers["from_cache"] = [f"{NEWS}/poll0"] * cached
    add_load(client, NEWS, 10, run, tfo, 1000, answers=answers)


@pytest.mark.parametrize(("off", "on", "told"), [
    ([48], [41], (48, 41)), ([41], [48], (41, 48)), ([20], [18], None), ([20], [17], (20, 17)), ([3], [2], None),
    ([4], [2], (4, 2)), ([0], [0], None), ([60, 41, 41], [41, 60, 41], None), ([40], [], None)])
def test_load_events_that_wait_for_other_answers(off: list[int], on: list[int], told: tuple[float, float] | None,
                                                 tmp_path: Path) -> None:
    """The median counts, and a tenth is allowed: what is late in one load is awaited in another."""
    for tfo, counts in enumerate((off, on)):
        for run, awaited in enumerate(counts, start=1):
            add_awaiting(tmp_path, run, tfo, awaited, late=64 - awaited)
    assert row_of(tmp_path).awaited_answers == told


@pytest.mark.parametrize("cached", [False, True])
def test_what_scripts_fetch_holds_up_no_load_event(tmp_path: Path, *, cached: bool) -> None:
    """A page that polls asks six times before its load event without TFO, and three times with it: that is no race."""
    for tfo, polls in enumerate((6, 3)):
        add_awaiting(tmp_path, 1, tfo, 2, polls=1 if cached else polls, cached=polls if cached else 0)
    assert row_of(tmp_path).awaited_answers is None


@pytest.mark.parametrize(("hosts", "rtt_ms", "on_ms", "unexplained"), [
    (4, 100, 431, None), (4, 100, 400, None), (4, 100, 380, (451, 400)), (4, 100, 150, (681, 400)),
    (4, 100, 900, None), (1, 20, 86, None)])
def test_what_handshakes_do_not_explain(hosts: int, rtt_ms: float, on_ms: float,
                                        unexplained: tuple[float, float] | None, tmp_path: Path) -> None:
    """A chain of four: 831 ms without TFO, 400 of them handshakes. 5% of the PLT more, or 25 ms, are allowed."""
    chain(hosts, connect=rtt_ms).write(tmp_path, rtt_ms=rtt_ms)
    on = chain(hosts, connect=0)
    on.plt_ms = on_ms
    on.write(tmp_path, rtt_ms=rtt_ms, tfo=1)
    row = row_of(tmp_path)
    assert row.unexplained_saving == unexplained
    assert ("UNEXPLAINED" in {note.kind.name for note in notes_on(row)}) == bool(unexplained)


@pytest.mark.parametrize(("off_ms", "on_ms", "kinds"), [
    ([1000, 1001, 1002, 1003, 1004], [1100, 1101, 1102, 1103, 1104], []),       # a slow-down may be as sure as a gain
    ([1000, 1100, 1200, 1000, 1100, 1200], [1050, 1051, 1052, 1053, 1054, 1055], ["WIDE_SPREAD", "NOT_SIGNIFICANT"]),
    ([1000, 1001, 1002], [900], ["SINGLE_LOAD"])])
def test_kinds_of_notes(tmp_path: Path, off_ms: list[float], on_ms: list[float], kinds: list[str]) -> None:
    assert [note.kind.name for note in notes_on(row_of(add_pairs(tmp_path, off_ms, on_ms)))] == kinds


def test_loads_that_do_not_count_are_a_note_where_others_do(tmp_path: Path) -> None:
    client = make_client(tmp_path, delays_ms=[10], urls=[NEWS], runs=7)
    for run, tfo in ((2, 0), (3, 1), (4, 1)):
        add_load(client, NEWS, 10, run, tfo, 31000, valid=False, why_not=["SYN retransmitted: 2"])
    [off, on] = notes_on(row_of(client))
    assert [(note.kind.name, note.words[:6]) for note in (off, on)] == [("LEFT_OUT", "5 of 6"), ("LEFT_OUT", "4 of 6")]
    for run in range(1, 7):
        add_load(client, NEWS, 10, run, 1, None, valid=False, why_not=["timed out after 60 s"])
    assert [note.words[:6] for note in notes_on(row_of(client))] == ["5 of 6"]
