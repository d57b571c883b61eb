"""Layouts side by side: the table, the figure, and what differs besides."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from harness.analysis.compare import Side
from harness.analysis.layouts import layout_rows, other_differences, side_names
from harness.analysis.selection import select
from harness.analysis.setups import differing_settings
from harness.bootstrap import ROOT
from harness.files.results import read_results
from harness.show.layouts import draw_layouts, layout_lines
from tests.support.client_folder import NEWS, POST, add_load, make_client
from tests.support.forked import typed

PROGRAM = ROOT / "experiments" / "layouts.py"


def results(folder: Path, layout: str, servers: int, plts_ms: tuple[float, float] = (1000, 800),
            **experiment: Any) -> Path:
    """Make results of one page at 200 ms: 10 connections to so many servers, and these page load times."""
    make_client(folder / "client", [100], [NEWS], runs=0, layout=layout, **experiment)
    for run in (1, 2, 3):
        for tfo, plt_ms in enumerate(plts_ms):
            connections = [{"id": number, "address": f"10.0.0.{number % servers + 2}:8000", "start_ms": 0.0,
                            "connect_ms": 200.0, "requests": 1} for number in range(10)]
            add_load(folder / "client", NEWS, 100, run, tfo, plt_ms + run, connections=connections,
                     connections_with_request=10)
    return folder


def side(folder: Path) -> Side:
    found = read_results(folder / "client")
    return Side(found, select(found, "load"))


def heights(axes: Axes) -> list[float]:
    return [patch.get_height() for patch in axes.patches if isinstance(patch, Rectangle)]


@pytest.fixture
def three(tmp_path: Path) -> list[Path]:
    return [results(tmp_path / "a", "host", 5), results(tmp_path / "b", "domain: 5 host names on 2 servers (abc)", 2),
            results(tmp_path / "c", "one: 5 host names on 1 server (def)", 1, (900, 850), bw_net_mbit=8)]


def test_each_layout_is_a_row(three: list[Path]) -> None:
    rows = layout_rows([side(folder) for folder in three])
    assert [(row.name, row.url, row.servers, row.connections) for row in rows] == [
        ("host", NEWS, 5, 10), ("domain", NEWS, 2, 10), ("one", NEWS, 1, 10)]
    assert rows[0].improvement.percent == pytest.approx(20, abs=0.1)
    table = list(layout_lines(rows))
    assert table[3].startswith(f"{NEWS}\t200\tone\t1\t10\t-\t0.902\t0.852\t0.050\t5.54%\t")


def test_folders_of_one_choice_go_by_their_own_names_too(tmp_path: Path) -> None:
    """As those of a recording from here and one from there."""
    sides = [side(results(tmp_path / name, f"recorded: 5 host names on {count} servers ({name})", count))
             for name, count in (("here", 2), ("there", 3))]
    assert side_names(sides) == ["recorded (here)", "recorded (there)"]


def test_folders_of_one_choice_and_one_name_are_told_apart(tmp_path: Path) -> None:
    """Two days' layouts/host had one name: nobody knew whose row was whose, and bars were drawn over bars."""
    sides = [side(results(tmp_path / day / "host", "host", 5, bw_net_mbit=rate)) for day, rate in
             (("monday", 4), ("tuesday", 8))]
    assert side_names(sides) == ["host (monday/host)", "host (tuesday/host)"]
    assert list(other_differences(sides)) == ["monday/host | tuesday/host: bw_net_mbit: 4 | 8"]


def test_each_of_many_bars_looks_like_no_other(three: list[Path]) -> None:
    """Of the eight settings of all.sh the last two had colour and hatching of the first two."""
    [row] = layout_rows([side(three[0])])
    bars = draw_layouts([replace(row, name=f"{number}") for number in range(8)]).axes[0].patches
    assert len({(bar.get_facecolor(), bar.get_hatch()) for bar in bars}) == 8


def test_what_differs_besides_is_said(three: list[Path]) -> None:
    """But not the layout, which is what is compared."""
    assert list(other_differences([side(folder) for folder in three])) == ["a | c: bw_net_mbit: not recorded | 8"]


def test_the_figure_has_a_bar_for_each_layout_and_page(three: list[Path]) -> None:
    figure = draw_layouts(layout_rows([side(folder) for folder in three]))
    connections, handshakes, improved = figure.axes
    assert heights(connections) == [10, 10, 10]
    assert len(handshakes.patches) == 0, "without a HAR nobody knows the critical path"
    assert [*map(round, heights(improved))] == [20, 20, 6]


def test_a_page_that_one_folder_lacks_has_no_bar_there(tmp_path: Path, three: list[Path]) -> None:
    make_client(tmp_path / "d" / "client", [100], [POST], layout="one: 9 host names on 1 server (x)")
    rows = layout_rows([side(three[0]), side(tmp_path / "d")])
    assert [(row.url, row.name) for row in rows] == [(NEWS, "host"), (POST, "one")]
    assert len(draw_layouts(rows).axes[2].patches) == 2


def test_the_legend_stays_in_the_picture(three: list[Path]) -> None:
    """Six folders as run.sh calls them left it on both sides, and pressed the bars into a third of its width."""
    [row] = layout_rows([side(three[0])])
    figure = draw_layouts([replace(row, name=f"results-20261126-10431{number}") for number in range(6)])
    figure.canvas.draw()
    legend = figure.axes[0].get_legend()
    assert legend is not None
    assert 0 <= legend.get_window_extent().x0 < legend.get_window_extent().x1 <= figure.bbox.x1


def test_names_of_pages_do_not_overlap(tmp_path: Path) -> None:
    """run.sh's four pages at its three RTTs: Wikipedia's name lay over its neighbours'. As recorded is no one RTT."""
    urls = ["http://www.amazon.com", "http://www.nytimes.com", "http://www.wsj.com",
            "http://en.wikipedia.org/wiki/Transmission_Control_Protocol"]
    make_client(tmp_path / "client", [10, 50], urls, runs=2)
    make_client(tmp_path / "client", [100], urls, runs=2, server_rtts_ms={"a.test": 30, "b.test": 300})
    figure = draw_layouts(layout_rows([side(tmp_path)]))
    figure.canvas.draw()
    labels = figure.axes[-1].get_xticklabels()
    for label, rtt in zip(labels, ["20 ms", "100 ms", "recorded\n30-300 ms"], strict=False):
        assert label.get_text().endswith(f"com\n{rtt}")
    assert not any(left.get_window_extent().overlaps(right.get_window_extent()) for left, right in pairwise(labels))


def test_the_program(three: list[Path], tmp_path: Path) -> None:
    done = typed(PROGRAM, *three, "--output", tmp_path / "it.svg")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(f"\n{NEWS}\t") == 3
    assert "Differs beside the layout: a | c: bw_net_mbit" in done.stdout
    assert (tmp_path / "it.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize(("arguments", "problem"), [
    (["nowhere"], "nowhere:1: no such folder to compare"), ([".", "--output", "it.doc"], "no format of figures")])
def test_what_it_refuses(arguments: list[str], problem: str) -> None:
    done = typed(PROGRAM, *arguments)
    assert (done.returncode, problem in done.stderr) == (2, True), done.stderr


def test_the_comparison_says_the_layout_in_one_line(three: list[Path]) -> None:
    """Though the file lists the servers."""
    first, second, _ = (side(folder) for folder in three)
    assert list(differing_settings(first.results, second.results)) == [
        "layout: host | domain: 5 host names on 2 servers (abc)"]
