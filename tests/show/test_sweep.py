"""Improvement against RTT: the curve, its figure, and the answer to "from which RTT on does TFO matter?"."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from matplotlib.axes import Axes

from harness.analysis.improvement import Improvement, curve, threshold_ms
from harness.analysis.intervals import Interval
from harness.analysis.selection import Selection, select
from harness.bootstrap import ROOT
from harness.files.experiment import write_experiment
from harness.files.pages import sanitise
from harness.files.results import Results, read_results
from harness.show.sweep import draw_sweep, in_words, sweep_lines, worth_a_curve
from tests.support.client_folder import NEWS, POST, add_load, make_client
from tests.support.forked import typed

NEVER, RUNS = "http://never.example/$x$", 6


def point(rtt_ms: float, low: float | None, high: float | None) -> Improvement:
    if low is None or high is None:
        return Improvement("", rtt_ms, None, None, 1.0, 1, None)
    return Improvement("", rtt_ms, None, None, (low + high) / 2, 8, Interval(low, high, 8))


ANSWERS = [
    ([(2, 1, 3), (20, 5, 9)], 2, "at all RTTs measured, from 2 ms on (2 ms: 2.0%, interval 1.0 to 3.0%)"),
    ([(2, -2, 2), (5, -1, 3), (20, 5, 9), (200, 30, 34)], 20,
     "from 20 ms on; no effect can be told from noise at 2, 5 ms (5 ms: 1.0%, interval -1.0 to 3.0%)"),
    ([(2, -2, 2), (200, -1, 3)], None, "not even at 200 ms, the largest RTT measured; "
     "no effect can be told from noise at 2, 200 ms (200 ms: 1.0%, interval -1.0 to 3.0%)"),
    ([(2, 1, 3), (5, -1, 3), (20, 5, 9)], 20,
     "from 20 ms on; no effect can be told from noise at 5 ms (5 ms: 1.0%, interval -1.0 to 3.0%); "
     "all of the interval is above 0, though, at 2 ms (2 ms: 2.0%, interval 1.0 to 3.0%)"),
    ([(2, -6, -2), (5, None, None), (20, 5, 9)], 20,
     "from 20 ms on; TFO made it slower at 2 ms (2 ms: -4.0%, interval -6.0 to -2.0%); "
     "no interval, under 2 pairs of runs, at 5 ms (5 ms: 1.0%)"),
    ([(20, 5, 9), (200, -9, -5)], None, "not even at 200 ms, the largest RTT measured; "
     "all of the interval is above 0, though, at 20 ms (20 ms: 7.0%, interval 5.0 to 9.0%); "
     "TFO made it slower at 200 ms (200 ms: -7.0%, interval -9.0 to -5.0%)"),
    ([(20, 5, 9), (200, None, None)], None, "not known at 200 ms, the largest RTT measured; "
     "all of the interval is above 0, though, at 20 ms (20 ms: 7.0%, interval 5.0 to 9.0%); "
     "no interval, under 2 pairs of runs, at 200 ms (200 ms: 1.0%)"),
    ([(20, 0, 9), (200, 1, 2)], 200,
     "from 200 ms on; no effect can be told from noise at 20 ms (20 ms: 4.5%, interval 0.0 to 9.0%)"),
]


@pytest.mark.parametrize(("bounds", "threshold", "words"), ANSWERS)
def test_from_which_rtt_on(bounds: Sequence[tuple[float, float, float]], threshold: float | None, words: str) -> None:
    points = [point(*point_bounds) for point_bounds in bounds]
    assert threshold_ms(points) == threshold
    assert in_words(points) == words


def swept(client: Path, shares: Mapping[str, Mapping[float, tuple[float, float]]], runs: int = RUNS) -> Results:
    """Make a sweep: for each page and RTT what TFO saves (share of 1000 ms), and by how much runs differ (share)."""
    for rtt_ms in next(iter(shares.values())):
        write_experiment(client, rtt_ms / 2, {"pages": list(shares), "rtt_ms": rtt_ms, "tfo": "both", "http": "1.0"})
        for url, saved in shares.items():
            share, noise = saved[rtt_ms]
            for run in range(runs + 1):
                wobble = 1 + noise * (-1, 0, 1)[run % 3]
                add_load(client, url, rtt_ms / 2, run, 0, 1000 * wobble)
                add_load(client, url, rtt_ms / 2, run, 1, 1000 * (1 - share) / wobble)
    return read_results(client)


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """NEWS gains from 20 ms on, NEVER never."""
    return swept(tmp_path, {NEWS: {2: (0.0, 0.05), 5: (0.01, 0.05), 20: (0.1, 0.001), 200: (0.3, 0.001)},
                            NEVER: dict.fromkeys((2, 5, 20, 200), (0.0, 0.05))})


def selected(results: Results) -> Selection:
    return select(results, "load")


def test_lines_of_a_sweep(results: Results) -> None:
    title, news, never, small_print = sweep_lines(results, selected(results))
    assert title.startswith("From which RTT on does TFO matter?")
    assert news.startswith(f"  {NEWS}: from 20 ms on; no effect can be told from noise at 2, 5 ms (5 ms: 1.0%, ")
    assert never.startswith(f"  {NEVER}: not even at 200 ms, the largest RTT measured; no effect can be told")
    assert small_print.startswith("  Intervals of 6 pairs of runs. By chance one interval in 40")


def test_few_runs_are_called_a_hint(tmp_path: Path) -> None:
    results = swept(tmp_path, {NEWS: dict.fromkeys((2, 20, 200), (0.1, 0.001))}, runs=3)
    assert "  Intervals of 3 pairs of runs; under 5 they are too narrow: take it as a hint" in [
        *sweep_lines(results, selected(results))][-1]


def test_one_run_gives_no_answer(tmp_path: Path) -> None:
    results = swept(tmp_path, {NEWS: dict.fromkeys((2, 20, 200), (0.1, 0.001))}, runs=1)
    assert list(sweep_lines(results, selected(results))) == []
    assert draw_sweep(results, selected(results)).axes


def test_the_curve_is_what_the_table_says(results: Results) -> None:
    points = curve(selected(results), sanitise(NEWS), [200, 2, 20, 5])
    assert [point.rtt_ms for point in points] == [2, 5, 20, 200]
    assert [point.percent for point in points] == pytest.approx([0, 1, 10, 30])
    assert all(point.interval and point.interval.low_percent <= (point.percent or 0) <= point.interval.high_percent
               for point in points)


def test_an_rtt_without_valid_loads_is_no_point(tmp_path: Path) -> None:
    results = swept(tmp_path, {NEWS: dict.fromkeys((2, 20, 200), (0.1, 0.001))}, runs=2)
    for run in (1, 2):
        add_load(tmp_path, NEWS, 10, run, 1, 900, valid=False, why_not=["broken"])
    results = read_results(tmp_path)
    assert [point.rtt_ms for point in curve(selected(results), sanitise(NEWS), results.rtts_ms)] == [2, 200]


@pytest.mark.parametrize(("rtt_ms", "words"), [
    (200, "not known at 200 ms, the largest RTT measured; all of the interval is above 0, though, at 2, 20 ms "),
    (20, "from 200 ms on; all of the interval is above 0, though, at 2 ms ")])
def test_an_rtt_whose_loads_all_failed_is_not_passed_over(tmp_path: Path, rtt_ms: int, words: str) -> None:
    """It said "at all RTTs measured, from 2 ms on" of a row that has no improvement at one of them."""
    swept(tmp_path, {NEWS: dict.fromkeys((2, 20, 200), (0.1, 0.001))})
    for run in range(1, RUNS + 1):
        add_load(tmp_path, NEWS, rtt_ms / 2, run, 1, 900, valid=False, why_not=["broken"])
    results = read_results(tmp_path)
    line = list(sweep_lines(results, selected(results)))[1]
    assert line.startswith(f"  {NEWS}: {words}")
    assert line.endswith(f"; not measured both without and with TFO at {rtt_ms} ms")


def test_the_figure_shows_every_point_with_its_interval(results: Results) -> None:
    figure = draw_sweep(results, selected(results))
    [axes] = figure.axes
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


@pytest.mark.parametrize(("pages", "rtts_ms"), [(4, (20, 21, 22)), (25, (2, 5, 10)), (50, (20, 50, 100))])
def test_many_pages_stay_at_their_rtt_and_look_different(tmp_path: Path, pages: int, rtts_ms: tuple[int, ...]) -> None:
    """Of 50 pages the last one's 50 ms stood at 103 ms, right of the tick of 100; the 8th looked as the first."""
    client = make_client(tmp_path, [rtt_ms / 2 for rtt_ms in rtts_ms], [f"http://{n}.example" for n in range(pages)],
                         runs=2)
    results = read_results(client)
    [axes] = draw_sweep(results, selected(results)).axes
    curves = [line for line in axes.lines if line.get_label() in {f"{n}.example" for n in range(pages)}]
    assert len({(line.get_color(), line.get_marker()) for line in curves}) == min(pages, 49)
    for line in curves:
        drawn: Any = line.get_xdata()
        assert [min(rtts_ms, key=lambda rtt_ms: max(rtt_ms / at, at / rtt_ms)) for at in drawn] == list(rtts_ms)


def drawn_intervals(axes: Axes) -> Any:
    """Return the limits of each page's bars, in order."""
    containers: Any = axes.containers
    return [[tuple(segment[:, 1]) for segment in container[2][0].get_segments()] for container in containers]


def test_an_interval_is_drawn_where_it_lies(tmp_path: Path) -> None:
    """Two runs have no load without TFO that counts: the median with it is of four loads, the interval of two pairs.

    The bar reached from the improvement, 8.5%, to 20%, and the interval is 15% to 20%.
    """
    write_experiment(tmp_path, 10, {"pages": [NEWS], "rtt_ms": 20, "tfo": "both"})
    for run, on_ms in enumerate((990, 980, 850, 800), start=1):
        add_load(tmp_path, NEWS, 10, run, 1, on_ms)
        add_load(tmp_path, NEWS, 10, run, 0, 1000, valid=run > 2, why_not=["late"] if run <= 2 else [])
    for delay_ms in (50, 100):
        for tfo in (0, 1):
            add_load(tmp_path, NEWS, delay_ms, 1, tfo, 1000)
    results = read_results(tmp_path)
    points = curve(selected(results), sanitise(NEWS), results.rtts_ms)
    assert points[0].percent == pytest.approx(8.5)
    assert points[0].errors_percent == pytest.approx((-6.5, 11.5))
    [[limits]] = drawn_intervals(draw_sweep(results, selected(results)).axes[0])
    assert limits == pytest.approx((15, 20))


def test_two_rtts_are_no_curve(tmp_path: Path) -> None:
    two = read_results(make_client(tmp_path / "two", delays_ms=[10, 100], urls=[POST], runs=2))
    three = read_results(make_client(tmp_path / "three", delays_ms=[1, 10, 100], urls=[POST], runs=2))
    assert not worth_a_curve(two, selected(two))
    assert worth_a_curve(three, selected(three))


def test_loads_without_tfo_only_are_no_curve(tmp_path: Path) -> None:
    client = make_client(tmp_path, delays_ms=[1, 10, 100], urls=[POST], runs=2)
    for cell in client.glob("*-tfo-1"):
        shutil.rmtree(cell)
    results = read_results(client)
    assert not worth_a_curve(results, selected(results))


def test_plot_writes_the_figure_and_says_the_answer(results: Results, tmp_path: Path) -> None:
    done = typed(ROOT / "plot.py", "--clientdir", results.clientdir, "--outputdir", tmp_path / "figures",
                 "--format", "svg", "--detail")
    assert done.returncode == 0, done.stderr
    assert f"{NEWS}: from 20 ms on; " in (tmp_path / "figures" / "report.html").read_text()
    assert f"\n  {NEWS}: from 20 ms on; " in done.stdout
    assert (tmp_path / "figures" / "improvement-vs-rtt.svg").read_text().startswith("<?xml")
