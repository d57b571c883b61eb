"""What the figure of the requests shows, read back from the figure itself, and what stands beside a request."""

import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from harness.analysis.shown import PHASES, ShownRequest, shown_load
from harness.bootstrap import ROOT
from harness.errors import InputError
from harness.files.exchange import UNFINISHED
from harness.files.load_parts import ReceivedAnswer, ReceivedAnswers
from harness.files.pages import sanitise
from harness.files.results import LoadResult, write_load
from harness.files.text_log import PageLog, Transaction, format_log
from harness.show.figures import save_figure
from harness.show.labels import figure_names
from harness.show.waterfall import FACES, draw_requests, figure_path, pair_requests
from tests.support.client_folder import NEWS, POST, add_load, make_client, selected
from tests.support.made_har import PAGE, MadeLoad
from tests.support.ran import ran

NEWS_PAGE, POLL = "httpwww.news.example", "http://poll.test/"


def draw(client: Path, page: str = NEWS_PAGE, rtt_ms: float = 20) -> Figure:
    figure = draw_requests(selected(client).by_place[page, rtt_ms])
    assert figure is not None
    figure.canvas.draw()
    return figure


def bars(figure: Figure) -> dict[str, list[Rectangle]]:
    containers = [container for container in figure.axes[0].containers if isinstance(container, BarContainer)]
    return {str(container.get_label()): list(container.patches) for container in containers}


def test_what_is_drawn_where(tmp_path: Path) -> None:
    """Bars lie where the log says; TFO is in front, at 3/4 of the height; lines are at both load events."""
    figure = draw(make_client(tmp_path, delays_ms=[10], urls=[NEWS]))
    drawn, [axes] = bars(figure), figure.axes
    for name, median_ms in (("TFO off", 1062), ("TFO on", 1042)):
        step_ms = (median_ms + 100 - 50) / 4
        assert [bar.get_x() for bar in drawn[name]] == pytest.approx([step_ms * index for index in range(5)], abs=0.001)
        assert [bar.get_width() for bar in drawn[name]] == pytest.approx([50] * 5, abs=0.001)
        assert [bar.get_y() + bar.get_height() / 2 for bar in drawn[name]] == pytest.approx([1, 2, 3, 4, 5])
    off, on = drawn["TFO off"][0], drawn["TFO on"][0]
    assert on.get_height() == pytest.approx(0.75 * off.get_height())
    assert on.get_zorder() > off.get_zorder()
    assert figure.get_suptitle() == f"TFO Timing Breakdown: {NEWS} at 20 ms RTT"
    assert axes.get_ylim()[0] > axes.get_ylim()[1], "request 1 is on top"
    assert axes.get_xlim()[0] == 0
    assert [float(line.get_xdata()[0]) for line in axes.lines] == [1062, 1042]      # type: ignore[index,arg-type]
    assert len({line.get_linestyle() for line in axes.lines}) == 2
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [  # type: ignore[union-attr]
        "Load event, TFO off (1.062 s)", "Load event, TFO on (1.042 s)", "TFO off", "TFO on"]


def test_colours_differ_in_lightness() -> None:
    light, dark = (0.2126 * red + 0.7152 * green + 0.0722 * blue for red, green, blue in map(to_rgb, FACES))
    assert light - dark > 0.4


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
    assert axes.get_window_extent().height / requests > 2       # pixels of a bar


def test_the_small_print_says_which_loads_and_what_a_lone_bar_is(tmp_path: Path) -> None:
    for run, plt_ms in enumerate((5000, 900, 1100, 1000, 3000)):
        add_load(tmp_path, NEWS, 10, run, 0, plt_ms)
    one = draw(tmp_path).get_supxlabel()
    assert "TFO off: run 3, the lower median of 4 loads, 5 requests, load event after 1.000 s" in one
    assert "TFO on: no load to draw" in one
    assert one.endswith("\nIndex: order of start."), "there is nothing beside which a bar could be alone"
    both = draw(make_client(tmp_path / "both", delays_ms=[10], urls=[NEWS])).get_supxlabel()
    assert "a lone bar is what the other load did not request, or not get to its end." in both


def test_pages_of_another_rtt_do_not_make_these_synthetic(tmp_path: Path) -> None:
    """tfo.py typed for each RTT: --name Paper at 20 ms, --name Paper2013, the real pages, at 100 ms."""
    make_client(tmp_path, delays_ms=[10], urls=[NEWS], runs=2)
    make_client(tmp_path, delays_ms=[50], urls=[NEWS], runs=2, name="Paper2013", synthetic=False)
    assert ["synthetic" in draw(tmp_path, rtt_ms=rtt_ms).get_supxlabel() for rtt_ms in (20, 100)] == [True, False]


def test_a_url_is_not_taken_for_a_formula(tmp_path: Path) -> None:
    url = "http://a.org/$x^2$/_{1}?" + "q" * 150
    add_load(tmp_path, url, 10, 1, 0, 1000)
    figure = draw(tmp_path, page=sanitise(url))
    assert url in figure.get_suptitle().replace("\n", "")
    width = figure.get_size_inches()[0] * figure.dpi
    assert 0 < figure.texts[0].get_window_extent().x0 < figure.texts[0].get_window_extent().x1 < width


@pytest.mark.parametrize(("urls", "names"), [
    ({NEWS_PAGE: NEWS, "httpblog.example2013post": POST}, ["www.news.example", "blog.example2013post"]),
    ({"httpwww.x.org": "httpwww.x.org"}, ["www.x.org"]),        # crashed: URL unknown
    ({"httpa.org": "http://a.org", "httpsa.org": "https://a.org"}, ["httpa.org", "httpsa.org"])])
def test_names_of_figures(urls: dict[str, str], names: list[str]) -> None:
    assert figure_names(urls) == dict(zip(urls, names, strict=True))


@given(st.lists(st.from_regex(r"https?://(https?){0,2}a\.org", fullmatch=True), unique=True))
def test_no_two_pages_share_the_name_of_a_figure(urls: list[str]) -> None:
    """The short name of http://httpa.org is the full one of http://a.org."""
    pages = {sanitise(url): url for url in urls}
    assert len(set(figure_names(pages).values())) == len(pages)


@pytest.mark.parametrize(("ending", "begins"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_each_format_is_what_its_name_says_and_the_same_each_time(tmp_path: Path, ending: str, begins: bytes) -> None:
    client, path = make_client(tmp_path / "client", delays_ms=[10], urls=[NEWS]), figure_path(
        tmp_path / "figures", "x", 20.0, ending)
    save_figure(draw(client), path)
    first = path.read_bytes()
    save_figure(draw(client), path)
    assert path.read_bytes() == first
    assert first.startswith(begins)
    assert not any(word in first for word in (b"CreationDate", b"<dc:date>"))
    assert [entry.name for entry in path.parent.iterdir()] == [f"timing-x-20.{ending}"]
    with pytest.raises(InputError):
        save_figure(draw(client), path / f"below-a-file.{ending}")


def test_pyplot_is_not_needed() -> None:
    code = "import sys, harness.show.waterfall; print('matplotlib.pyplot' in sys.modules)"
    seen = ran(sys.executable, "-c", code, status=0, cwd=ROOT)
    assert seen.stdout == "False\n"


requests = st.lists(st.builds(lambda start, length, url: ShownRequest(url, start, start + length),
                              st.floats(0, 1000), st.floats(0, 1000), st.sampled_from("abcde")), max_size=12)


def test_pairs_are_the_same_url_in_the_order_without_tfo() -> None:
    a, b, c = ShownRequest("a", 0, 9), ShownRequest("b", 1, 5), ShownRequest("c", 2, 4)
    on_a, on_c, on_d = ShownRequest("a", 0, 3), ShownRequest("c", 1, 2), ShownRequest("d", 1, 3)
    assert pair_requests([c, b, a], [on_d, on_c, on_a]) == [(a, on_a), (b, None), (c, on_c), (None, on_d)]
    again, on_again = ShownRequest("a", 3, 9), ShownRequest("a", 4, 9)
    assert pair_requests([a, again], [on_again, on_a]) == [(a, on_a), (again, on_again)], "the second with the second"


@given(off=requests, on=requests)
def test_pairing_loses_nothing_and_pairs_what_it_can(off: list[ShownRequest], on: list[ShownRequest]) -> None:
    pairs = pair_requests(off, on)
    lefts = [left for left, _ in pairs if left]
    assert lefts == sorted(off, key=lambda request: (request.start_ms, request.end_ms))
    assert sorted(map(repr, on)) == sorted(repr(right) for _, right in pairs if right)
    assert all(left.url == right.url for left, right in pairs if left and right)
    lone_off = {left.url for left, right in pairs if left and not right}
    lone_on = {right.url for left, right in pairs if right and not left}
    assert not lone_off & lone_on


def logged(made: MadeLoad, client: Path, *spans: tuple[float, float, str], each: tuple[ReceivedAnswer, ...] = (),
           from_cache: tuple[str, ...] = ()) -> LoadResult:
    """Write a load whose text log has a document and these requests, and whose servers gave `each` answer."""
    made.add(PAGE, 0, "document", referer="")
    load = made.write(client)
    load.log.write_text(format_log(PageLog(transactions=[
        Transaction(0, 200, PAGE), *(Transaction(*span) for span in spans)])))
    if each:
        answers = ReceivedAnswers(1, 1, 0, 0, (ReceivedAnswer(PAGE, "exact"), *each), from_cache=from_cache)
        write_load(load.log.parent, replace(made.record(), answers=answers))
    return load


def requests_of(client: Path) -> list[ShownRequest]:
    shown = shown_load(selected(client).rows[0].off)
    assert shown is not None
    return [*shown.requests]


def test_a_request_that_never_ended_lends_nothing_to_the_next_one_of_its_url(tmp_path: Path) -> None:
    """The text log leaves it out. Before, the second one was drawn with its 900 ms, and called unfinished."""
    made = MadeLoad(1000)
    made.add(POLL, 300, "data", connect=50, wait=900, error=UNFINISHED)
    made.add(POLL, 400, "data", connect=22, wait=11)
    logged(made, tmp_path, (400, 433, POLL), each=(ReceivedAnswer(POLL, "failed", error=UNFINISHED),
                                                   ReceivedAnswer(POLL, "stand-in")))
    _, poll = requests_of(tmp_path)
    assert poll.phases_ms == dict.fromkeys(PHASES, 0) | {"connect": 22, "wait": 11}
    assert (poll.exchange and poll.exchange.error, poll.answer) == ("", "stand-in")


def test_a_mark_is_on_the_bar_of_its_own_answer(tmp_path: Path) -> None:
    """Of three requests for one URL Chrome's cache answered the second: no list of servers' answers has that one."""
    made = MadeLoad(1000)
    made.add(POLL, 300, "data")
    made.add_cached(POLL, 510, 1, "data")
    made.add(POLL, 600, "data", connect=22, wait=11)
    logged(made, tmp_path, (300, 500, POLL), (510, 511, POLL), (600, 633, POLL),
           each=(ReceivedAnswer(POLL, "exact"), ReceivedAnswer(POLL, "stand-in")), from_cache=(POLL,))
    assert [request.answer for request in requests_of(tmp_path)] == ["", "", "", "stand-in"]


def test_the_critical_path_lies_in_the_rows_of_its_own_requests(tmp_path: Path) -> None:
    """Of two for one URL a step lay in the row of the one that began nearer to it, which nobody waited for."""
    made = MadeLoad(1010)
    made.add(POLL, 200, "script", dns=200, connect=100, wait=500)
    made.add(POLL, 480, "data", connect=100, wait=1000)
    load = logged(made, tmp_path, (200, 1000, POLL), (480, 1580, POLL))
    figure = draw(tmp_path, load.page, 100)
    assert [bar.get_linewidth() > 1 for bar in bars(figure)["TFO off"]] == [True, True, False]
