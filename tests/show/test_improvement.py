"""The figure of improvement against RTT: curves, their intervals, and when there is one."""

from pathlib import Path
from typing import Any

import pytest
from matplotlib.axes import Axes

from harness.bootstrap import ROOT
from harness.files.experiment import write_experiment
from harness.show.improvement import draw_improvement, worth_a_curve
from tests.support.client_folder import NEWS, POST, add_load, make_client, selected
from tests.support.forked import typed

NEVER = "http://never.example/$x$"


def drawn_intervals(axes: Axes) -> Any:
    """Return the limits of each page's bars, in order."""
    containers: Any = axes.containers
    return [[tuple(segment[:, 1]) for segment in container[2][0].get_segments()] for container in containers]


def swept(client: Path) -> Path:
    """Make six runs at four RTTs. NEWS gains 0, 1, 10 and 30 percent, NEVER nothing; where it is nothing, runs vary."""
    for rtt_ms, share, noise in ((2, 0.0, 0.05), (5, 0.01, 0.05), (20, 0.1, 0.001), (200, 0.3, 0.001)):
        write_experiment(client, rtt_ms / 2, {"pages": [NEWS, NEVER], "rtt_ms": rtt_ms, "tfo": "both", "http": "1.0"})
        for run in range(1, 7):
            for url, saved, varies in ((NEWS, share, noise), (NEVER, 0.0, 0.05)):
                wobble = 1 + varies * (-1, 0, 1)[run % 3]
                add_load(client, url, rtt_ms / 2, run, 0, 1000 * wobble)
                add_load(client, url, rtt_ms / 2, run, 1, 1000 * (1 - saved) / wobble)
    return client


def test_the_figure_shows_every_point_with_its_interval(tmp_path: Path) -> None:
    [axes] = draw_improvement(selected(swept(tmp_path))).axes
    assert axes.get_xscale() == "log"
    assert [label.get_text() for label in axes.get_xticklabels()] == ["2", "5", "20", "200"]
    texts = [text.get_text() for text in axes.get_legend().get_texts()]  # type: ignore[union-attr]
    assert texts == ["www.news.example", "never.example/$x$"]
    _, news, never = (line for line in axes.lines if line.get_marker() not in ("|", "_"))
    points: Any = [line.get_xydata() for line in (news, never)]
    (news_rtts, news_percents), (never_rtts, _) = ([*zip(*of_page, strict=True)] for of_page in points)
    assert news_rtts == pytest.approx([2, 5, 20, 200], rel=0.02)
    assert all(left < right for left, right in zip(news_rtts, never_rtts, strict=True))
    assert news_percents == pytest.approx([0, 1, 10, 30])
    low, high = drawn_intervals(axes)[1][0]
    assert low < 0 < high
    assert {line.get_marker() for line in (news, never)} == {"o", "s"}


@pytest.mark.parametrize(("pages", "rtts_ms"), [(4, (20, 21, 22)), (50, (20, 50, 100))])
def test_many_pages_stay_at_their_rtt_and_look_different(tmp_path: Path, pages: int, rtts_ms: tuple[int, ...]) -> None:
    """Of 50 pages the last one's 50 ms stood at 103 ms, right of the tick of 100; the 8th looked as the first."""
    client = make_client(tmp_path, [rtt_ms / 2 for rtt_ms in rtts_ms], [f"http://{n}.example" for n in range(pages)],
                         runs=2)
    [axes] = draw_improvement(selected(client)).axes
    curves = [line for line in axes.lines if line.get_label() in {f"{n}.example" for n in range(pages)}]
    assert len({(line.get_color(), line.get_marker()) for line in curves}) == min(pages, 49)
    for line in curves:
        drawn: Any = line.get_xdata()
        assert [min(rtts_ms, key=lambda rtt_ms: max(rtt_ms / at, at / rtt_ms)) for at in drawn] == list(rtts_ms)


def test_an_interval_is_drawn_where_it_lies(tmp_path: Path) -> None:
    """Two runs have no load without TFO that counts: the median with it is of four loads, the interval of two pairs.

    The bar reached from the improvement, 8.5%, to 20%, and the interval is 15% to 20%.
    """
    for run, on_ms in enumerate((990, 980, 850, 800), start=1):
        add_load(tmp_path, NEWS, 10, run, 1, on_ms)
        add_load(tmp_path, NEWS, 10, run, 0, 1000, valid=run > 2, why_not=["late"] if run <= 2 else [])
    for delay_ms in (50, 100):
        for tfo in (0, 1):
            add_load(tmp_path, NEWS, delay_ms, 1, tfo, 1000)
    selection = selected(tmp_path)
    assert selection.rows[0].percent == pytest.approx(8.5)
    [[limits]] = drawn_intervals(draw_improvement(selection).axes[0])
    assert limits == pytest.approx((15, 20))


@pytest.mark.parametrize(("delays_ms", "tfos", "worth"), [
    ([10, 100], (0, 1), False), ([1, 10, 100], (0, 1), True), ([1, 10, 100], (0,), False)])
def test_when_there_is_a_curve(tmp_path: Path, delays_ms: list[float], tfos: tuple[int, ...], *, worth: bool) -> None:
    for delay_ms in delays_ms:
        for tfo in tfos:
            add_load(tmp_path, POST, delay_ms, 1, tfo, 1000)
    assert worth_a_curve(selected(tmp_path)) == worth


def test_plot_writes_the_figure_and_says_the_answer(tmp_path: Path) -> None:
    done = typed(ROOT / "plot.py", "--clientdir", swept(tmp_path / "client"), "--outputdir", tmp_path / "figures",
                 "--format", "svg", "--detail", status=0)
    assert f"{NEWS}: from 20 ms on" in (tmp_path / "figures" / "report.html").read_text()
    assert f"\n{NEWS}: from 20 ms on\n" in done.stdout
    assert (tmp_path / "figures" / "improvement-vs-rtt.svg").read_text().startswith("<?xml")
