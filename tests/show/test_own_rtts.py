"""What the outputs call an RTT that stands for several: each server's as it was recorded."""

from pathlib import Path
from typing import Any

import pytest

from harness.analysis.compare import read_sides
from harness.analysis.selection import Selection, select
from harness.files.results import Results, read_results
from harness.show.comparison import format_comparison
from harness.show.detail import detail_lines
from harness.show.paper import paper_lines
from harness.show.report import write_report
from harness.show.requests_figure import draw_figure
from harness.show.sweep import draw_sweep, sweep_lines
from tests.support.client_folder import NEWS, POST, add_load, make_client
from tests.support.texts import format_report

NAME = "recorded 12-180"
RECORDED: dict[str, Any] = {"rtt": "recorded*2", "rtts_assumed": ["c.test"],
            "server_rtts_ms": {"a.test": 12.3, "b.test": 40, "c.test": 180.4, "d.test": 40}}


@pytest.fixture
def client(tmp_path: Path) -> Path:
    make_client(tmp_path / "client", delays_ms=[10, 50], urls=[NEWS])
    return make_client(tmp_path / "client", delays_ms=[20], urls=[NEWS], **RECORDED)


def read(client: Path) -> tuple[Results, Selection]:
    results = read_results(client)
    return results, select(results, "load")


def test_table_and_footer(client: Path) -> None:
    report = format_report(*read(client)).splitlines()
    assert [line.split("\t")[1] for line in report if line.startswith("\t")] == ["20", NAME, "100"]
    assert f"RTT {NAME} ms: of each of 4 servers in proportion to the recorded one (--rtt recorded*2), but for 1 of " \
           "which that is not known, which have the median of the others; their median is 40 ms." in report


def test_lines_about_one_cell_call_its_rtt_as_the_table_does(tmp_path: Path) -> None:
    """They said "at 40 ms", which no row is called, and which is the RTT to two of four servers only."""
    client = make_client(tmp_path, delays_ms=[20], urls=[NEWS, POST], **RECORDED)
    for path in client.glob("20-*-tfo-1/httpblog*"):
        path.unlink()
    add_load(client, NEWS, 20, 1, 0, 1150)
    report = format_report(*read(client))
    assert f"(httpwww.news.example at {NAME} ms without TFO)" in report
    assert f"Not measured:\n  httpblog.example2013post at {NAME} ms with TFO\n" in report


def test_scaled_rtts_are_not_said_to_be_as_recorded(tmp_path: Path) -> None:
    """--rtt recorded --sweep-rtt 20,50: the file says "recorded" of both, and they cannot both be as recorded."""
    for median_ms in (20, 50):
        make_client(tmp_path, delays_ms=[median_ms / 2], urls=[NEWS], rtt="recorded",
                    server_rtts_ms={"a.test": 0.5 * median_ms, "b.test": median_ms, "c.test": 3 * median_ms})
    report = format_report(*read(tmp_path))
    assert report.count("of each of 3 servers in proportion to the recorded one (--rtt recorded); ") == 2


def test_where_names_share_a_server_the_median_is_that_of_the_names(tmp_path: Path) -> None:
    """Two of three names, recorded at 100, 20 and 60 ms, share the server at 20 ms: no median of those is 60."""
    client = make_client(tmp_path, delays_ms=[30], urls=[NEWS], rtt="recorded",
                         layout="domain: 3 host names on 2 servers (01234567)",
                         server_rtts_ms={"a.x.test": 20, "b.x.test": 20, "c.y.test": 60})
    report = format_report(*read(client))
    assert "their median" not in report
    assert "RTT recorded 20-60 ms: of the servers of 3 host names, each in proportion to what was recorded of the " \
           "nearest of its names (--rtt recorded); the median of the names' own RTTs is 60 ms." in report


def test_details_and_sweep(client: Path) -> None:
    results, selection = read(client)
    assert [line.split("\t")[1] for line in detail_lines(results, selection) if line.startswith("\t")] == [
        "20", NAME, "100"]
    assert "from 20 ms on (20 ms: " in next(line for line in sweep_lines(results, selection) if NEWS in line)


def test_figures(client: Path) -> None:
    results, selection = read(client)
    [page] = results.urls
    figure = draw_figure(results, selection, page, 40)
    assert figure is not None
    assert f"at {NAME} ms RTT" in figure.get_suptitle().replace("\n", " ")
    [axes] = draw_sweep(results, selection).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["20", NAME.replace(" ", "\n"), "100"]
    assert "as recorded" in axes.get_xlabel()


def test_the_report(client: Path, tmp_path: Path) -> None:
    results, selection = read(client)
    write_report(results, selection, tmp_path / "report.html")
    html = (tmp_path / "report.html").read_text()
    assert html.count(NAME) >= 4
    assert "a.test 12.3, b.test 40, c.test 180.4, d.test 40" in html


def test_only_rtts_as_recorded_are_told_of(tmp_path: Path) -> None:
    results, selection = read(make_client(tmp_path / "client", urls=[NEWS], rtt=None, server_rtts_ms=None))
    write_report(results, selection, tmp_path / "report.html")
    assert "RTTs of the servers" not in (tmp_path / "report.html").read_text()
    assert "recorded" not in format_report(results, selection).partition("Pages: ")[0]


def test_compared_with_one_rtt_for_all(client: Path, tmp_path: Path) -> None:
    other = make_client(tmp_path / "other", delays_ms=[10, 20], urls=[NEWS])
    report = format_comparison(*read_sides([client, other], "load"))
    assert "  rtt: recorded*2 | not recorded" in report
    assert "  server_rtts_ms: 4 servers, 12.3 to 180.4, 68.175 on average | not recorded" in report
    assert f"\t{NAME} | 40\tno TFO" in report
    assert "\t20\tno TFO" in report


def test_the_papers_rtts_are_others(tmp_path: Path) -> None:
    results, selection = read(make_client(tmp_path, delays_ms=[50], urls=["http://www.amazon.com"], paper=True,
                                          **RECORDED))
    assert list(paper_lines(results, selection)) == []
