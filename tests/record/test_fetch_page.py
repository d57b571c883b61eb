"""A visit turned into a recording and a verdict: what is kept of answers that came half, in parts, or never."""

import base64
import errno
import os
import re
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.files.pages import read_pages
from harness.files.text_log import read_log
from harness.mirror.recording import read_recording
from harness.netlog.file import BEGIN, END
from harness.netlog.load import HttpTransaction
from harness.record.archive import to_har
from harness.record.page import CapturedExchange, PageRecording, evaluate
from harness.record.recorder import require_recordable
from harness.record.refetch import Fetched, Refetcher
from harness.record.store import Store
from harness.record.verdict import judge
from harness.record.visit import Visit
from tests.support.made_netlog import MadeNetLog

PAGE = "http://a.test/"
STREAMED = f"{PAGE}streamed?{'x' * 300}"


class Again(Refetcher):
    """Answers from a table, and notes what it was asked for."""

    def __init__(self, answers: dict[str, Fetched]) -> None:
        self.answers, self.asked = answers, list[str]()

    def fetch(self, transaction: HttpTransaction) -> Fetched:
        self.asked.append(transaction.url)
        return self.answers.get(transaction.url, Fetched(error="no such host"))


@pytest.fixture
def log() -> MadeNetLog:
    made = MadeNetLog()
    made.request(PAGE, "200 OK", b"page", "Content-Type: text/html", main_frame=True)
    return made


def seen(log: MadeNetLog, tmp_path: Path, refetcher: Refetcher | None = None, **visit: object) -> PageRecording:
    report = Visit(start_tick=1000, end_tick=1000.0 + len(log.events), loaded=True, quiet=True, document_uri=PAGE)
    for name, value in visit.items():
        setattr(report, name, value)
    return evaluate(PAGE, report, log.write(tmp_path / "netlog.json"), refetcher)


def answer(recording: PageRecording, url: str) -> CapturedExchange:
    return next(exchange for exchange in recording.exchanges if exchange.url == url)


def test_an_answer_is_whole_when_its_length_came(log: MadeNetLog, tmp_path: Path) -> None:
    log.request("http://a.test/all", "200 OK", b"12345", "Content-Length: 5", cancelled=True)
    log.request("http://a.test/half", "200 OK", b"12345", "Content-Length: 9")
    log.request("http://a.test/chunked", "200 OK", b"12345", cancelled=True)
    recording = seen(log, tmp_path)
    assert [exchange.whole for exchange in recording.exchanges] == [True, True, False, False]
    assert answer(recording, "http://a.test/half").body == b"12345"


def post_over(log: MadeNetLog, connection: int, body: bytes) -> None:
    """Write a POST to a socket, which is made for it unless it stands."""
    log.source, log.kind = connection, "SOCKET"
    head = f"POST /api HTTP/1.1\r\nHost: a.test\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    log.add("SOCKET_BYTES_SENT", bytes=base64.b64encode(head + body).decode())


@pytest.mark.parametrize("ties", [False, True])
def test_requests_at_once_over_two_connections_keep_their_bodies(log: MadeNetLog, tmp_path: Path, ties: bool) -> None:
    """The second POST overtakes the first, which was also tried over a connection that was dead."""
    for job, connection in ((91, 81), (92, 82)):
        log.source, log.kind = connection, "SOCKET"
        log.add("TCP_CONNECT", BEGIN)
        log.add("TCP_CONNECT", END, remote_address="10.0.0.1:80")
        log.add("SOCKET_IN_USE", BEGIN, source_dependency={"id": job, "type": 9})
    log.source, log.kind = 1, "URL_REQUEST"
    for job in (91, 92):
        log.begin("http://a.test/api", "POST", job=job)
        log.head("200 OK")
        log.end()
    for connection, body in ((80, b"first"), (82, b""), (82, b"second"), (81, b"first")):
        post_over(log, connection, body)
    if ties:
        for event in log.events[-4:]:
            event["time"] = log.events[-1]["time"]
    log.source, log.kind = 3, "URL_REQUEST"
    log.begin("http://a.test/api", "POST", job=92)
    log.head("200 OK")
    posts = [exchange for exchange in seen(log, tmp_path).exchanges if exchange.transaction.method == "POST"]
    assert [exchange.sent for exchange in posts] == [b"first", b"", b"second"]


@pytest.mark.parametrize(("content_range", "whole"), [
    ("bytes 0-4/5", True), ("bytes 0-4/9", False), ("bytes 4-8/9", False), ("bytes 0-4/*", False), ("", False)])
def test_a_part_is_whole_when_it_is_all(log: MadeNetLog, tmp_path: Path, content_range: str, whole: bool) -> None:
    log.request("http://a.test/film", "206 Partial Content", b"12345", f"Content-Range: {content_range}")
    assert answer(seen(log, tmp_path), "http://a.test/film").whole == whole


def test_what_was_given_up_is_fetched_again(log: MadeNetLog, tmp_path: Path, store: Store) -> None:
    log.request("http://a.test/half", "200 OK", b"12", "Content-Length: 4", "Content-Type: text/css", cancelled=True)
    log.begin("http://a.test/early")
    log.end(cancelled=True)
    again = Again({"http://a.test/half": Fetched(200, "OK", (), b"1234"),
                   "http://a.test/early": Fetched(404, "Gone Fishing", (("Content-Type", "text/plain"),), b"none")})
    recording = seen(log, tmp_path, again)
    assert again.asked == ["http://a.test/half", "http://a.test/early"]
    recording.write(store, "page")
    assert (store.mirror / "a.test/half").read_bytes() == b"1234"
    text = read_log(store.fetchlog / "page")
    assert {response.url: (response.status, response.mime_type) for response in text.responses} == {
        PAGE: ("OK", "text/html"), "http://a.test/half": ("OK", "text/css"),
        "http://a.test/early": ("404 Gone Fishing", "text/plain")}
    half, early = to_har(recording)["log"]["entries"][1:]
    assert (half["_refetched"], half["response"]["bodySize"], "_error" in half) == (True, 4, False)
    assert (early["response"]["status"], early["_file"]) == (404, "a.test/early")
    assert judge(recording).remarks[-1] == "2 fetched a second time, since Chrome gave up half way"


def test_a_part_that_a_page_asked_for_was_not_given_up(log: MadeNetLog, tmp_path: Path, store: Store) -> None:
    """All of it is kept, since a replay may be asked for another part; but Chrome got what it asked for."""
    film = "http://a.test/film"
    log.request(film, "206 Partial Content", b"12345", "Content-Length: 5", "Content-Range: bytes 0-4/9")
    recording = seen(log, tmp_path, Again({film: Fetched(200, "OK", (), b"123456789")}))
    recording.write(store, "page")
    assert (store.mirror / "a.test/film").read_bytes() == b"123456789"
    assert to_har(recording)["log"]["entries"][1]["response"]["bodySize"] == 5
    verdict = judge(recording)
    assert verdict.remarks == ["1 fetched as a whole, too, since the page asked for a part"]
    assert verdict.bytes == len(b"page") + 5
    assert judge(seen(log, tmp_path)).not_recordable == {"the rest of what the page asked for a part of": 1}


def test_what_came_another_time_or_was_posted_is_not_fetched_again(log: MadeNetLog, tmp_path: Path,
                                                                   store: Store) -> None:
    log.request("http://a.test/x", "200 OK", b"12", "Content-Length: 4", cancelled=True)
    log.request("http://a.test/x", "200 OK", b"1234", "Content-Length: 4")
    log.request("http://a.test/post", "200 OK", b"1", method="POST", cancelled=True)
    again = Again({})
    recording = seen(log, tmp_path, again)
    assert again.asked == []
    recording.write(store, "page")
    assert (store.mirror / "a.test/x").read_bytes() == b"1234"


def test_fetching_again_in_vain_is_said(log: MadeNetLog, tmp_path: Path) -> None:
    log.request("http://a.test/half", "200 OK", b"12", "Content-Length: 4", cancelled=True)
    log.request("http://a.test/other", "200 OK", b"12", "Content-Length: 4", cancelled=True)
    recording = seen(log, tmp_path, Again({"http://a.test/other": Fetched(403, "Forbidden")}))
    assert "no such host" in recording.text()
    assert "status 403" in recording.text()
    assert judge(recording).not_recordable == {"given up half way": 2}


def test_what_was_given_up_before_its_first_byte_and_came_whole_makes_no_second_file(
        log: MadeNetLog, tmp_path: Path, store: Store) -> None:
    log.request("http://a.test/x", "200 OK", b"", "Content-Length: 4", cancelled=True)
    log.request("http://a.test/x", "200 OK", b"1234", "Content-Length: 4")
    log.request("http://a.test/never", "200 OK", b"", "Content-Length: 4", cancelled=True)
    recording = seen(log, tmp_path)
    recording.write(store, "page")
    assert [exchange.file for exchange in recording.exchanges[1:]] == ["", "a.test/x", "a.test/never"]


def test_what_is_not_over_is_kept_as_far_as_it_came(log: MadeNetLog, tmp_path: Path, store: Store) -> None:
    log.begin("http://a.test/stream")
    log.head("200 OK")
    log.body(b"12345")
    log.begin("http://a.test/hanging")
    again = Again({})
    recording = seen(log, tmp_path, again)
    assert again.asked == []
    assert answer(recording, "http://a.test/stream").body == b"12345"
    assert judge(recording).not_recordable == {"hanging (no answer came)": 1}
    assert any("(1 x answer without an end): what came over them is replayed" in remark
               for remark in judge(recording).remarks)
    assert judge(recording).fit
    recording.write(store, "page")
    stream, hanging = to_har(recording)["log"]["entries"][1:]
    assert (stream["_partial"], stream["_error"]) == (True, "unfinished")
    assert stream["_file"] == "a.test/stream"
    assert (hanging["_partial"], hanging["_error"], hanging["response"]["status"]) == (True, "unfinished", 0)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_a_full_or_broken_disk_ends_the_recording(log: MadeNetLog, tmp_path: Path, store: Store,
                                                  monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def fail(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    recording = seen(log, tmp_path)
    monkeypatch.setattr(Path, "write_bytes", fail)
    with pytest.raises(OSError, match=os.strerror(number)):
        recording.write(store, "page")


def test_a_body_whose_url_makes_no_file_is_only_noted(log: MadeNetLog, tmp_path: Path, store: Store) -> None:
    log.request(f"http://{'a' * 300}.test/", "200 OK", b"12345")
    recording = seen(log, tmp_path)
    recording.write(store, "page")
    assert recording.exchanges[1].note.startswith("its body cannot be kept: ")


def test_readers_of_the_text_log_find_each_status_again(log: MadeNetLog, tmp_path: Path, store: Store) -> None:
    statuses = {200: "OK", 201: "Created", 404: "Nope", 418: "Short and Stout", 500: "", 301: "Gone", 307: "Internal"}
    for code, words in statuses.items():
        log.begin(f"http://a.test/{code}")
        log.head(f"{code} {words}")
        if code in (301, 307):
            log.add("URL_REQUEST_REDIRECTED", location="http://b.test/")
            log.job("http://b.test/")
            log.head("200 OK")
        log.body(b"body")
        log.end()
    seen(log, tmp_path).write(store, "page")
    recording = read_recording(store.mirror, store.fetchlog)        # without the HAR, which has the codes
    for code in statuses:
        found = recording.lookup("a.test", f"/{code}")
        assert found is not None
        assert found.status == code


def test_a_get_stands_for_its_url_whatever_else_was_sent_there(log: MadeNetLog, tmp_path: Path, store: Store) -> None:
    log.request("http://a.test/x", "200 OK", b"to a GET", "Content-Type: text/plain")
    log.request("http://a.test/x", "403 Forbidden", b"to a POST", method="POST")
    log.request("http://a.test/x", "304 Not Modified")
    seen(log, tmp_path).write(store, "page")
    assert (store.mirror / "a.test/x").read_bytes() == b"to a GET"
    found = read_recording(store.mirror, store.fetchlog).lookup("a.test", "/x")
    assert found is not None
    assert (found.status, found.mime_type) == (200, "text/plain")


@pytest.mark.parametrize(("status", "visit", "reason"), [
    ("404 Not Found", {}, "404 Not Found"), ("401 Unauthorized", {}, "asks for a login"),
    ("503 Service Unavailable", {}, "503"), ("200 OK", {"errors": ["no load event within 3 s"]}, "no load event"),
    ("200 OK", {"document_uri": "chrome-error://chromewebdata/"}, "error page")])
def test_pages_that_are_not_fit(tmp_path: Path, status: str, visit: dict[str, object], reason: str) -> None:
    log = MadeNetLog()
    log.request(PAGE, status, b"page", main_frame=True)
    verdict = judge(seen(log, tmp_path, None, **visit))
    assert not verdict.fit
    assert reason in verdict.reasons[0]
    assert f"NOT FIT: {verdict.reasons[0]}" in verdict.line(PAGE)
    assert verdict.lines(PAGE)[0] == f"{PAGE}: NOT fit for the experiment"


@pytest.mark.parametrize(("urls", "said"), [
    ([PAGE, f"{PAGE}b"] * 10, f"it redirects in a circle: {PAGE}, {PAGE}b"),
    ([f"{PAGE}{number}" for number in range(20)], f"it redirects more than 19 times: {PAGE}0, ")])
def test_a_page_that_only_redirects_is_not_fit(tmp_path: Path, urls: list[str], said: str) -> None:
    """It was "the server answered 302 Found: it does not give the page to us"."""
    log = MadeNetLog()
    for url in urls:
        log.request(url, "302 Found", main_frame=True)
    [reason] = judge(seen(log, tmp_path, errors=["Chrome shows an error page: net::ERR_TOO_MANY_REDIRECTS"])).reasons
    assert reason.startswith(said)


def test_what_could_not_be_read_of_a_source_is_said(log: MadeNetLog, tmp_path: Path) -> None:
    recording = seen(log, tmp_path)
    recording.brought_from, recording.source_remarks = "x.warc", ["the rest of x.warc cannot be read"]
    assert "the rest of x.warc cannot be read" in judge(recording).remarks


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
    verdict = judge(seen(log, tmp_path, quiet=False, popups=2, inline={"data:": 3, "blob:": 0}))
    assert (verdict.fit, verdict.requests, verdict.hosts, verdict.bytes, verdict.failures) == (True, 4, 3, 2005, 1)
    assert verdict.line(PAGE) == f"{PAGE}: 4 requests, 3 hosts, 2.0 KB, 1 failed, 0.0 s"
    said = "\n".join(verdict.remarks)
    for words in ("1 failed, as they do for a visitor: 1 x net::ERR_ABORTED", "1 x 404 Not Found", "3 x data:",
                  "2 popups closed", "c.test:8080", "never stopped loading"):
        assert words in said
    assert "blob" not in said


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


def test_what_fails_after_the_load_event_does_not_make_a_page_hollow(log: MadeNetLog, tmp_path: Path) -> None:
    origin = 1000.0
    log.begin("http://gone.test/")
    log.end(error=-105)
    late = seen(log, tmp_path, time_origin_ms=origin, timing={"loadEventEnd": 4.0})
    assert judge(late).fit
    assert any("1 failed" in said and "1 of them after the load event" in said for said in judge(late).remarks)
    assert not judge(seen(log, tmp_path, time_origin_ms=origin, timing={"loadEventEnd": 400.0})).fit


def test_a_page_that_scripts_lead_on_from_is_another_page(log: MadeNetLog, tmp_path: Path) -> None:
    began = 1000.0 + len(log.events)
    log.request("http://a.test/home", "200 OK", b"home", main_frame=True)
    verdict = judge(seen(log, tmp_path, time_origin_ms=began))
    assert verdict.reasons == ["a script or Refresh of the page led on to another page, http://a.test/home: list that "
                               "one instead"]
    assert verdict.moved_on


def test_a_page_that_reloads_is_the_same_page(log: MadeNetLog, tmp_path: Path) -> None:
    began = 1000.0 + len(log.events)
    log.request(PAGE, "200 OK", b"page", main_frame=True)
    assert judge(seen(log, tmp_path, time_origin_ms=began)).fit


@pytest.mark.parametrize(("ms", "header", "remarked"), [
    (2500, "Content-Type: text/html", True), (900, "Content-Type: text/html", False),
    (2500, "Content-Length: 4", False)])
def test_the_pauses_of_a_stream_that_ended_are_said_not_to_be_replayed(log: MadeNetLog, tmp_path: Path, ms: int,
                                                                       header: str, *, remarked: bool) -> None:
    log.begin(STREAMED)
    log.head("200 OK", header)
    log.body(b"ab", b"cd")
    log.end()
    second = len(log.events) - 3
    assert log.events[second]["params"]["bytes"]
    for event in log.events[second:]:
        event["time"] = str(int(event["time"]) + ms)
    verdict = judge(seen(log, tmp_path, end_tick=1000.0 + len(log.events) + ms))
    said = [remark for remark in verdict.remarks if "in pieces" in remark]
    assert said == (["1 answer came in pieces, with pauses of up to 2.5 s, which are not replayed: "
                     f"{STREAMED[:99]}…"] if remarked else [])
    assert verdict.fit


@pytest.mark.parametrize(("load_event_ms", "mostly_late"), [(3.0, True), (400.0, False)])
def test_what_came_over_live_connections_after_the_load_event_is_said_to_be_missing(
        log: MadeNetLog, tmp_path: Path, load_event_ms: float, *, mostly_late: bool) -> None:
    log.begin("http://a.test/news")
    log.head("200 OK", "Content-Type: text/event-stream")
    log.body(b"data: one\n\n", b"data: two\n\n")
    recording = seen(log, tmp_path, time_origin_ms=1000.0, timing={"loadEventEnd": load_event_ms})
    [said] = [remark for remark in judge(recording).remarks if "1 x EventSource" in remark]
    assert ("most of it came after the load event and is not replayed" in said) == mostly_late


def test_what_chrome_took_from_its_cache_is_no_request(log: MadeNetLog, tmp_path: Path) -> None:
    log.request("http://a.test/x", "200 OK", b"x")
    log.request("http://a.test/x", "200 OK", b"x")
    recording = seen(log, tmp_path)
    assert judge(recording).requests == 3
    cached = recording.exchanges[2]
    cached.transaction = replace(cached.transaction, from_cache=True)
    assert judge(recording).requests == 2


def test_a_page_that_leads_to_nothing_stays(log: MadeNetLog, tmp_path: Path) -> None:
    log.request("http://a.test/counted", "204 No Content", main_frame=True)
    assert judge(seen(log, tmp_path)).fit


@pytest.mark.parametrize("status", ["200 OK", "403 Forbidden", "503 Service Unavailable"])
def test_a_document_that_is_fetched_ahead_is_not_the_page(log: MadeNetLog, tmp_path: Path, status: str) -> None:
    """<link rel=prefetch as=document>: of another origin Chrome logs it as a request of the main frame."""
    log.request("http://b.test/next", status, b"next", main_frame=True, ahead=True)
    recording = seen(log, tmp_path)
    assert [document.url for document in recording.documents()] == [PAGE]
    assert judge(recording).reasons == []


def test_a_page_that_its_service_worker_shows_in_the_end_cannot_be_measured(log: MadeNetLog, tmp_path: Path) -> None:
    shown_ms = 1000.0 + len(log.events) + 50
    assert judge(seen(log, tmp_path, time_origin_ms=1000.0)).fit
    verdict = judge(seen(log, tmp_path, time_origin_ms=shown_ms))
    assert verdict.reasons == [
        "it loads itself anew, and then no server is asked for it: its service worker, or a script, has it"]


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
    entries = to_har(recording)["log"]["entries"]
    assert [bool(entry.get("_beforeDocument")) for entry in entries] == [True, True, False, True, False]
    alone = seen(log, tmp_path, time_origin_ms=1000.0)
    assert not any("another document" in remark for remark in judge(alone).remarks)
    assert not any(entry.get("_beforeDocument") for entry in to_har(alone)["log"]["entries"])


def test_reports_of_chromes_own_are_not_the_pages(log: MadeNetLog, tmp_path: Path) -> None:
    """Nor the preflight for one: no replay asks for reports, so no load would get what they were answered."""
    for url, method, sent in (("http://b.test/reports", "OPTIONS", ()), ("http://b.test/other", "OPTIONS", ()),
                              ("http://b.test/reports", "POST", ("Content-Type: application/reports+json",))):
        log.begin(url, method, sent=sent)
        log.head("204 No Content")
        log.end()
    assert [exchange.url for exchange in seen(log, tmp_path).exchanges] == [PAGE, "http://b.test/other"]


def test_what_chrome_took_from_its_cache_did_not_fail(log: MadeNetLog, tmp_path: Path) -> None:
    """Whatever its status: frames of a page that take a script by way of one redirect, say."""
    log.request("http://a.test/gone", "404 Not Found", b"no", "Content-Type: text/plain")
    log.begin("http://a.test/latest.js")
    log.head("302 Found", "Location: /1.2.js", "Cache-Control: max-age=60")
    log.add("URL_REQUEST_REDIRECTED", location="http://a.test/1.2.js")
    log.end()
    for _ in range(5):
        log.cached("http://a.test/gone", b"no")
        log.cached("http://a.test/latest.js", redirect_to="http://a.test/1.2.js")
    recording = seen(log, tmp_path)
    assert judge(recording).fit
    assert [exchange.status for exchange in recording.exchanges[3:]] == [404, 302] * 5


def test_a_video_of_which_a_player_takes_the_beginning_is_no_live_connection(log: MadeNetLog, tmp_path: Path) -> None:
    log.begin("http://a.test/film.mp4")
    log.head("206 Partial Content", "Content-Length: 90000", "Content-Range: bytes 0-89999/90000")
    log.body(b"x" * 500)
    verdict = judge(seen(log, tmp_path))
    assert verdict.not_recordable == {"still arriving at the end": 1}
    assert not any("live connections" in remark for remark in verdict.remarks)


def test_live_connections_are_said_to_be_missing(log: MadeNetLog, tmp_path: Path) -> None:
    log.request("wss://a.test/live", "101 Switching Protocols")
    log.begin("http://a.test/news")
    log.head("200 OK", "Content-Type: text/event-stream")
    said = "\n".join(judge(seen(log, tmp_path)).remarks)
    assert "live connections are not replayed (1 x WebSocket, 1 x EventSource)" in said
    assert "may be empty" in said
