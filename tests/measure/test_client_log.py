"""What a load leaves behind, from real net-logs: an error page has no PLT, and what came after the load is cut."""

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from harness.files.text_log import read_log
from harness.measure.client_log import shows_error_page, start_of_load, write_client_log
from harness.netlog.load import SLACK_MS, leave_out_previous_document, read_netlog
from tests.support.made_netlog import MadeNetLog

DATA = Path(__file__).parent.parent / "corpus" / "netlogs"
PAGE = "httpa.test"


def netlog_file(folder: Path, scene: str) -> Path:
    path = folder / "netlog.json"
    path.write_bytes(gzip.decompress((DATA / f"{scene}.json.gz").read_bytes()))
    return path


def report(scene: str, **changes: Any) -> dict[str, Any]:
    """Return what load_page.py reports of a load, from the navigation timing recorded with the net-log."""
    timing: dict[str, float] = json.loads((DATA / f"{scene}.served.json").read_text())["timing"]
    origin_ms = timing["navigationStart"]
    entry = {name: timing[name] - origin_ms if timing[name] else 0
             for name in ("fetchStart", "responseStart", "domContentLoadedEventEnd", "loadEventEnd")}
    return {"url": "http://a.test/", "time_origin_ms": origin_ms, "now_ms": 60_000.0, "document_uri": "http://a.test/",
            "timing": entry, "title": scene, **changes}


def written(folder: Path, scene: str, **changes: Any) -> dict[str, Any]:
    return write_client_log(folder, PAGE, netlog_file(folder, scene), report(scene, **changes))


def har_urls(folder: Path) -> list[str]:
    entries = json.loads((folder / f"{PAGE}.har").read_text())["log"]["entries"]
    return [entry["request"]["url"] for entry in entries]


def test_a_whole_load(tmp_path: Path) -> None:
    figures = written(tmp_path, "settled")
    assert figures["plt_ms"] == report("settled")["timing"]["loadEventEnd"] > 0
    assert 0 < figures["first_byte_ms"] <= figures["dom_content_loaded_ms"] <= figures["plt_ms"]
    assert figures["document"]["status"] == 200
    assert figures["document"]["url"].startswith("http://")
    assert figures["requests"] == len(figures["request_urls"]) > 10
    log = read_log(tmp_path / PAGE)
    assert log.transactions_seen
    assert log.problems == []
    assert len(log.transactions) + figures["failed_requests"].get("unfinished", 0) == figures["requests"]
    assert figures["last_ms"] == pytest.approx(max(transaction.end_ms for transaction in log.transactions), abs=0.001)
    assert len(har_urls(tmp_path)) == figures["requests"]
    assert json.loads(json.dumps(figures)) == figures, "it can be written as JSON"


@pytest.mark.parametrize(("set_back_ms", "found_ms"), [(0, 0), (30, 0), (500, 500)])
@pytest.mark.parametrize("scene", ["settled", "hanging", "killed"])
def test_a_clock_that_was_set_back_while_chrome_started(tmp_path: Path, scene: str, set_back_ms: float,
                                                        found_ms: float) -> None:
    """All requests seemed to be made after the load event, so that nothing that failed counted against the load."""
    at_ms = report(scene)["time_origin_ms"] - set_back_ms
    figures = written(tmp_path, scene, time_origin_ms=at_ms)
    assert figures["clock_set_ms"] == pytest.approx(found_ms, abs=3)
    assert (figures["requests"] == figures["requests_after_load"]) == (set_back_ms > figures["plt_ms"])


def late_log(folder: Path) -> Path:
    """Write the net-log of a page that asks for something before, and for more after its load event at 1020 ms."""
    log = MadeNetLog()
    log.request("http://a.test/", "200 OK", b"page", main_frame=True)
    log.begin("http://a.test/poll")
    while len(log.events) < 30:
        log.add("HTTP_TRANSACTION_READ_HEADERS")
    log.source += 1
    log.begin("http://a.test/later")
    log.request("http://a.test/aborted", "200 OK", b"x", cancelled=True)
    return log.write(folder / "netlog.json")


@pytest.mark.parametrize("status", ["200 OK", "204 No Content"])
def test_a_file_that_the_page_leads_to_is_not_its_document(tmp_path: Path, status: str) -> None:
    log = MadeNetLog()
    log.request("http://a.test/", "200 OK", b"page", main_frame=True)
    log.request("http://a.test/file.zip", status, b"a file" if status == "200 OK" else b"", main_frame=True)
    figures = write_client_log(tmp_path, PAGE, log.write(tmp_path / "netlog.json"), {
        "url": "http://a.test/", "time_origin_ms": 1000.0, "now_ms": 60.0, "document_uri": "http://a.test/",
        "timing": {"loadEventEnd": 8.0}})
    assert figures["document"] == {"url": "http://a.test/", "status": 200, "bytes": 4}


@pytest.mark.parametrize("first", ["200 OK", "302 Found"])
def test_an_answer_that_chrome_drops_to_send_client_hints_is_not_the_document(tmp_path: Path, first: str) -> None:
    """Critical-CH: of a redirect, too, which is followed only when it comes for the second time."""
    log = MadeNetLog()
    log.request("https://a.test/", first, b"pa", "Accept-CH: DPR", "Critical-CH: DPR", main_frame=True, cancelled=True)
    log.begin("https://a.test/", main_frame=True)
    if first.startswith("302"):
        log.head(first, "Location: /home")
        log.add("URL_REQUEST_REDIRECTED", location="https://a.test/home")
        log.job("https://a.test/home", main_frame=True)
    log.head("200 OK")
    log.body(b"page")
    log.end()
    figures = write_client_log(tmp_path, PAGE, log.write(tmp_path / "netlog.json"), {
        "url": "https://a.test/", "time_origin_ms": 1000.0, "now_ms": 60.0, "document_uri": "https://a.test/",
        "timing": {"loadEventEnd": 40.0}})
    assert (figures["document"]["status"], figures["document"]["bytes"]) == (200, 4)


@pytest.mark.parametrize(("quiet", "before"), [(True, {"unfinished": 1}), (False, {})])
def test_what_began_after_the_load_event_or_was_cut_by_our_limit_does_not_count_against_it(
        tmp_path: Path, quiet: bool, before: dict[str, int]) -> None:
    figures = write_client_log(tmp_path, PAGE, late_log(tmp_path), {
        "url": "http://a.test/", "time_origin_ms": 1000.0, "now_ms": 60.0, "document_uri": "http://a.test/",
        "timing": {"loadEventEnd": 20.0}, "quiet": quiet})
    assert figures["requests"] == 4
    assert figures["requests_after_load"] == 2
    assert figures["failed_requests"] == before
    assert figures["failed_after_load"] == {"unfinished": 2 - len(before), "net::ERR_ABORTED": 1}


def test_without_a_load_event_every_failure_counts(tmp_path: Path) -> None:
    figures = write_client_log(tmp_path, PAGE, late_log(tmp_path), {
        "url": "http://a.test/", "time_origin_ms": 1000.0, "now_ms": 60.0, "document_uri": "http://a.test/",
        "timing": {}, "quiet": False})
    assert figures["failed_requests"] == {"unfinished": 2, "net::ERR_ABORTED": 1}
    assert (figures["requests_after_load"], figures["failed_after_load"]) == (0, {})


def test_what_was_asked_of_the_cache_only_is_no_request(tmp_path: Path) -> None:
    log = MadeNetLog()
    log.request("http://a.test/", "200 OK", b"page", main_frame=True)
    log.source += 1
    log.add("REQUEST_ALIVE", 1)
    log.add("URL_REQUEST_START_JOB", 1, url="http://a.test/probe", method="GET", initiator="http://a.test")
    log.add("URL_REQUEST_START_JOB", 2, net_error=-400)
    log.add("REQUEST_ALIVE", 2)
    figures = write_client_log(tmp_path, PAGE, log.write(tmp_path / "netlog.json"), {
        "url": "http://a.test/", "time_origin_ms": 1000.0, "now_ms": 60.0, "document_uri": "http://a.test/",
        "timing": {"loadEventEnd": 20.0}, "quiet": True})
    assert (figures["request_urls"], figures["failed_requests"]) == (["http://a.test/"], {})
    assert figures["left_out"] == {"asked of the cache only": 1}


@pytest.mark.parametrize("scene", ["settled", "hanging", "killed"])
@pytest.mark.parametrize("uri", ["chrome-error://chromewebdata/", "data:,", "about:blank", None])
def test_a_page_of_chromes_own_never_gives_a_plt(tmp_path: Path, scene: str, uri: str | None) -> None:
    # It has a load event, and a fast one: 2013's tables were partly made of them. Until a server answers Chrome shows
    # the page it started with, "data:,".
    assert report(scene)["timing"]["loadEventEnd"] > 0
    figures = written(tmp_path, scene, document_uri=uri)
    assert figures["plt_ms"] is figures["first_byte_ms"] is figures["dom_content_loaded_ms"] is None
    assert figures["navigation_timing"] == {}
    assert figures["requests"] > 0, "what was asked for before is kept"
    assert "onLoad" not in (tmp_path / PAGE).read_text()
    pages = json.loads((tmp_path / f"{PAGE}.har").read_text())["log"]["pages"]
    assert all(page["pageTimings"].get("onLoad") in (None, -1) for page in pages)


@pytest.mark.parametrize(("uri", "error"), [
    ("chrome-error://chromewebdata/", True), ("http://a.test/?chrome-error://", False), (None, False), ("", False)])
def test_what_is_an_error_page(uri: str | None, error: bool) -> None:
    assert shows_error_page({"document_uri": uri}) == error
    assert not shows_error_page({})


@pytest.mark.parametrize("lost", [{"timing": None}, {"timing": {}}, {"timing": None, "time_origin_ms": None}])
def test_a_page_that_could_not_be_asked_has_no_times_but_its_requests(tmp_path: Path, lost: dict[str, Any]) -> None:
    figures = written(tmp_path, "killed", **lost)
    assert figures["plt_ms"] is figures["first_byte_ms"] is None
    assert figures["requests"] > 0
    assert (tmp_path / PAGE).stat().st_size > 0


def test_a_request_without_an_answer_is_unfinished_whatever_chrome_shows(tmp_path: Path) -> None:
    """Not aborted: that came from closing Chrome."""
    figures = [written(tmp_path, "hanging", document_uri=uri) for uri in ("http://a.test/", "data:,")]
    shown = [Counter(found["failed_requests"]) + Counter(found["failed_after_load"]) for found in figures]
    assert shown[0] == shown[1]
    assert figures[1]["failed_after_load"] == {}, "no load event of the page's: nothing came after it"


def test_a_load_event_that_never_came_is_no_plt_of_0(tmp_path: Path) -> None:
    timing = {**report("settled")["timing"], "loadEventEnd": 0}
    assert written(tmp_path, "settled", timing=timing)["plt_ms"] is None


def test_a_report_with_nothing_but_the_url(tmp_path: Path) -> None:
    figures = write_client_log(tmp_path, PAGE, netlog_file(tmp_path, "killed"), {"url": "http://a.test/"})
    assert figures["plt_ms"] is None
    assert figures["requests"] > 0


def cut_at_ms(folder: Path, scene: str) -> float:
    """Return a moment in the middle of the load, in ms from its start: some transactions are over, some not begun."""
    netlog = read_netlog(netlog_file(folder, scene))
    start_tick = start_of_load(netlog, report(scene))
    starts = sorted(transaction.start - start_tick for transaction in netlog.transactions)
    middle_ms = starts[len(starts) // 2]
    assert 0 < middle_ms < starts[-1]
    return middle_ms


def test_what_came_after_the_load_is_cut(tmp_path: Path) -> None:
    whole = written(tmp_path, "settled")
    whole_har = har_urls(tmp_path)
    cut_ms = cut_at_ms(tmp_path, "settled")
    figures = written(tmp_path, "settled", now_ms=cut_ms)
    assert 0 < figures["requests"] < whole["requests"]
    assert figures["last_ms"] <= cut_ms
    log = read_log(tmp_path / PAGE)
    assert all(transaction.start_ms <= transaction.end_ms <= cut_ms for transaction in log.transactions)
    assert len(log.transactions) + figures["failed_requests"].get("unfinished", 0) == figures["requests"]
    assert len(har_urls(tmp_path)) == figures["requests"] < len(whole_har)
    assert figures["plt_ms"] == whole["plt_ms"]


def test_what_was_under_way_at_the_end_is_counted_as_unfinished(tmp_path: Path) -> None:
    netlog = read_netlog(netlog_file(tmp_path, "settled"))
    start_tick = start_of_load(netlog, report("settled"))
    slow = max((transaction for transaction in netlog.transactions if transaction.end),
               key=lambda transaction: (transaction.end or 0) - transaction.start)
    middle_ms = (slow.start + (slow.end or 0)) / 2 - start_tick
    assert written(tmp_path, "settled", now_ms=middle_ms)["failed_requests"]["unfinished"] >= 1


def test_the_urls_that_loads_are_compared_by_are_cut_too(tmp_path: Path) -> None:
    figures = written(tmp_path, "settled", now_ms=cut_at_ms(tmp_path, "settled"))
    assert len(figures["request_urls"]) == figures["requests"]


def loading_anew() -> MadeNetLog:
    """Return the net-log of a page that asks for itself again while late.png of its first document comes."""
    made = MadeNetLog()
    made.begin("http://a.test/", main_frame=True)
    made.begin("http://a.test/late.png")
    made.body(*[b"x"] * 2 * SLACK_MS)
    made.end()
    return made


def test_what_the_replaced_document_still_asks_for_is_not_the_pages(tmp_path: Path) -> None:
    """Of a page that loads itself anew only the second document counts: the first one's last requests are a race."""
    made = loading_anew()
    late, made.source = made.source, 1
    made.head("200 OK", "Content-Type: text/html")
    made.end()
    made.source = late
    made.request("http://a.test/own.png", "200 OK", b"png")
    netlog = read_netlog(made.write(tmp_path / "netlog.json"))
    before = [transaction.url for transaction in netlog.transactions]
    leave_out_previous_document(netlog, start_tick=netlog.transactions[0].start)
    assert [transaction.url for transaction in netlog.transactions] == ["http://a.test/", "http://a.test/own.png"]
    assert before == ["http://a.test/", "http://a.test/late.png", "http://a.test/own.png"]
    assert netlog.left_out["of the document that was replaced"] == 1
    leave_out_previous_document(netlog, start_tick=netlog.transactions[-1].start)
    assert len(netlog.transactions) == 2, "no document, nothing to leave out"


def test_what_early_hints_lead_to_is_of_the_new_document(tmp_path: Path) -> None:
    made = loading_anew()
    late, made.source = made.source, 1
    made.early_hints("link: </early.css>; rel=preload; as=style")
    made.source = late
    made.request("http://a.test/early.css", "200 OK", b"p {}")
    late, made.source = made.source, 1
    made.body(*[b"x"] * 2 * SLACK_MS)
    made.head("200 OK", "Content-Type: text/html")
    made.end()
    netlog = read_netlog(made.write(tmp_path / "netlog.json"))
    assert netlog.transactions[0].early_hints == (("link", "</early.css>; rel=preload; as=style"),)
    leave_out_previous_document(netlog, start_tick=netlog.transactions[0].start)
    assert [transaction.url for transaction in netlog.transactions] == ["http://a.test/", "http://a.test/early.css"]
