"""The table and the figure of transports side by side, from folders made by code."""

from pathlib import Path

from harness.files.transport import Transport
from harness.show.columns import export_rows
from harness.show.console import main_table
from harness.show.report import render
from harness.show.transports import draw_transports
from harness.sweep.site_rows import OF_A_SITE
from tests.support.client_folder import add_load, make_client, selected

URL = "https://www.news.example"
RTTS_MS = (20.0, 100.0)


def compared(directory: Path) -> Path:
    """Each connection of a page is one of three in a row: it saves three times what its handshake does."""
    make_client(directory, [rtt_ms / 2 for rtt_ms in RTTS_MS], [URL], 0, http="h2", transports=[*Transport],
                compare_transports=True)
    for rtt_ms in RTTS_MS:
        for run in range(3):
            for over in Transport:
                counts = {"possible": 6, "resumed": 6, "sent": 6 * over.early, "accepted": 6 * over.early,
                          "in_syn": 5 * (over is Transport.TFO_EARLY)}
                add_load(directory, URL, rtt_ms / 2, run, over, 1000 + run + 3 * rtt_ms * over.round_trips,
                         early=over.early, quic=over.quic, early_data=counts)
    return directory


def test_each_row_says_what_it_saves_against_tcp_in_table_export_figure_and_report(tmp_path: Path) -> None:
    selection = selected(compared(tmp_path))
    assert "\n".join([*main_table(selection)][:14]).expandtabs(2) == """\
Page  RTT(ms) Transport Round trips PLT (s) Saved (s) Saved 95% interval  Predicted (s) Early data
https://www.news.example
  20  TCP + TLS 1.3 3 1.181 - - - - 0 of 12
  20  TFO + TLS 1.3 2 1.121 0.060 5.08% 5.08% to 5.08%  - 0 of 12
  20  TLS 1.3 early data  2 1.121 0.060 5.08% 5.08% to 5.08%  - 12 of 12
  20  TFO + early data in the SYN 1 1.062 0.120 10.16%  10.15% to 10.16%  - 12 of 12 (10 with the SYN)
  20  QUIC  2 1.121 0.060 5.08% 5.08% to 5.08%  - 0 of 12
  20  QUIC 0-RTT  1 1.062 0.120 10.16%  10.15% to 10.16%  - 12 of 12
  100 TCP + TLS 1.3 3 1.901 - - - - 0 of 12
  100 TFO + TLS 1.3 2 1.601 0.300 15.78%  15.77% to 15.78%  - 0 of 12
  100 TLS 1.3 early data  2 1.601 0.300 15.78%  15.77% to 15.78%  - 12 of 12
  100 TFO + early data in the SYN 1 1.302 0.600 31.55%  31.55% to 31.56%  - 12 of 12 (10 with the SYN)
  100 QUIC  2 1.601 0.300 15.78%  15.77% to 15.78%  - 0 of 12
  100 QUIC 0-RTT  1 1.302 0.600 31.55%  31.55% to 31.56%  - 12 of 12"""
    assert not selection.missing
    assert [{*row} for row in export_rows(selection, OF_A_SITE)] == [{*OF_A_SITE}] * len(RTTS_MS), "sweep.py's columns"
    cells = export_rows(selection)
    assert [cell["transport"] for cell in cells] == [over.words for over in Transport] * len(RTTS_MS)
    assert [cell["saved_ms"] for cell in cells[:6]] == [None, 60, 60, 120, 60, 120]
    [axes] = draw_transports(selection).axes
    assert len(axes.get_legend_handles_labels()[1]) == len(Transport)
    report = render(selection)
    assert "What replaced TFO" in report
    assert all(f">{over.words}<" in report for over in Transport)
