"""Folders of results side by side: rows, table, figure, what differs besides, and the program."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from matplotlib.patches import Rectangle

from harness.bootstrap import ROOT
from harness.files.experiment import write_experiment
from harness.show.comparison import draw_side_by_side, own_names, side_by_side_lines, side_by_side_rows
from tests.support.client_folder import NEWS, POST, add_load, make_client, selected
from tests.support.forked import typed
from tests.support.ran import assert_refused

PROGRAM = ROOT / "experiments" / "side_by_side.py"


def results(folder: Path, servers: int, plts_ms: tuple[float, float] = (1000, 800), url: str = NEWS) -> Path:
    """Make results of one page at 200 ms: 10 connections to so many servers, and these page load times."""
    make_client(folder / "client", [100], [url], runs=0)
    for run in (1, 2, 3):
        for tfo, plt_ms in enumerate(plts_ms):
            connections = [{"id": number, "address": f"10.0.0.{number % servers + 2}:8000", "start_ms": 0.0,
                            "connect_ms": 200.0, "requests": 1} for number in range(10)]
            add_load(folder / "client", url, 100, run, tfo, plt_ms + run, connections=connections,
                     connections_with_request=10)
    return folder / "client"


def test_each_folder_is_a_row_and_a_bar_http_and_https_together(tmp_path: Path) -> None:
    rows = side_by_side_rows([*map(selected, (
        results(tmp_path / "a", 5), results(tmp_path / "b", 2),
        results(tmp_path / "c", 1, (900, 850), NEWS.replace("http", "https"))))])
    assert list(side_by_side_lines(rows))[1:5] == [
        "www.news.example",
        "\t200\t3, 3\t5\t10\t-\t1.002\t0.802\t0.200\t19.96%\t19.94%\t19.98%\ta",
        "\t200\t3, 3\t2\t10\t-\t1.002\t0.802\t0.200\t19.96%\t19.94%\t19.98%\tb",
        "\t200\t3, 3\t1\t10\t-\t0.902\t0.852\t0.050\t5.54%\t5.54%\t5.55%\tc"]
    assert [[round(bar.get_height()) for bar in axes.patches if isinstance(bar, Rectangle)]
            for axes in draw_side_by_side(rows).axes] == [[10, 10, 10], [], [20, 20, 6]]     # no HAR, no handshakes


def test_each_of_many_bars_looks_like_no_other_and_no_names_overlap(tmp_path: Path) -> None:
    """run.sh's four pages at its RTTs, one of which is as recorded, in eight folders."""
    urls = ["http://www.amazon.com", "http://www.nytimes.com", "http://www.wsj.com",
            "http://en.wikipedia.org/wiki/Transmission_Control_Protocol"]
    make_client(tmp_path / "client", [10, 50], urls, runs=2)
    make_client(tmp_path / "client", [100], urls, runs=2, server_rtts_ms={"a.test": 30, "b.test": 300})
    figure = draw_side_by_side([replace(row, name=f"results-{number}") for number in range(8)
                                for row in side_by_side_rows([selected(tmp_path / "client")])])
    figure.canvas.draw()
    improved = figure.axes[-1]
    assert len({(bar.get_facecolor(), bar.get_hatch()) for bar in improved.patches}) == 8
    assert [label.get_text().split("\n")[-1] for label in improved.get_xticklabels()] == [
        "20 ms", "100 ms", "30-300 ms"] * 4
    legend = figure.axes[0].get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [f"results-{number}" for number in range(8)]
    boxes = [label.get_window_extent() for label in improved.get_xticklabels()]
    assert not any(left.overlaps(right) for left, right in pairwise(boxes))


def test_folders_of_the_same_name_are_told_apart(tmp_path: Path) -> None:
    """Of two client/ the rows had one name, and the figure drew the bars of both in one place."""
    paths = [tmp_path / name for name in ("mine/x/client", "yours/x/client", "yours/y")]
    assert own_names(paths) == [f"{tmp_path}/mine/x", f"{tmp_path}/yours/x", f"{tmp_path}/yours/y"]
    assert own_names(paths[1:]) == ["x", "y"]


def test_the_program(tmp_path: Path) -> None:
    whole, part = (make_client(tmp_path / name, delays_ms) for name, delays_ms in (("whole", [10, 50]), ("part", [50])))
    figure = tmp_path / "new" / "beside.png"
    done = typed(PROGRAM, whole, part, "--output", figure)
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert (done.returncode, done.stdout.count("\twhole\n"), done.stdout.count("\tpart\n")) == (0, 4, 2)
    write_experiment(part, 50, {"name": "Paper", "pages": [NEWS, POST, "http://c.test"], "http": "1.0", "tfo": "both"})
    done = typed(PROGRAM, whole, part)
    assert (done.returncode, "\t0, 0\t-\t-\t-\t-\t-\t-\t-\t-\t-" in done.stdout) == (1, True)
    for wrong in ((tmp_path / "nowhere",), (whole, "--output", "beside.doc"), (whole, "--output", figure / "x.png")):
        assert_refused(typed(PROGRAM, *wrong))
