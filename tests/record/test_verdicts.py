"""What is said of a recorded page: whether it is fit to be measured, and what a replay will lack."""

import re
from contextlib import nullcontext
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.files.pages import read_pages
from harness.record import truth
from harness.record.recorder import require_recordable
from harness.record.verdict import judge
from tests.support.made_netlog import MadeNetLog
from tests.support.seen_pages import PAGE, page_log, seen


@pytest.fixture
def log() -> MadeNetLog:
    return page_log()


@pytest.mark.parametrize(("status", "visit", "reason"), [
    ("404 Not Found", {}, "404 Not Found"), ("401 Unauthorized", {}, "asks for a login"),
    ("503 Service Unavailable", {}, "503"), ("200 OK", {"errors": ["no load event within 3 s"]}, "no load event"),
    ("200 OK", {"document_uri": "chrome-error://chromewebdata/"}, "error page")])
def test_pages_that_are_not_fit(tmp_path: Path, status: str, visit: dict[str, object], reason: str) -> None:
    log = MadeNetLog()
    log.request(PAGE, status, b"page", main_frame=True)
    verdict = judge(seen(log, tmp_path, **visit))
    assert not verdict.fit
    assert reason in verdict.reasons[0]
    assert f"NOT FIT: {verdict.reasons[0]}" in verdict.line(PAGE)
    assert verdict.lines(PAGE)[0] == f"{PAGE}: NOT fit for the experiment"


@pytest.mark.parametrize(("url", "problem"), [
    ("https://a.test:8443/x", "A.pages:2: https://a.test:8443/x: pages on other ports than 80 and 443 cannot"),
    ("http://a.test:443/", "A.pages:2: http://a.test:443/: pages on other ports"),
    ("http://a.test/x.har", "A.pages:2: http://a.test/x.har would have a log named"), ("http://a.test:80/", "")])
def test_what_cannot_be_replayed_is_refused_before_chrome_starts(tmp_path: Path, url: str, problem: str) -> None:
    list_file = tmp_path / "A.pages"
    list_file.write_text(f"http://b.test/\n{url}\n")
    with pytest.raises(InputError, match=re.escape(problem)) if problem else nullcontext():
        require_recordable(list_file, read_pages(list_file))


def test_a_page_that_never_came_or_came_too_often_is_not_fit(log: MadeNetLog, tmp_path: Path) -> None:
    assert judge(seen(MadeNetLog(), tmp_path)).reasons == ["the page itself never arrived"]
    empty = MadeNetLog()
    empty.request(PAGE, "200 OK", b"", main_frame=True)
    assert judge(seen(empty, tmp_path)).reasons == ["the page itself never arrived"]
    for _ in range(3):
        log.request(PAGE, "200 OK", b"page", main_frame=True)
    assert judge(seen(log, tmp_path)).reasons == ["it keeps loading itself anew, 4 times until the limit"]


def test_figures_of_a_verdict(log: MadeNetLog, tmp_path: Path) -> None:
    log.request("http://b.test/x", "200 OK", bytes(2000))
    log.request("http://c.test:8080/y", "404 Not Found", b"1")
    log.begin("http://d.test/")
    log.end(cancelled=True)
    verdict = judge(seen(log, tmp_path, quiet=False, popups=2))
    assert (verdict.fit, verdict.requests, verdict.hosts, verdict.bytes, verdict.failures) == (True, 4, 3, 2005, 1)
    assert verdict.line(PAGE) == f"{PAGE}: 4 requests, 3 hosts, 2.0 KB, 1 failed, 0.0 s"
    said = "\n".join(verdict.remarks)
    for words in ("1 failed, as they do for a visitor: 1 x net::ERR_ABORTED", "1 x 404 Not Found", "2 popups closed",
                  "c.test:8080", "never stopped loading"):
        assert words in said


@pytest.mark.parametrize(("failing", "fit"), [(1, True), (2, False)])
def test_a_page_most_of_which_came_is_fit_and_a_hollow_one_is_not(log: MadeNetLog, tmp_path: Path, failing: int,
                                                                  fit: bool) -> None:
    for number in range(10 - failing):
        log.request(f"http://a.test/{number}", "200 OK", b"x")
    for _ in range(failing):
        log.begin("http://gone.test/twice")
        log.end(error=-105)
    log.begin("http://a.test/cancelled")
    log.end(cancelled=True)
    verdict = judge(seen(log, tmp_path))
    assert verdict.failures == failing + 1
    assert verdict.fit == fit
    if not fit:
        assert verdict.reasons == ["2 of 11 requests failed: 2 x ERR_NAME_NOT_RESOLVED (gone.test)"]


def test_a_page_that_scripts_lead_on_from_is_another_page(log: MadeNetLog, tmp_path: Path) -> None:
    began = 1000.0 + len(log.events)
    log.request("http://a.test/home", "200 OK", b"home", main_frame=True)
    verdict = judge(seen(log, tmp_path, time_origin_ms=began))
    assert verdict.reasons == ["a script or Refresh of the page led on to another page, http://a.test/home: list that "
                               "one instead"]
    assert verdict.moved_on


@pytest.mark.parametrize(("load_event_ms", "mostly_late"), [(3.0, True), (400.0, False)])
def test_what_came_over_live_connections_after_the_load_event_is_said_to_be_missing(
        log: MadeNetLog, tmp_path: Path, load_event_ms: float, *, mostly_late: bool) -> None:
    log.begin("http://a.test/news")
    log.head("200 OK", "Content-Type: text/event-stream")
    log.body(b"data: one\n\n", b"data: two\n\n")
    recording = seen(log, tmp_path, time_origin_ms=1000.0, timing={"loadEventEnd": load_event_ms})
    [said] = [remark for remark in judge(recording).remarks if "1 x EventSource" in remark]
    assert ("most of it came after the load event and is not replayed" in said) == mostly_late


@pytest.mark.parametrize("status", ["200 OK", "403 Forbidden", "503 Service Unavailable"])
def test_a_document_that_is_fetched_ahead_is_not_the_page(log: MadeNetLog, tmp_path: Path, status: str) -> None:
    """<link rel=prefetch as=document>: of another origin Chrome logs it as a request of the main frame."""
    log.request("http://b.test/next", status, b"next", main_frame=True, ahead=True)
    recording = seen(log, tmp_path)
    assert [document.url for document in recording.documents()] == [PAGE]
    assert judge(recording).reasons == []


@pytest.mark.parametrize(("url", "mode", "status", "fit"), [
    (PAGE, "navigate", "200 OK", True), (PAGE, "navigate", "304 Not Modified", True),
    (PAGE, "cors", "200 OK", False), ("http://a.test/frame", "navigate", "200 OK", False), ("", "", "", False)])
def test_a_page_that_its_service_worker_shows_in_the_end_is_measured_if_the_worker_asks_a_server(
        log: MadeNetLog, tmp_path: Path, url: str, mode: str, status: str, *, fit: bool) -> None:
    """Chrome asks the worker, and the worker's own request is not one of the main frame's."""
    assert judge(seen(log, tmp_path, time_origin_ms=1000.0)).fit
    shown_ms = 1000.0 + len(log.events) + 50
    while len(log.events) < shown_ms - 1000 + 1:
        log.add("HTTP_TRANSACTION_READ_HEADERS")
    if url:
        log.begin(url, sent=(f"Sec-Fetch-Mode: {mode}", "Sec-Fetch-Dest: empty"))
        log.head(status, "Content-Type: text/html")
        log.end()
    recording = seen(log, tmp_path, time_origin_ms=shown_ms)
    assert [bool(truth.taken_over(recording)), judge(recording).fit] == [not fit, fit]


def test_what_a_document_asked_for_that_was_replaced_is_told_apart(log: MadeNetLog, tmp_path: Path) -> None:
    """A question for consent, say: loads begin behind it."""
    log.request("http://a.test/question.js", "200 OK", b"ask()")
    origin_ms = 1000.0 + len(log.events) + 10
    while len(log.events) < origin_ms - 1000:
        log.add("HTTP_TRANSACTION_READ_HEADERS")
    log.begin(PAGE, main_frame=True)
    question, log.source = log.source, log.source + 1
    log.request("http://a.test/last-of-the-question.js", "200 OK", b"1")
    log.source, last = question, log.source
    log.head("200 OK", "Content-Type: text/html")
    log.body(b"the page")
    log.end()
    log.source = last
    log.request("http://a.test/page.js", "200 OK", b"2")
    recording = seen(log, tmp_path, time_origin_ms=origin_ms)
    assert any("another document came before" in remark for remark in judge(recording).remarks)
    entries = recording.har()["log"]["entries"]
    assert [bool(entry.get("_beforeDocument")) for entry in entries] == [True, True, False, True, False]
    alone = seen(log, tmp_path, time_origin_ms=1000.0)
    assert not any("another document" in remark for remark in judge(alone).remarks)
    assert not any(entry.get("_beforeDocument") for entry in alone.har()["log"]["entries"])


def test_reports_of_chromes_own_are_not_the_pages(log: MadeNetLog, tmp_path: Path) -> None:
    """Nor the preflight for one: no replay asks for reports, so no load would get what they were answered."""
    for url, method, sent in (("http://b.test/reports", "OPTIONS", ()), ("http://b.test/other", "OPTIONS", ()),
                              ("http://b.test/reports", "POST", ("Content-Type: application/reports+json",))):
        log.begin(url, method, sent=sent)
        log.head("204 No Content")
        log.end()
    assert [each.url for each in seen(log, tmp_path).requests] == [PAGE, "http://b.test/other"]
