"""The table and the figure of transports side by side, from folders made by code."""

import json
from pathlib import Path

import pytest

from harness.analysis.selection import select
from harness.files.experiment import write_experiment
from harness.files.results import read_results
from harness.files.transport import Transport
from harness.show.columns import OF_TRANSPORTS, export, text_of
from harness.show.report import write_report
from harness.show.section import Chart, section_lines
from harness.show.transports import COLUMNS, draw_transports, transports_section
from tests.support.client_folder import add_load

URL, PAGE = "https://www.news.example", "httpswww.news.example"
RTTS_MS = (20.0, 100.0)


def make_client(directory: Path, transports: list[Transport], runs: int = 3) -> Path:
    """Each connection of a page is one of three in a row: it saves three times what its handshake does."""
    for rtt_ms in RTTS_MS:
        write_experiment(directory, rtt_ms / 2, {
            "name": "demo", "pages": [URL], "synthetic": True, "http": "h2", "server": "threaded", "rtt_ms": rtt_ms,
            "transports": transports, "compare_transports": True})
        for run in range(runs):
            for over in transports:
                counts = {"possible": 6, "resumed": 6, "sent": 6 * over.early, "accepted": 6 * over.early,
                          "in_syn": 5 * (over is Transport.TFO_EARLY)}
                add_load(directory, URL, rtt_ms / 2, run, over, 1000 + run + 3 * rtt_ms * over.round_trips,
                         early=over.early, quic=over.quic, early_data=counts)
    return directory


def test_round_trips_are_those_of_the_theory() -> None:
    assert [each.round_trips for each in Transport] == [3, 2, 2, 1, 2, 1]


def test_each_row_says_what_it_saves_against_tcp(tmp_path: Path) -> None:
    results = read_results(make_client(tmp_path, [*Transport]))
    selection = select(results, "load")
    assert selection.compares_transports
    rows = selection.transport_rows
    assert [(row.rtt_ms, row.on.transport) for row in rows] == [(rtt, each) for rtt in RTTS_MS for each in Transport]
    for row in rows:
        over = Transport(row.on.transport)
        first = over is Transport.TCP
        assert row.saved_ms == (None if first else pytest.approx(3 * row.rtt_ms * (3 - over.round_trips)))
        assert (row.interval is None) == first
        assert text_of(row, "early data").startswith(f"{12 * over.early} of 12")
    assert not selection.missing
    [chart] = transports_section(selection).parts
    assert isinstance(chart, Chart)
    [(heading, cells)] = chart.table.groups
    assert (heading, {len(row) for row in cells}, len(cells)) == (URL, {len(COLUMNS)}, 12)
    assert len([*section_lines(transports_section(selection))]) > 14


def test_each_transport_has_a_row_in_an_exported_table(tmp_path: Path) -> None:
    file = tmp_path / "table.json"
    export(select(read_results(make_client(tmp_path / "client", [*Transport])), "load"), file)
    rows = json.loads(file.read_text())["cells"]
    assert [row["transport"] for row in rows] == [over.words for over in Transport] * len(RTTS_MS)
    assert [row["round_trips"] for row in rows] == [3, 2, 2, 1, 2, 1] * len(RTTS_MS)
    assert [row["saved_ms"] for row in rows[:6]] == [None, 60, 60, 120, 60, 120]
    assert all(set(row) == set(OF_TRANSPORTS) for row in rows)


def test_the_figure_has_a_line_for_each_and_the_report_a_section(tmp_path: Path) -> None:
    results = read_results(make_client(tmp_path, [*Transport], runs=2))
    selection = select(results, "load")
    [axes] = draw_transports(selection).axes
    assert len(axes.get_legend_handles_labels()[1]) == len(Transport)
    write_report(selection, tmp_path / "report.html")
    assert 'What replaced TFO' in (tmp_path / "report.html").read_text()
