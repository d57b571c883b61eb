"""The console table and what stands under it."""

import shutil
from pathlib import Path

import pytest

from harness.analysis.selection import Selection, select
from harness.files.results import Results, attempt_directory, read_results
from harness.show.labels import share_of
from harness.show.table import table_lines
from tests.support.client_folder import NEWS, POST, add_load, make_client
from tests.support.texts import format_report

ROOT = Path(__file__).resolve().parent.parent.parent
DATA = ROOT / "tests" / "data"


def read(client: Path, metric: str = "load") -> tuple[Results, Selection]:
    results = read_results(client)
    return results, select(results, metric)


def report(client: Path, metric: str = "load") -> str:
    return format_report(*read(client, metric)).replace(f"{client}/", "client/")


def test_golden_report(tmp_path: Path) -> None:
    client = make_client(tmp_path, delays_ms=[10, 50, 100])
    add_load(client, NEWS, 10, 2, 1, 31000, valid=False, why_not=["SYN retransmitted: 2"])
    for run in (1, 2, 3):
        add_load(client, POST, 50, run, 1, None, valid=False, why_not=["timed out after 60 s"])
    assert report(client) == (DATA / "golden-report.txt").read_text()


def test_golden_report_of_2013(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert format_report(*read(Path("tests/data/2013"))) == (DATA / "golden-report-2013.txt").read_text()


def test_columns_of_the_table(tmp_path: Path) -> None:
    url = "http://en.wikipedia.org/wiki/Transmission_Control_Protocol"
    for run in (1, 2, 3):
        add_load(tmp_path, url, 10, run, 0, 1709 + 5 * (run - 2))
        add_load(tmp_path, url, 10, run, 1, 1670 - 9 * (run - 2))
    assert list(table_lines(*read(tmp_path))) == [
        "Page\tRTT(ms)\tPLT: no TFO (s)\tPLT: TFO (s)\tImprov.",
        "httpen.wikipedia.orgwikiTransmission_Control_Protocol",
        "\t20\t1.709\t1.670\t2.28%"]


@pytest.mark.parametrize(("off_ms", "on_ms", "row"), [
    (1000, 1250, "1.000\t1.250\t-25.00%"),      # a slow-down keeps its sign
    (1000, 1000.01, "1.000\t1.000\t0.00%"),     # and nothing is not "-0.00%"
    (0.4, 0.2, "0.000\t0.000\t50.00%"),         # computed before rounding
    (123456.7, 61728.35, "123.457\t61.728\t50.00%")])
def test_seconds_and_sign(tmp_path: Path, off_ms: float, on_ms: float, row: str) -> None:
    add_load(tmp_path, NEWS, 10, 1, 0, off_ms)
    add_load(tmp_path, NEWS, 10, 1, 1, on_ms)
    assert list(table_lines(*read(tmp_path)))[2] == f"\t20\t{row}"


def test_metric_last_is_another_number(tmp_path: Path) -> None:
    client = make_client(tmp_path, delays_ms=[10], urls=[NEWS])
    assert list(table_lines(*read(client, "load")))[2] == "\t20\t1.062\t1.042\t1.88%"
    assert list(table_lines(*read(client, "last")))[2] == "\t20\t1.162\t1.142\t1.72%"
    assert "PLT: from the start of the load to the end of its last transaction" in report(client, "last")


@pytest.mark.parametrize(("runs", "sure"), [(4, "75%"), (9, "99%"), (11, "over 99%")])
def test_ten_loads_do_not_make_it_certain(tmp_path: Path, runs: int, sure: str) -> None:
    """Of ten loads the smallest and the largest hold the true median in 99.8% of experiments: that was "100%"."""
    assert f"hold the true median with {sure} confidence" in report(
        make_client(tmp_path, delays_ms=[10], urls=[NEWS], runs=runs))


@pytest.mark.parametrize(("share", "words"), [
    (0, "0%"), (0.004, "under 1%"), (0.005, "under 1%"), (0.006, "1%"), (0.03, "3%"),
    (0.992, "99%"), (0.997, "over 99%"), (1, "100%")])
def test_all_and_none_are_called_so_alone(share: float, words: str) -> None:
    assert share_of(share) == words


def test_tfo_off_only(tmp_path: Path) -> None:
    add_load(tmp_path, NEWS, 10, 1, 0, 1000)
    results, selection = read(tmp_path)
    assert list(table_lines(results, selection))[2] == "\t20\t1.000\t-\t-"
    assert selection.missing(results.tfos) == []
    assert "Each number is one load (n = 1)" in report(tmp_path)


def test_rows_are_in_pages_order_then_by_rtt(tmp_path: Path) -> None:
    client = make_client(tmp_path, delays_ms=[100, 10, 50], urls=[POST, NEWS], runs=2)
    assert [line.split("\t")[:2] for line in table_lines(*read(client))][1:] == [
        ["httpblog.example2013post"], ["", "20"], ["", "100"], ["", "200"],
        ["httpwww.news.example"], ["", "20"], ["", "100"], ["", "200"]]


def test_pages_are_alphabetical_when_their_order_is_unknown(tmp_path: Path) -> None:
    for url in ("http://b.org", "http://a.org", "http://c.org"):
        add_load(tmp_path, url, 10, 1, 0, 1000)
    assert list(read(tmp_path)[0].urls) == ["httpa.org", "httpb.org", "httpc.org"]


def test_footer_names_what_the_pages_were_loaded_with(tmp_path: Path) -> None:
    kept_alive = report(make_client(tmp_path / "a", runs=2, http="1.1", synthetic=False, server="2013"))
    assert "HTTP/1.1: connections are kept alive" in kept_alive
    assert "single-threaded one of 2013" in kept_alive
    assert "synthetic" not in kept_alive
    secure = report(make_client(tmp_path / "c", runs=2, urls=["https://s.example/"]))
    assert "Requests over https (100% of all): TLS 1.3, HTTP/2 where it was recorded" in secure
    assert "HTTP/1.0" not in secure
    usual = report(make_client(tmp_path / "b", runs=2))
    assert "HTTP/1.0: every request opens a connection of its own." in usual
    assert "TLS" not in usual
    assert "Pages: synthetic, made from figures of the 2013 pages." in usual
    others = report(make_client(tmp_path / "d", runs=2, name="bbc"))
    assert "Pages: synthetic, made from the figures of recorded ones." in others
    assert "single-threaded" not in usual
    assert "Loads left out: 0." in usual


@pytest.mark.parametrize(("http", "over_http", "over_https"), [
    ("1.0", "HTTP/1.0: every request opens", "HTTP/2 where it was recorded, else HTTP/1.1"),
    ("recorded", "HTTP/1.1: connections are kept", "HTTP/2 where it was recorded, else HTTP/1.1"),
    ("1.1", "HTTP/1.1: connections are kept", "HTTP/1.1: connections are kept"),
    ("h2", "HTTP/1.1: connections are kept", "HTTP/2: the requests to a host share")])
def test_footer_says_what_http_means_on_a_page_of_both_schemes(tmp_path: Path, http: str, over_http: str,
                                                               over_https: str) -> None:
    client = make_client(tmp_path, delays_ms=[10], urls=[NEWS], runs=2, http=http)
    asked = ["http://www.news.example/", "https://a.example/1", "https://a.example/2", "wss://a.example/3"]
    for tfo in (0, 1):
        add_load(client, NEWS, 10, 1, tfo, 1000, request_urls=asked)
    said = report(client)
    assert f"Requests over http: {over_http}" in said
    assert f"Requests over https (75% of all): TLS 1.3, {over_https}" in said


def test_what_holds_for_some_rtts_only_is_said_with_them(tmp_path: Path) -> None:
    """tfo.py, typed once for each delay, may measure each in another way. The lines were said of all rows."""
    client = make_client(tmp_path, delays_ms=[10, 50], urls=[NEWS], runs=2, cookies="warm")
    make_client(client, delays_ms=[100], urls=[NEWS], runs=2, http="1.1", synthetic=False, cookies="cold",
                connections_per_host=12, bw_home_mbit=2.0, bw_net_mbit=4.0, server="2013")
    lines = report(client).splitlines()
    for words in ("At 20, 100 ms: Pages: synthetic, made from figures of the 2013 pages.",
                  "At 20, 100 ms: HTTP/1.0: every request opens a connection of its own.",
                  "At 200 ms: HTTP/1.1: connections are kept alive and reused unless the site closed them.",
                  "At 200 ms: User's link: 2 Mbit/s, shared by all connections."):
        assert words in lines
    assert len([line for line in lines if line.startswith(("At 200 ms: TFO cookies: ", "At 200 ms: Chrome opened ",
                                                           "At 200 ms: Server: the single-threaded "))]) == 3


def test_a_warm_up_that_a_resumed_run_made_anew_did_not_fail(tmp_path: Path) -> None:
    client = make_client(tmp_path, delays_ms=[10], urls=[NEWS])
    cell = client / "10-0-tfo-0"
    shutil.copytree(cell, attempt_directory(cell, 1))
    assert report(client).splitlines()[-2:] == [
        "It took 9 page loads: 8, and 1 before them that were made again:",
        "  client/10-0-tfo-0/attempt-1/httpwww.news.example: valid, but a run that is resumed warms up anew"]


def test_loads_of_other_experiments_and_failed_tries_are_listed(tmp_path: Path) -> None:
    client = make_client(tmp_path, delays_ms=[10], urls=[NEWS], id="newer")
    for run in (1, 2):
        for tfo in (0, 1):
            add_load(client, NEWS, 10, run, tfo, 1000 - 200 * tfo, experiment="newer")
    cell = client / "10-2-tfo-1"
    shutil.copytree(cell, attempt_directory(cell, 1))
    add_load(attempt_directory(cell, 1), NEWS, 10, 2, 1, 9000, valid=False, why_not=["SYN retransmitted: 2"],
             experiment="newer")
    (attempt_directory(cell, 1) / cell.name / "httpwww.news.example.json").replace(
        attempt_directory(cell, 1) / "httpwww.news.example.json")
    lines = report(client).splitlines()
    assert lines[2] == "\t20\t1.000\t0.800\t20.00%"
    assert lines[-4:] == [
        "It took 5 page loads: 4, and 1 before them that were made again:",
        "  client/10-2-tfo-1/attempt-1/httpwww.news.example: SYN retransmitted: 2",
        "Loads of another experiment, left out (4):",
        "  20 ms: 4 of another, earlier experiment than experiment-10.json describes (such as "
        "client/10-0-tfo-0/httpwww.news.example)"]


def test_a_machine_that_was_busy_is_named_once(tmp_path: Path) -> None:
    client = make_client(tmp_path, delays_ms=[10, 50], urls=[NEWS], busy=["stress-ng uses 99% of a core", "swap"])
    warnings = [line for line in report(client).splitlines() if line.startswith("Careful: ")]
    assert len(warnings) == 1
    assert "before the loads at 20, 100 ms were measured (stress-ng uses 99% of a core; swap)" in warnings[0]
    assert "Careful" not in report(make_client(tmp_path / "idle", delays_ms=[10], urls=[NEWS]))
