"""A row of the table: medians, improvement, interval, kinds of notes and what was predicted, each computed once."""

from pathlib import Path

import pytest

from harness.analysis.compare import compare, read_sides
from harness.show.console import format_console
from harness.show.improvement import improvement_section
from harness.show.labels import percent
from harness.show.report import render
from harness.show.row_notes import notes_on
from harness.show.section import section_lines
from tests.support.client_folder import make_client, selected
from tests.support.made_har import chain


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
    [row] = selected(tmp_path).rows
    assert row.unexplained_saving == unexplained
    assert ("UNEXPLAINED" in {note.kind.name for note in notes_on(row)}) == bool(unexplained)
