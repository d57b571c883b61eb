"""What is predicted of a row, its table, and the figure of the breakdown, from made loads."""

from itertools import pairwise
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from harness.analysis.selection import Selection
from harness.show.breakdown import STYLES, draw_breakdown
from harness.show.prediction import OF_LOAD_EVENT, UNPREDICTED, prediction_section
from harness.show.section import section_lines
from tests.support.client_folder import selected
from tests.support.made_har import PAGE, MadeLoad, chain

OLD = Path(__file__).parent.parent / "data" / "2013"
NAME = "httppage.test"


def measured(clientdir: Path, rtt_ms: float = 100) -> Selection:
    """Write loads of a chain of 3 hosts: run r without TFO is r ms slower, with TFO r x 2 ms; run 0 is the warm-up."""
    for run in range(4):
        for tfo in (0, 1):
            load = chain(3, connect=0 if tfo else rtt_ms)
            load.plt_ms += run * (1 + tfo) if run else 5000
            load.write(clientdir, rtt_ms=rtt_ms, run=run, tfo=tfo)
    return selected(clientdir)


def test_the_prediction_comes_from_loads_without_tfo_alone(tmp_path: Path) -> None:
    prediction = measured(tmp_path).by_place[NAME, 100].prediction
    assert prediction is not None
    assert (prediction.loads, prediction.handshakes) == (3, (3, 3))
    assert prediction.off_ms == pytest.approx(3 + 3 * 207 + 2)
    assert prediction.predicted_ms == prediction.simple_ms == pytest.approx(prediction.off_ms - 300)
    assert prediction.measured_ms == pytest.approx(3 + 3 * 107 + 4)
    assert prediction.difference_percent(prediction.predicted_ms) == pytest.approx(-2 / 328 * 100)
    for path in tmp_path.glob("*-tfo-1/*"):
        path.unlink()
    alone = selected(tmp_path).by_place[NAME, 100].prediction
    assert alone is not None
    assert (alone.predicted_ms, alone.measured_ms) == (prediction.predicted_ms, None)


def test_the_table(tmp_path: Path) -> None:
    """By another metric it says which PLT it means: the other tables then have another one, under the same head."""
    lines = list(section_lines(prediction_section(measured(tmp_path))))
    assert lines[1:3] == [PAGE, "\t100\t0.626\t3\t0.326\t0.328\t-0.6%"]
    assert lines[-1].startswith("Off by 0.6% on average, 0.6% at most, over 1 cells")
    by_last = list(section_lines(prediction_section(selected(tmp_path, "last"))))
    assert (OF_LOAD_EVENT in lines, OF_LOAD_EVENT in by_last, by_last[:3]) == (False, True, lines[:3])
    chain(5).write(tmp_path, run=2)
    assert "\t3 to 5\t" in list(section_lines(prediction_section(selected(tmp_path))))[2]


def test_nothing_to_predict_from() -> None:
    assert list(section_lines(prediction_section(selected(OLD)))) == [UNPREDICTED]
    assert draw_breakdown(selected(OLD).rows) is None


def stacks_of(figure: Figure) -> list[list[Rectangle]]:
    return [[patch for patch in container if isinstance(patch, Rectangle)] for container in figure.axes[0].containers]


def test_the_figure_stacks_the_breakdown_of_the_median_loads(tmp_path: Path) -> None:
    measured(tmp_path, rtt_ms=20)
    figure = draw_breakdown(measured(tmp_path).of_page(NAME))
    assert figure is not None
    stacks = stacks_of(figure)
    assert {len(stack) for stack in stacks} == {4}, "two RTTs, without and with TFO"
    assert [round(sum(stack[place].get_width() for stack in stacks)) for place in range(4)] == [386, 328, 626, 328]
    words = [text.get_text().strip() for text in figure.axes[0].texts]
    assert words[2:] == ["0.626 s, 3 handshakes", "0.328 s, 0 handshakes"]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()][2:] == ["100 ms, TFO off", "100 ms, TFO on"]


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
    figure = draw_breakdown(selected(tmp_path).rows)
    assert figure is not None
    assert STYLES["queue"].label in figure.axes[0].get_legend_handles_labels()[1]
