"""The table and the figure of transports side by side, from folders made by code."""

from pathlib import Path

import pytest

from harness.files.experiment import write_experiment
from harness.files.transport import Transport
from harness.show.columns import export_rows, text_of
from harness.show.report import render
from harness.show.transports import draw_transports
from tests.support.client_folder import add_load, selected

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


def test_each_row_says_what_it_saves_against_tcp_in_table_export_figure_and_report(tmp_path: Path) -> None:
    selection = selected(make_client(tmp_path, [*Transport]))
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
    cells = export_rows(selection)
    assert [cell["transport"] for cell in cells] == [over.words for over in Transport] * len(RTTS_MS)
    assert [cell["round_trips"] for cell in cells] == [3, 2, 2, 1, 2, 1] * len(RTTS_MS)
    assert [cell["saved_ms"] for cell in cells[:6]] == [None, 60, 60, 120, 60, 120]
    [axes] = draw_transports(selection).axes
    assert len(axes.get_legend_handles_labels()[1]) == len(Transport)
    report = render(selection)
    assert "What replaced TFO" in report
    assert all(f">{over.words}<" in report for over in Transport)
