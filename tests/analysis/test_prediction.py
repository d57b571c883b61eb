"""The table of predictions and the figure of the breakdown, from made loads."""

from itertools import pairwise
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from harness.analysis.prediction import predict
from harness.analysis.selection import Selection, select
from harness.files.results import Results, read_results
from harness.show.breakdown_figure import STYLES, breakdown_path, draw_breakdown
from harness.show.prediction import COLUMNS, OF_LOAD_EVENT, prediction_lines
from tests.support.made_har import PAGE, MadeLoad, chain

OLD = Path(__file__).parent.parent / "data" / "2013"
NAME = "httppage.test"


def measured(clientdir: Path, runs: int = 3, rtt_ms: float = 100) -> tuple[Results, Selection]:
    """Write loads of a chain of 3 hosts: run r without TFO is r ms slower, with TFO r x 2 ms; run 0 is the warm-up."""
    for run in range(runs + 1):
        for tfo in (0, 1):
            load = chain(3, connect=0 if tfo else rtt_ms)
            load.plt_ms += run * (1 + tfo) if run else 5000
            load.write(clientdir, rtt_ms=rtt_ms, run=run, tfo=tfo)
    results = read_results(clientdir)
    return results, select(results, "load")


def test_the_prediction_comes_from_loads_without_tfo_alone(tmp_path: Path) -> None:
    _, selection = measured(tmp_path)
    prediction = predict(selection, NAME, 100)
    assert prediction is not None
    assert (prediction.loads, prediction.handshakes) == (3, (3, 3))
    assert prediction.off_ms == pytest.approx(3 + 3 * 207 + 2)
    assert prediction.predicted_ms == prediction.simple_ms == pytest.approx(prediction.off_ms - 300)
    assert prediction.measured_ms == pytest.approx(3 + 3 * 107 + 4)
    assert prediction.difference_percent(prediction.predicted_ms) == pytest.approx(-2 / 328 * 100)
    for path in tmp_path.glob("*-tfo-1/*"):
        path.unlink()
    alone = predict(select(read_results(tmp_path), "load"), NAME, 100)
    assert alone is not None
    assert (alone.predicted_ms, alone.measured_ms) == (prediction.predicted_ms, None)


def test_the_table(tmp_path: Path) -> None:
    lines = list(prediction_lines(*measured(tmp_path)))
    assert lines[:3] == ["\t".join(["Page", *COLUMNS]), NAME, "\t100\t0.626\t3\t0.326\t0.328\t-0.6%"]
    assert "Off by 0.6% on average, 0.6% at most, over 1 cells" in lines[-1]


def test_by_another_metric_it_says_which_plt_it_means(tmp_path: Path) -> None:
    """The other tables then end PLT with the last transaction, under the same head."""
    results, selection = measured(tmp_path)
    assert OF_LOAD_EVENT not in list(prediction_lines(results, selection))
    by_last = list(prediction_lines(results, select(results, "last")))
    assert OF_LOAD_EVENT in by_last
    assert by_last[:3] == list(prediction_lines(results, selection))[:3]


def test_handshakes_that_differ_between_loads_are_a_range(tmp_path: Path) -> None:
    measured(tmp_path)
    chain(5).write(tmp_path, run=2)
    results = read_results(tmp_path)
    assert "\t3 to 5\t" in list(prediction_lines(results, select(results, "load")))[2]


def test_nothing_to_predict_from() -> None:
    results = read_results(OLD)
    lines = list(prediction_lines(results, select(results, "load")))
    assert lines[2].split("\t")[2:] == ["-"] * 5
    assert lines[-1].startswith("No prediction")


def bars(figure: Figure) -> list[list[Rectangle]]:
    return [[patch for patch in container if isinstance(patch, Rectangle)] for container in figure.axes[0].containers]


def test_the_figure_stacks_the_breakdown_of_the_median_loads(tmp_path: Path) -> None:
    for rtt_ms in (20, 100):
        results, selection = measured(tmp_path, rtt_ms=rtt_ms)
    figure = draw_breakdown(results, selection, NAME)
    assert figure is not None
    stacks = bars(figure)
    assert {len(stack) for stack in stacks} == {4}, "two RTTs, without and with TFO"
    ends = [round(sum(stack[place].get_width() for stack in stacks)) for place in range(4)]
    assert ends == [386, 328, 626, 328]
    words = [text.get_text().strip() for text in figure.axes[0].texts]
    assert words[2:] == ["0.626 s, 3 handshakes", "0.328 s, 0 handshakes"]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()][2:] == ["100 ms, TFO off", "100 ms, TFO on"]
    figure.savefig(breakdown_path(tmp_path, "page"))
    assert (tmp_path / "breakdown-page.png").read_bytes().startswith(b"\x89PNG")


def test_the_parts_of_a_bar_can_be_told_apart_without_colour() -> None:
    """Neighbours in a stack differ in lightness by 20 of 100 (CIE L*) or in hatching."""
    shown = [style for kind, style in STYLES.items() if kind != "queue"]
    for style, following in pairwise(shown):
        assert abs(lightness(style.face) - lightness(following.face)) > 20 or style.hatch != following.hatch


def lightness(colour: str) -> float:
    """CIE 1976 L* of an sRGB colour, https://www.w3.org/TR/WCAG22/#dfn-relative-luminance for its luminance."""
    parts = [int(colour[at:at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return float(116 * luminance ** (1 / 3) - 16)


def test_a_queue_is_drawn_when_there_is_one(tmp_path: Path) -> None:
    load = MadeLoad(0.0)
    load.add(PAGE, 0, "document", referer="")
    load.plt_ms = load.add(f"{PAGE}1.gif", 202, "image", queue=300)
    load.write(tmp_path)
    results = read_results(tmp_path)
    figure = draw_breakdown(results, select(results, "load"), NAME)
    assert figure is not None
    assert STYLES["queue"].label in figure.axes[0].get_legend_handles_labels()[1]
    assert draw_breakdown(read_results(OLD), select(read_results(OLD), "load"), "httpwww.news.example") is None
