"""What a figure shows, read back from the figure itself."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.patches import Rectangle

from harness.analysis.selection import Cell, select
from harness.analysis.shown import shown_load
from harness.errors import InputError
from harness.files.pages import sanitise
from harness.files.results import read_results
from harness.files.text_log import Transaction
from harness.show.labels import figure_names
from harness.show.requests_figure import (
    FACES,
    draw_figure,
    figure_path,
    pair_requests,
    save_figure,
)
from tests.support.client_folder import NEWS, POST, add_load, make_client

OLD = Path(__file__).parent.parent / "data" / "2013"
PAGE = "httpwww.news.example"


def draw(client: Path, page: str = PAGE, rtt_ms: float = 20, metric: str = "load") -> Figure:
    results = read_results(client)
    figure = draw_figure(results, select(results, metric), page, rtt_ms)
    assert figure is not None
    figure.canvas.draw()
    return figure


def bars(figure: Figure) -> dict[str, list[Rectangle]]:
    containers = [container for container in figure.axes[0].containers if isinstance(container, BarContainer)]
    return {str(container.get_label()): list(container.patches) for container in containers}


def test_bars_lie_where_the_log_says(tmp_path: Path) -> None:
    drawn = bars(draw(make_client(tmp_path, delays_ms=[10], urls=[NEWS])))
    assert list(drawn) == ["TFO off", "TFO on"]
    for name, median_ms in (("TFO off", 1062), ("TFO on", 1042)):
        step_ms = (median_ms + 100 - 50) / 4
        assert [bar.get_x() for bar in drawn[name]] == pytest.approx([step_ms * index for index in range(5)], abs=0.001)
        assert [bar.get_width() for bar in drawn[name]] == pytest.approx([50] * 5, abs=0.001)
        assert [bar.get_y() + bar.get_height() / 2 for bar in drawn[name]] == pytest.approx([1, 2, 3, 4, 5])


def test_tfo_on_is_in_front_at_three_quarters_of_the_height(tmp_path: Path) -> None:
    drawn = bars(draw(make_client(tmp_path, delays_ms=[10], urls=[NEWS])))
    off, on = drawn["TFO off"][0], drawn["TFO on"][0]
    assert on.get_height() == pytest.approx(0.75 * off.get_height())
    assert on.get_zorder() > off.get_zorder()


def test_colours_differ_in_lightness() -> None:
    light, dark = (0.2126 * red + 0.7152 * green + 0.0722 * blue for red, green, blue in map(to_rgb, FACES))
    assert light - dark > 0.4


def test_title_axes_and_request_1_on_top(tmp_path: Path) -> None:
    figure = draw(make_client(tmp_path, delays_ms=[10], urls=[NEWS]))
    axes = figure.axes[0]
    assert figure.get_suptitle() == f"TFO Timing Breakdown: {NEWS} at 20 ms RTT"
    assert axes.get_xlabel().endswith("(ms)")
    assert axes.get_ylabel() == "Request index"
    assert axes.get_ylim()[0] > axes.get_ylim()[1]
    assert axes.get_xlim()[0] == 0


def test_lines_at_both_load_events(tmp_path: Path) -> None:
    figure = draw(make_client(tmp_path, delays_ms=[10], urls=[NEWS]))
    lines = figure.axes[0].lines
    assert [float(line.get_xdata()[0]) for line in lines] == [1062, 1042]      # type: ignore[index,arg-type]
    assert len({line.get_linestyle() for line in lines}) == 2
    legend = figure.axes[0].get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [
        "TFO off", "TFO on", "Load event, TFO off (1.062 s)", "Load event, TFO on (1.042 s)"]


@pytest.mark.parametrize("requests", [1, 5, 30, 133, 400])
def test_legend_is_outside_and_everything_inside_the_picture(tmp_path: Path, requests: int) -> None:
    for tfo in (0, 1):
        add_load(tmp_path, NEWS, 10, 1, tfo, 1000, requests=requests)
    figure = draw(tmp_path)
    axes = figure.axes[0]
    legend = axes.get_legend()
    assert legend is not None
    assert not legend.get_window_extent().overlaps(axes.get_window_extent())
    assert figure.get_size_inches()[1] <= 14
    whole = figure.get_tightbbox()
    assert whole.x0 >= 0
    assert whole.x1 <= figure.get_size_inches()[0]
    ticks = [label.get_window_extent() for label in axes.get_yticklabels()]
    assert not any(tick.overlaps(other) for tick, other in pairwise(ticks))
    bar_pixels = axes.get_window_extent().height / requests
    assert bar_pixels > 2


def test_the_median_run_is_drawn(tmp_path: Path) -> None:
    for run, plt_ms in enumerate((5000, 900, 1100, 1000, 3000)):
        add_load(tmp_path, NEWS, 10, run, 0, plt_ms)
    drawn = shown_load(select(read_results(tmp_path), "load"), Cell(PAGE, 20, 0))
    assert drawn is not None
    assert (drawn.load.run, drawn.plt_ms, drawn.loads) == (3, 1000, 4)      # of four the lower middle one
    small_print = draw(tmp_path).get_supxlabel()
    assert "TFO off: run 3, the lower of the middle two of 4 loads, 5 requests. TFO on: no load to draw" in small_print
    assert small_print.endswith("\nIndex: order of start."), "there is nothing beside which a bar could be alone"


def test_a_lone_bar_need_not_be_requested_in_one_load_only(tmp_path: Path) -> None:
    """The text log leaves out what was not over, as a poll: it was "requested in that load only"."""
    small_print = draw(make_client(tmp_path, delays_ms=[10], urls=[NEWS])).get_supxlabel()
    assert "a lone bar is what the other load did not request, or not get to its end." in small_print


def test_loads_with_tfo_alone_are_in_the_order_of_their_own_start(tmp_path: Path) -> None:
    add_load(tmp_path, NEWS, 10, 1, 1, 1000)
    assert "without TFO" not in draw(tmp_path).get_supxlabel()


def test_pages_of_another_rtt_do_not_make_these_synthetic(tmp_path: Path) -> None:
    """tfo.py typed for each RTT: --name Paper at 20 ms, --name Paper2013, the real pages, at 100 ms."""
    make_client(tmp_path, delays_ms=[10], urls=[NEWS], runs=2)
    make_client(tmp_path, delays_ms=[50], urls=[NEWS], runs=2, name="Paper2013", synthetic=False)
    assert draw(tmp_path).get_supxlabel().endswith(" Pages: synthetic.")
    assert "synthetic" not in draw(tmp_path, rtt_ms=100).get_supxlabel()


def test_a_load_without_its_log_cannot_be_drawn(tmp_path: Path) -> None:
    add_load(tmp_path, NEWS, 10, 1, 0, 1000)
    (tmp_path / "10-1-tfo-0" / PAGE).unlink()
    results = read_results(tmp_path)
    assert draw_figure(results, select(results, "load"), PAGE, 20) is None


def test_old_logs_have_bars_and_no_lines() -> None:
    figure = draw(OLD)
    assert {name: len(found) for name, found in bars(figure).items()} == {"TFO off": 12, "TFO on": 12}
    assert list(figure.axes[0].lines) == []
    assert "run 0, the only load" in figure.get_supxlabel()


def test_a_url_is_not_taken_for_a_formula(tmp_path: Path) -> None:
    url = "http://a.org/$x^2$/_{1}?" + "q" * 150
    add_load(tmp_path, url, 10, 1, 0, 1000)
    figure = draw(tmp_path, page=next(iter(read_results(tmp_path).urls)))
    assert url in figure.get_suptitle().replace("\n", "")
    width = figure.get_size_inches()[0] * figure.dpi
    assert 0 < figure.texts[0].get_window_extent().x0 < figure.texts[0].get_window_extent().x1 < width


def test_names_of_figures() -> None:
    assert figure_names({PAGE: NEWS, "httpblog.example2013post": POST}) == {
        PAGE: "www.news.example", "httpblog.example2013post": "blog.example2013post"}
    assert figure_names({"httpwww.x.org": "httpwww.x.org"}) == {"httpwww.x.org": "www.x.org"}     # crashed: URL unknown
    assert figure_names({"httpa.org": "http://a.org", "httpsa.org": "https://a.org"}) == {
        "httpa.org": "httpa.org", "httpsa.org": "httpsa.org"}
    assert figure_path(Path("out"), "www.x.org", 20.0) == Path("out/timing-www.x.org-20.png")


@given(st.lists(st.from_regex(r"https?://(https?){0,2}a\.org", fullmatch=True), unique=True))
def test_no_two_pages_share_the_name_of_a_figure(urls: list[str]) -> None:
    """The short name of http://httpa.org is the full one of http://a.org."""
    pages = {sanitise(url): url for url in urls}
    assert len(set(figure_names(pages).values())) == len(pages)


def test_saved_figures_are_pngs_and_replace_old_ones(tmp_path: Path) -> None:
    figure = draw(make_client(tmp_path / "client", delays_ms=[10], urls=[NEWS]))
    path = tmp_path / "figures" / "timing-x-20.png"
    save_figure(figure, path)
    first = imread(path)
    save_figure(figure, path)
    assert imread(path).shape == first.shape
    assert first[..., :3].min() < 0.5 < first[..., :3].max()
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]
    with pytest.raises(InputError, match="choose another --outputdir"):
        save_figure(figure, path / "below-a-file.png")


@pytest.mark.parametrize(("ending", "begins"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_each_format_is_what_its_name_says_and_the_same_each_time(tmp_path: Path, ending: str, begins: bytes) -> None:
    client = make_client(tmp_path / "client", delays_ms=[10], urls=[NEWS])
    first, again = (figure_path(tmp_path, name, 20, ending) for name in ("first", "again"))
    for path in (first, again):
        save_figure(draw(client), path)
    assert first.name == f"timing-first-20.{ending}"
    assert first.read_bytes().startswith(begins)
    assert first.read_bytes() == again.read_bytes()
    assert not any(word in first.read_bytes() for word in (b"CreationDate", b"<dc:date>"))


requests = st.lists(st.builds(lambda start, length, url: Transaction(start, start + length, url),
                              st.floats(0, 1000), st.floats(0, 1000), st.sampled_from("abcde")), max_size=12)


def test_pairs_are_the_same_url_in_the_order_without_tfo() -> None:
    a, b, c = Transaction(0, 9, "a"), Transaction(1, 5, "b"), Transaction(2, 4, "c")
    on_a, on_c, on_d = Transaction(0, 3, "a"), Transaction(1, 2, "c"), Transaction(1, 3, "d")
    assert pair_requests([c, b, a], [on_d, on_c, on_a]) == [(a, on_a), (b, None), (c, on_c), (None, on_d)]
    again, on_again = Transaction(3, 9, "a"), Transaction(4, 9, "a")
    assert pair_requests([a, again], [on_again, on_a]) == [(a, on_a), (again, on_again)], "the second with the second"


@given(off=requests, on=requests)
def test_pairing_loses_nothing_and_pairs_what_it_can(off: list[Transaction], on: list[Transaction]) -> None:
    pairs = pair_requests(off, on)
    lefts = [left for left, _ in pairs if left]
    assert lefts == sorted(off, key=lambda request: (request.start_ms, request.end_ms))
    assert sorted(map(repr, on)) == sorted(repr(right) for _, right in pairs if right)
    assert all(left.url == right.url for left, right in pairs if left and right)
    lone_off = {left.url for left, right in pairs if left and not right}
    lone_on = {right.url for left, right in pairs if right and not left}
    assert not lone_off & lone_on
