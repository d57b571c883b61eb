"""A row of the table: medians, notes, explanations and predictions, each computed once, from made loads."""

from itertools import product
from pathlib import Path

import pytest

from harness.analysis.explanation import Explanation
from harness.analysis.what_if import SYN_BYTES
from harness.files.experiment import write_experiment
from harness.show.improvement import OF_LOAD_EVENT, prediction_section
from harness.show.row_notes import notes_on
from harness.show.section import section_lines
from tests.support.client_folder import selected
from tests.support.made_har import PAGE, MadeLoad, chain


@pytest.mark.parametrize(("hosts", "rtt_ms", "on_ms", "unexplained"), [
    (4, 100, 400, None), (4, 100, 380, (451, 400)), (4, 100, 900, None), (1, 20, 86, None)])
def test_what_handshakes_do_not_explain(hosts: int, rtt_ms: float, on_ms: float,
                                        unexplained: tuple[float, float] | None, tmp_path: Path) -> None:
    """A chain of four: 831 ms without TFO, 400 of them handshakes. 5% of the PLT more, or 25 ms, are allowed."""
    chain(hosts, connect=rtt_ms).write(tmp_path, rtt_ms=rtt_ms)
    on = chain(hosts, connect=0)
    on.plt_ms = on_ms
    on.write(tmp_path, rtt_ms=rtt_ms, tfo=1)
    [row] = selected(tmp_path).rows
    assert row.unexplained_saving == unexplained
    assert ("UNEXPLAINED" in {note.kind.name for note in notes_on(row)}) == bool(unexplained)


def explained(client: Path) -> Explanation:
    [row] = selected(client).rows
    [found] = row.explanations
    return found


def test_of_two_requests_for_one_url_each_has_its_own_handshake(tmp_path: Path) -> None:
    """As a long POST and a short one to one address: since the short one fits into a SYN, both were called savable."""
    load = MadeLoad(0.0)
    end = load.add(PAGE, 0, "document", referer="")
    end = load.add(f"{PAGE}graphql", end, "script", sent_bytes=SYN_BYTES + 1)
    load.plt_ms = load.add(f"{PAGE}graphql", end, "script") + 1
    load.write(tmp_path)
    explanation = explained(tmp_path)
    assert explanation.handshakes == 3
    assert explanation.simple_prediction_ms == explanation.predicted_plt_ms == load.plt_ms - 200


@pytest.mark.parametrize(("scheme", "post_quantum", "saved_ms"), [
    ("http", False, 180), ("https", False, 180), ("https", True, 0)])
def test_each_server_has_its_own_rtt_and_a_post_quantum_client_hello_saves_none(
        tmp_path: Path, scheme: str, post_quantum: bool, saved_ms: float) -> None:
    """Handshakes of 100 ms each, to servers 20, 100 and (not told) 60 ms away: TFO saves what a round trip takes."""
    load, end = MadeLoad(0.0), 0.0
    for host in ("near", "far", "other"):
        end = load.add(f"{scheme}://{host}.test/", end, "script" if end else "document", referer="", connect=150,
                       ssl=50 if scheme == "https" else -1)
    load.plt_ms = end + 1
    load.write(tmp_path, rtt_ms=60)
    write_experiment(tmp_path, 30, {"pages": [PAGE], "rtt_ms": 60, "post_quantum": post_quantum,
                                    "server_rtts_ms": {"near.test": 20, "far.test": 100}})
    found = explained(tmp_path)
    assert found.handshakes == 3
    assert found.predicted_plt_ms == found.simple_prediction_ms == pytest.approx(load.plt_ms - saved_ms)


def test_the_table_of_predictions(tmp_path: Path) -> None:
    """Of a chain of 3 hosts: run r without TFO is r ms slower, with TFO r x 2 ms; run 0 is the warm-up.

    By another metric it says which PLT it means: the other tables then have another one, under the same head.
    """
    for run, tfo in product(range(4), (0, 1)):
        load = chain(3, connect=0 if tfo else 100)
        load.plt_ms += run * (1 + tfo) if run else 5000
        load.write(tmp_path, run=run, tfo=tfo)
    lines, by_last = ([*section_lines(prediction_section(selected(tmp_path, metric)))] for metric in ("load", "last"))
    assert lines[1:3] == by_last[1:3] == [PAGE, "\t100\t0.626\t3\t0.326\t0.328\t-0.6%"]
    assert lines[-1].startswith("Off by 0.6% on average, 0.6% at most, over 1 cells")
    assert {*by_last} - {*lines} == {OF_LOAD_EVENT}
    chain(5).write(tmp_path, run=2)
    assert "\t3 to 5\t" in [*section_lines(prediction_section(selected(tmp_path)))][2]
