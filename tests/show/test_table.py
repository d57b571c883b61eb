"""The console's table, what stands under it in the report, and what an RTT that stands for several is called."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from harness.analysis.compare import read_sides
from harness.analysis.selection import Selection, select
from harness.files.experiment import write_experiment
from harness.files.results import Results, attempt_directory, read_results
from harness.show.comparison import format_comparison
from harness.show.detail import detail_lines
from harness.show.labels import is_simulated, share_of
from harness.show.paper import paper_lines
from harness.show.report.provenance import find_provenance
from harness.show.requests_figure import draw_figure
from harness.show.sweep import draw_sweep
from harness.show.table import footer_lines, table_lines
from tests.support.client_folder import NEWS, POST, add_load, make_client
from tests.support.made_har import PAGE, chain
from tests.support.plotted import plot
from tests.support.texts import format_report

NAME = "recorded 12-180"
RECORDED: dict[str, Any] = {"rtt": "recorded*2", "rtts_assumed": ["c.test"],
                            "server_rtts_ms": {"a.test": 12.3, "b.test": 40, "c.test": 180.4, "d.test": 40}}
LOOPBACK: dict[str, Any] = {"network": "loopback", "fastopen_by": "the kernel's", "fastopen_because": ""}


def read(client: Path, metric: str = "load") -> tuple[Results, Selection]:
    results = read_results(client)
    return results, select(results, metric)


def rows(client: Path, metric: str = "load") -> list[str]:
    return list(table_lines(*read(client, metric)))[1:]


@pytest.mark.parametrize(("off_ms", "on_ms", "row"), [
    ((1704, 1709, 1714), (1679, 1670, 1661), "1.709\t1.670\t2.28%"), ((1000,), (), "1.000\t-\t-"),
    ((1000,), (1250,), "1.000\t1.250\t-25.00%"),        # a slow-down keeps its sign
    ((1000,), (1000.01,), "1.000\t1.000\t0.00%"),       # and nothing is not "-0.00%"
    ((0.4,), (0.2,), "0.000\t0.000\t50.00%"),           # computed before rounding
    ((123456.7,), (61728.35,), "123.457\t61.728\t50.00%")])
def test_a_row_has_medians_in_seconds_and_the_sign(tmp_path: Path, off_ms: tuple[float, ...],
                                                   on_ms: tuple[float, ...], row: str) -> None:
    for tfo, plts_ms in enumerate((off_ms, on_ms)):
        for run, plt_ms in enumerate(plts_ms, start=1):
            add_load(tmp_path, NEWS, 10, run, tfo, plt_ms)
    assert rows(tmp_path) == ["httpwww.news.example", f"\t20\t{row}"]
    results, selection = read(tmp_path)
    assert selection.missing(results.tfos) == []


def test_rows_are_in_pages_order_then_by_rtt_by_the_metric_asked_for(tmp_path: Path) -> None:
    client = make_client(tmp_path, delays_ms=[100, 10, 50], urls=[POST, NEWS], runs=2)
    assert [line.split("\t")[:2] for line in rows(client)] == [
        ["httpblog.example2013post"], ["", "20"], ["", "100"], ["", "200"],
        ["httpwww.news.example"], ["", "20"], ["", "100"], ["", "200"]]
    assert [rows(client, metric)[1] for metric in ("load", "last")] == [
        "\t20\t1.061\t1.041\t1.89%", "\t20\t1.161\t1.141\t1.72%"]


def test_pages_are_alphabetical_when_their_order_is_unknown(tmp_path: Path) -> None:
    for url in ("http://b.org", "http://a.org", "http://c.org"):
        add_load(tmp_path, url, 10, 1, 0, 1000)
    assert list(read(tmp_path)[0].urls) == ["httpa.org", "httpb.org", "httpc.org"]


@pytest.mark.parametrize(("share", "words"), [
    (0, "0%"), (0.004, "under 1%"), (0.005, "under 1%"), (0.006, "1%"), (0.03, "3%"),
    (0.992, "99%"), (0.997, "over 99%"), (1, "100%")])
def test_all_and_none_are_called_so_alone(share: float, words: str) -> None:
    """Of ten loads the smallest and the largest hold the true median in 99.8% of experiments: that was "100%"."""
    assert share_of(share) == words


def test_each_load_that_does_not_count_is_listed_once(tmp_path: Path) -> None:
    client = make_client(tmp_path, delays_ms=[10], urls=[NEWS], id="newer", busy=["stress", "swap"])
    for run in (1, 2):
        for tfo in (0, 1):
            add_load(client, NEWS, 10, run, tfo, 1000 - 200 * tfo, experiment="newer")
    add_load(client, NEWS, 10, 3, 0, None, valid=False, why_not=["timed out"], experiment="newer")
    cell = client / "10-2-tfo-1"
    shutil.copytree(cell, attempt_directory(cell, 1))
    warm_up = client / "10-0-tfo-0"
    add_load(client, NEWS, 10, 0, 0, 1000, experiment="newer")
    shutil.copytree(warm_up, attempt_directory(warm_up, 1))
    lines = list(footer_lines(*read(client)))
    listed = {path: [line for line in lines if f"  {client}/{path}/httpwww.news.example: " in line]
              for path in ("10-2-tfo-1/attempt-1", "10-0-tfo-0/attempt-1", "10-3-tfo-0")}
    assert {path: len(found) for path, found in listed.items()} == dict.fromkeys(listed, 1)
    assert [line for line in lines if ": 2 of another" in line], "warm-up and third run with TFO"
    assert rows(client)[1] == "\t20\t1.000\t0.800\t20.00%"
    assert sum("stress" in line for line in lines) == 1


def settings(client: Path) -> dict[str, str]:
    [(_, found)] = find_provenance(read_results(client)).settings.groups
    return {row[0]: row[1] for row in found}


@pytest.mark.parametrize(("option", "value", "title", "explained"), [
    ("http", "1.0", "HTTP", True), ("http", "1.1", "HTTP", True), ("http", "h2", "HTTP", True),
    ("http", "recorded", "HTTP", True), ("server", "2013", "Server", True), ("server", "threaded", "Server", False),
    ("cookies", "cold", "TFO cookies", True), ("cookies", "domain", "TFO cookies", True),
    ("cookies", "warm", "TFO cookies", False), ("layout", "domain: 3 host names on 2 servers (abc)",
                                                "Servers of the host names", True),
    ("layout", "one", "Servers of the host names", True), ("synthetic", True, "Pages made by the project", True),
    ("network", "loopback", "Network", True), ("think", "recorded", "Servers' thinking time", True),
    ("connections_per_host", 12, "Connections to a host", False), ("buffer_kb", 128.0, "Buffer of user's link (kB)",
                                                                   False)])
def test_the_report_says_what_a_setting_means(tmp_path: Path, option: str, value: object, title: str, *,
                                              explained: bool) -> None:
    found = settings(make_client(tmp_path, delays_ms=[10], urls=[NEWS], runs=1, **{option: value}))[title]
    said = "yes" if value is True else f"{value:g}" if isinstance(value, float) else str(value)
    assert (found.startswith(f"{said}: "), found == said) == (explained, not explained)


def test_a_setting_of_some_rtts_only_is_said_with_them(tmp_path: Path) -> None:
    client = make_client(tmp_path, delays_ms=[10, 50], urls=[NEWS], runs=1, synthetic=False)
    make_client(client, delays_ms=[100], urls=[NEWS], runs=1, cookies="cold", synthetic=False)
    found = settings(client)
    assert [line.split(": ")[0] for line in found["TFO cookies"].splitlines()] == [
        "RTT 20 ms", "RTT 100 ms", "RTT 200 ms"]
    assert "\n" not in found["HTTP"]
    assert {"Pages made by the project", "Network", "RTTs of the servers wanted (ms)"}.isdisjoint(found)


def test_an_rtt_that_stands_for_several_has_one_name_everywhere(tmp_path: Path) -> None:
    make_client(tmp_path / "client", delays_ms=[10, 50], urls=[NEWS])
    client = make_client(tmp_path / "client", delays_ms=[20], urls=[NEWS, POST], **RECORDED)
    for path in client.glob("20-*-tfo-1/httpblog*"):
        path.unlink()
    results, selection = read(client)
    for lines in (table_lines, detail_lines):
        assert [line.split("\t")[1] for line in lines(results, selection) if line.startswith("\t")] == [
            "20", NAME, "100"] * 2
    assert sum(f"httpblog.example2013post at {NAME} ms" in line for line in footer_lines(results, selection)) == 1
    figure = draw_figure(results, selection, next(iter(results.urls)), 40)
    assert figure is not None
    assert NAME in figure.get_suptitle().replace("\n", " ")
    [axes] = draw_sweep(results, selection).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["20", NAME.replace(" ", "\n"), "100"]
    assert all(each in settings(client)["RTTs of the servers wanted (ms)"] for each in ("a.test 12.3", "c.test 180.4"))
    other = make_client(tmp_path / "other", delays_ms=[10, 20], urls=[NEWS])
    compared = format_comparison(*read_sides([client, other], "load"))
    assert f"\t{NAME} | 40\t" in compared
    assert "\n  rtt: recorded*2 | " in compared


def test_the_papers_rtts_are_others(tmp_path: Path) -> None:
    client = make_client(tmp_path, delays_ms=[50], urls=["http://www.amazon.com"], paper=True, **RECORDED)
    assert list(paper_lines(*read(client))) == []


@pytest.mark.parametrize(("experiment", "simulated"), [
    ({**LOOPBACK, "tfo": "both"}, False), ({**LOOPBACK, "tfo": "0"}, True), ({"tfo": "0"}, False)])
def test_what_was_not_measured_is_simulated_on_loopback_only(tmp_path: Path, experiment: dict[str, Any], *,
                                                             simulated: bool) -> None:
    assert is_simulated(read_results(make_client(tmp_path, **experiment))) == simulated


@pytest.mark.parametrize("option", [(), ("--detail",)])
def test_what_is_simulated_stands_in_a_table_of_its_own(tmp_path: Path, option: tuple[str, ...]) -> None:
    client = tmp_path / "client"
    for run in (0, 1, 2):
        chain(3).write(client, run=run)
    write_experiment(client, 50, {"name": "small", "pages": [PAGE], "rtt_ms": 100, "http": "1.0", **LOOPBACK,
                                  "tfo": "0"})
    said = plot(tmp_path, *option, "--clientdir", client, "--outputdir", tmp_path / "out").stdout
    places = [said.index(row) for row in ("\t100\t0.624\t-\t-\n", "\t100\t0.624\t3\t0.324\t-\t-\n")]
    assert places == sorted(places)
    assert "\t0.324" not in said[:places[1] - 1]


def test_logs_of_2013_have_a_table_and_say_by_which_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parent.parent.parent)
    results, selection = read(Path("tests/data/2013"))
    assert (selection.metric, selection.asked_metric) == ("last", "load")
    assert sum(line.startswith("\t") for line in format_report(results, selection).splitlines()) == 6
