"""Which loads the figures of requests and of improvements show, and what of them, read back from the figures."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from harness.analysis.row import Row
from harness.analysis.shown import PHASES, ShownRequest, file_problems, shown_load
from harness.files.exchange import UNFINISHED, Exchange, Request
from harness.files.load_parts import ReceivedAnswer, ReceivedAnswers
from harness.files.pages import sanitise
from harness.files.results import write_load
from harness.files.text_log import PageLog, Transaction, format_log
from harness.show.breakdown import explained_loads
from harness.show.figures import save_figure
from harness.show.improvement import draw_improvement
from harness.show.labels import figure_names
from harness.show.waterfall import compare_loads, draw_requests, pair_requests
from tests.support.client_folder import NEWS, add_load, make_client, selected
from tests.support.made_har import PAGE, MadeLoad, chain

LOG = format_log(PageLog(transactions=[Transaction(0, 50, PAGE)], transactions_seen=True))
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
        assert [(bar.get_x(), bar.get_width(), bar.get_center()[1]) for bar in drawn[name]] == [
            pytest.approx((step_ms * index, 50, index + 1), abs=0.001) for index in range(5)]
    off, on = drawn["TFO off"][0], drawn["TFO on"][0]
    assert on.get_height() == pytest.approx(0.75 * off.get_height())
    assert axes.get_ylim()[0] > axes.get_ylim()[1], "request 1 is on top"
    assert axes.get_xlim()[0] == 0
    assert [float(line.get_xdata()[0]) for line in axes.lines] == [1062, 1042]      # type: ignore[index,arg-type]


def test_no_two_pages_share_the_name_of_a_figure() -> None:
    """The short name of http://httpa.org is the full one of http://a.org."""
    urls = ("http://a.org", "https://a.org", "http://httpa.org", "http://httpsa.org", "http://b.org/x")
    assert [*figure_names({sanitise(url): url for url in urls}).values()] == [
        "httpa.org", "httpsa.org", "httphttpa.org", "httphttpsa.org", "b.orgx"]
    assert figure_names({"httpwww.x.org": "httpwww.x.org"}) == {"httpwww.x.org": "www.x.org"}, "no load tells its URL"


def test_the_same_results_give_the_same_bytes_in_each_format(tmp_path: Path) -> None:
    client = make_client(tmp_path / "client", delays_ms=[10], urls=[NEWS])
    for ending, begins in {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}.items():
        paths = [tmp_path / folder / f"x.{ending}" for folder in ("first", "again")]
        for path in paths:
            save_figure(draw(client), path)
        first, again = (path.read_bytes() for path in paths)
        assert first == again
        assert first.startswith(begins)
        assert not any(word in first for word in (b"CreationDate", b"<dc:date>"))


def test_pairs_are_the_same_url_in_the_order_without_tfo() -> None:
    """The second request for a URL pairs with the second."""
    off, on = ([ShownRequest(Exchange(request=Request("GET", url)), start_ms, 9) for start_ms, url in enumerate(urls)]
               for urls in ("abca", "acda"))
    assert pair_requests(off, on) == [(off[0], on[0]), (off[1], None), (off[2], on[1]), (off[3], on[3]), (None, on[2])]


def test_of_several_requests_for_one_url_each_has_its_own_times_answer_and_place_on_the_critical_path(
        tmp_path: Path) -> None:
    """The second never ended, and the fourth is from Chrome's cache, of which no list of servers' answers tells.

    A step of the first lay in the row of the one that began nearer to it, which nobody waited for.
    """
    made = MadeLoad(1010)
    made.add(PAGE, 0, "document", referer="")
    made.add(POLL, 200, "script", dns=200, connect=100, wait=500)
    made.add(POLL, 300, "data", connect=50, wait=900, extra={"_error": UNFINISHED})
    made.add(POLL, 400, "data", connect=22, wait=11)
    made.add_cached(POLL, 510, 1, "data")
    made.add(POLL, 600, "data", wait=1000)
    load = made.write(tmp_path)
    each = (ReceivedAnswer(PAGE, "exact"), ReceivedAnswer(POLL, "exact"), ReceivedAnswer(
        POLL, "failed", error=UNFINISHED), ReceivedAnswer(POLL, "exact"), ReceivedAnswer(POLL, "stand-in"))
    write_load(load.log.parent, replace(made.record(), answers=ReceivedAnswers(3, 1, 0, 0, each, from_cache=(POLL,))))
    shown = shown_load(selected(tmp_path).rows[0].off)
    assert shown
    assert [request.answer for request in shown.requests] == ["", "", "", "", "stand-in"]
    assert shown.requests[2].phases_ms == dict.fromkeys(PHASES, 0) | {"connect": 22, "wait": 11}
    assert not shown.requests[2].exchange.error
    drawn = bars(draw(tmp_path, load.page, 100))["TFO off"]
    assert [bar.get_linewidth() > 1 for bar in drawn] == [True, True, False, False, False]


def test_the_figure_shows_every_point_of_every_page(tmp_path: Path) -> None:
    """Pages lie beside each other, the RTTs on a logarithmic axis."""
    selection = selected(make_client(tmp_path, delays_ms=[1, 10, 100], urls=[NEWS, "http://never.example/$x$"]))
    [axes] = draw_improvement(selection).axes
    assert axes.get_xscale() == "log"
    assert [label.get_text() for label in axes.get_xticklabels()] == ["2", "20", "200"]
    texts = [text.get_text() for text in axes.get_legend().get_texts()]      # type: ignore[union-attr]
    assert texts == ["www.news.example", "never.example/$x$"]
    drawn: Any = [line.get_xydata() for line in axes.lines if line.get_marker() in ("o", "s")]
    news, never = (dict(points) for points in drawn)
    assert [*news] == pytest.approx([2, 20, 200], rel=0.02)
    assert all(left < right for left, right in zip(news, never, strict=True))
    assert [*news.values()] == [row.percent for row in selection.of_page(NEWS_PAGE)]


def test_an_interval_is_drawn_where_it_lies(tmp_path: Path) -> None:
    """Two runs have no load without TFO that counts: the median with it is of four loads, the interval of two pairs.

    The bar reached from the improvement, 8.5%, to 20%, and the interval is 15% to 20%. One pair at 100 ms has none.
    """
    for run, on_ms in enumerate((990, 980, 850, 800), start=1):
        add_load(tmp_path, NEWS, 10, run, 1, on_ms)
        add_load(tmp_path, NEWS, 10, run, 0, 1000, valid=run > 2)
    for tfo in (0, 1):
        add_load(tmp_path, NEWS, 50, 1, tfo, 1000)
    selection = selected(tmp_path)
    assert selection.rows[0].percent == pytest.approx(8.5)
    containers: Any = draw_improvement(selection).axes[0].containers
    [interval] = containers[0][2][0].get_segments()
    assert tuple(interval[:, 1]) == pytest.approx((15, 20))


def test_pages_of_another_rtt_do_not_make_these_synthetic(tmp_path: Path) -> None:
    """tfo.py typed for each RTT: --name Paper at 20 ms, --name Paper2013, the real pages, at 100 ms."""
    for delay_ms, is_synthetic in ((10, True), (50, False)):
        make_client(tmp_path, delays_ms=[delay_ms], urls=[NEWS], runs=2, synthetic=is_synthetic)
    assert ["synthetic" in draw(tmp_path, rtt_ms=rtt_ms).get_supxlabel() for rtt_ms in (20, 100)] == [True, False]


def five_loads(client: Path, *gone: str) -> Row:
    """Return a row of loads whose PLT grows with the run, so that run 3 is the median.

    `gone` are files that cannot be read: RUN.har or RUN.log.
    """
    for run in range(1, 6):
        load = chain(2, connect=100 + run).write(client, run=run)
        load.log.write_text(LOG)
        if f"{run}.har" in gone:
            load.har.write_text("{")
        if f"{run}.log" in gone:
            load.log.unlink()
    return selected(client).rows[0]


@pytest.mark.parametrize(("gone", "run", "is_explained"), [
    ("", 3, True), ("3.har", 2, True), ("3.log 2.log", 3, True), ("3.har 4.har 5.har", 1, True),
    ("1.har 2.har 3.har 4.har 5.har", 3, False),
    ("1.har 2.har 3.har 4.har 5.har 1.log 2.log 3.log 4.log 5.log", None, False)])
def test_the_load_of_a_cell_is_the_median_of_those_it_was_chosen_from(
        tmp_path: Path, gone: str, run: int | None, *, is_explained: bool) -> None:
    """And the same in all figures: the one of the requests once showed run 3 and the breakdown another one."""
    row = five_loads(tmp_path, *gone.split())
    shown, compared = shown_load(row.off), compare_loads(row)
    found = [shown, *(compared.loads[:1] if compared else ()), *(load for load, _ in explained_loads([row]))]
    assert [each and each.load.run for each in found] == [run] * (1 + bool(run) + is_explained)
    assert shown is None or len(shown.cell.loads) == 5
    assert len([*file_problems(row.cells)]) == gone.count("har")
