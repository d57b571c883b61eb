"""What Chrome asked for and what the servers answered are put together, request by request."""

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from harness.analysis.causes import dependencies
from harness.analysis.critical_path import critical_path
from harness.analysis.timeline import make_timeline
from harness.files.exchange import Fate
from harness.files.load_event import LoadEvent
from harness.files.load_parts import ReceivedAnswer, ReceivedAnswers
from harness.files.server_log import ServerRequest
from harness.measure.received import received_answers
from tests.support.made_har import PAGE, MadeLoad

BEGAN = datetime(2026, 11, 22, 1, 0, tzinfo=timezone.utc)


def entry(url: str, start_ms: float = 0, *, status: int = 200, method: str = "GET", error: str = "", size: int = 10,
          accept: str = "image/*", connection: str = "7", **more: Any) -> dict[str, Any]:
    timings = {"blocked": 1, "dns": -1, "connect": 20, "ssl": -1, "send": 0, "wait": 20, "receive": 1}
    found = {"startedDateTime": (BEGAN + timedelta(milliseconds=start_ms)).isoformat(timespec="milliseconds"),
             "timings": timings, "request": {"url": url, "method": method,
                                             "headers": [{"name": "Accept", "value": accept}]},
             "response": {"status": status, "content": {"size": size, "mimeType": "image/gif"}}, **more}
    return found | ({"connection": connection} if connection else {}) | ({"_error": error} if error else {})


def served(path: str, time_s: float = 0.0, *, found: str = "plain", answer: str = "id", method: str = "GET",
           host: str = "a.test", scheme: str = "http") -> ServerRequest:
    return ServerRequest(host, BEGAN.timestamp() + time_s, 1, 1, method, path, 200, 10, found, syn_data=False,
                         scheme=scheme, answer=answer)


def of(entries: list[dict[str, Any]], requests: list[ServerRequest], plt_ms: float | None = 1000,
       critical: frozenset[int] | None = frozenset()) -> ReceivedAnswers:
    load_event = None if plt_ms is None else LoadEvent(plt_ms, plt_ms)
    return received_answers(entries, BEGAN, load_event, requests, critical)


def test_a_request_is_found_in_its_servers_log() -> None:
    got = of([entry("http://a.test/x?y=1#z", accept="text/css,*/*;q=0.1")],
             [served("/x?y=1", answer="right"), served("/x", answer="other path"),
              served("/x?y=1", host="b.test", answer="other host"), served("/x?y=1", scheme="https", answer="tls"),
              served("/x?y=1", method="POST", answer="other method"), served("-", found="silent", answer="-")])
    assert got == ReceivedAnswers(1, 0, 0, 0, (ReceivedAnswer(
        "http://a.test/x?y=1#z", "exact", "right", 200, 10, critical=False, purpose="style"),))


@pytest.mark.parametrize(("url", "path"), [
    ("http://a.test", "/"), ("http://a.test/", "/"), ("http://a.test?q", "/?q"), ("http://a.test:8000/x", "/x"),
    ("http://a.test/x?", "/x?"), ("http://a.test//x", "//x")])
def test_a_urls_target_is_what_the_server_saw(url: str, path: str) -> None:
    assert of([entry(url)], [served(path)]).each[0].identity == "id"


def test_of_several_to_one_url_the_first_sent_was_the_first_served() -> None:
    entries = [entry("http://a.test/poll", start) for start in (300, 100, 200)]
    got = of(entries, [served("/poll", at, answer=f"{number}") for number, at in ((3, 0.3), (1, 0.1), (2, 0.2))])
    assert [answer.identity for answer in got.each] == ["1", "2", "3"]


def test_what_an_earlier_document_asked_for_is_not_what_the_shown_one_got() -> None:
    """A page that loads itself again: the load begins with its second document, of as many bytes as the first."""
    requests = [served("/", -0.1, answer="first"), served("/x", -0.05, answer="kept"), served("/", answer="shown")]
    got = of([entry("http://a.test/"), entry("http://a.test/x", 10, _fromCache="memory")], requests)
    assert [answer.identity for answer in got.each] == ["shown"]
    assert got.from_cache == ("kept",)


def test_of_several_to_one_url_at_once_each_has_its_own_size() -> None:
    entries = [entry("http://a.test/graphql", method="POST") for _ in range(3)]
    for asked, size in zip(entries, (44, 43, 44), strict=True):
        asked["response"]["bodySize"] = size
    requests = [replace(served("/graphql", at, method="POST", answer=f"{size} at {at}"), bytes=size)
                for size, at in ((43, 0.1), (44, 0.2), (44, 0.3))]
    assert [answer.identity for answer in of(entries, requests).each] == ["44 at 0.2", "43 at 0.1", "44 at 0.3"]


def test_one_that_never_reached_a_server_takes_no_others_answer() -> None:
    refused = entry("http://a.test/x", 0, status=0, error="net::ERR_CONNECTION_REFUSED", connection="")
    got = of([refused, entry("http://a.test/x", 100)], [served("/x", 0.1)])
    assert [(answer.kind, answer.identity) for answer in got.each] == [("failed", ""), ("exact", "id")]
    assert (got.exact, got.failed) == (1, 1)


def test_one_that_the_page_took_back_takes_no_others_answer() -> None:
    aborted = entry("http://a.test/graphql", 0, method="POST", error="net::ERR_ABORTED", size=0)
    whole = entry("http://a.test/graphql", 1, method="POST")
    aborted["response"]["bodySize"], whole["response"]["bodySize"] = 0, 43
    requests = [replace(served("/graphql", at, method="POST", answer=f"{size}"), bytes=size)
                for size, at in ((43, 0.1), (44, 0.2))]
    assert [answer.identity for answer in of([aborted, whole], requests).each] == ["44", "43"]


def test_kinds_of_answers() -> None:
    statuses = {"plain": 200, "masked": 200, "missing": 404, "not logged": 200, "neither": 404}
    entries = [entry(f"http://a.test/{name}", status=status) for name, status in statuses.items()]
    got = of(entries, [served("/plain"), served("/masked", found="masked"), served("/missing", found="missing")])
    assert [answer.kind for answer in got.each] == ["exact", "stand-in", "missing", "exact", "missing"]
    assert (got.exact, got.stand_in, got.missing, got.failed) == (2, 1, 2, 0)


@pytest.mark.parametrize(("found", "kind", "own_will"), [
    ("plain", "failed", True), ("status", "failed", True), ("masked", "stand-in", False), ("ended", "stand-in", False),
    ("missing", "missing", False)])
def test_what_the_page_may_not_read_is_its_own_will_only_where_it_was_recorded_so(found: str, kind: str,
                                                                                 own_will: bool) -> None:
    got = of([entry("http://a.test/x", error="net::ERR_BLOCKED_BY_ORB")], [served("/x", found=found)])
    assert [(answer.kind, answer.fate is Fate.CANCELLED) for answer in got.each] == [(kind, own_will)]
    assert (got.failed, got.stand_in, got.missing) == (0, int(kind == "stand-in"), int(kind == "missing"))


def test_what_is_not_counted_is_told_as_far_as_it_is_known() -> None:
    late, cached = entry("http://a.test/late", 1001, _afterLoad=True), entry("http://a.test/cached", _fromCache="disk")
    cancelled = entry("http://a.test/cancelled", error="net::ERR_ABORTED")
    got = of([late, cached, cancelled], [served("/late"), served("/cancelled")])
    assert (got.exact, got.failed) == (0, 0)
    assert [(answer.late, answer.fate is Fate.CANCELLED) for answer in got.each] == [(False, True), (True, False)]


def test_what_chrome_had_already_is_known_by_what_a_server_sent_before() -> None:
    """A page that loads itself again: the HAR has its last document, the servers' logs have both."""
    cached = [entry(f"http://a.test/{name}", _fromCache="memory") for name in ("x", "y")]
    late = entry("http://a.test/x", 1001, _fromCache="memory", _afterLoad=True)
    assert of([*cached, late], [served("/x"), served("/y", found="missing")]).from_cache == ("id", "")


def test_an_answer_that_was_cut_had_begun() -> None:
    cut = entry("http://a.test/endless", error="unfinished")
    silent = entry("http://a.test/x", status=0, error="unfinished")
    got = of([cut, silent], [served("/endless"), served("/x")])
    assert [(answer.kind, answer.fate) for answer in got.each] == [("exact", Fate.CUT), ("failed", Fate.FAILED)]


def test_what_the_page_waited_for_is_marked() -> None:
    entries, critical = [entry("http://a.test/x"), entry("http://a.test/y")], frozenset({0})
    requests = [served("/x"), served("/y")]
    assert [answer.critical for answer in of(entries, requests, critical=critical).each] == [True, False]
    assert of(entries, requests, critical=None).each[0].critical is None


def test_of_several_to_one_url_only_that_is_marked_which_the_page_waited_for() -> None:
    """GraphQL: the page waits for the second query, the others are in nobody's way."""
    load = MadeLoad(1000.0)
    end = load.add(PAGE, 0, "document", referer="")
    for wait in (100, 300, 200):
        load.add(f"{PAGE}graphql", end + 1, "script", wait=wait)
    for asked in load.entries:
        asked["request"]["method"], asked["response"]["content"]["size"] = "POST", 10
    timeline = make_timeline(load.log(), load.record(), load.plt_ms)
    path = critical_path(timeline, dependencies(timeline))
    got = of(load.entries, [], critical=frozenset(step.entry for step in path))
    assert [answer.critical for answer in got.each] == [True, False, True, False]


def test_a_websocket_that_was_not_recorded_is_a_stand_in_though_the_har_has_none() -> None:
    refused = replace(served("/socket", 0.2, found="live", answer="-", scheme="https"), status=501)
    held = replace(served("/talk", 0.2, found="live", answer="-", scheme="https"), status=101)
    got = of([entry("http://a.test/x")], [served("/x"), refused, held])
    assert (got.exact, got.stand_in, got.missing) == (1, 1, 0)
    assert [answer.url for answer in got.each] == ["http://a.test/x", "wss://a.test/socket"]


def test_what_got_no_answer_when_it_was_recorded_is_told_apart() -> None:
    unanswered = replace(served("/lost.js", found="unanswered"), status=504)
    got = of([entry("http://a.test/x"), entry("http://a.test/lost.js", status=504)], [served("/x"), unanswered])
    assert (got.exact, got.missing, got.failed, got.failed_as_recorded) == (1, 0, 0, 1)


def test_what_hung_when_it_was_recorded_hangs_and_counts_as_cut() -> None:
    hung = replace(served("/poll", found="unanswered"), status=0, bytes=0)
    got = of([entry("http://a.test/x"), entry("http://a.test/poll", status=0, error="unfinished", size=0)],
             [served("/x"), hung])
    assert (got.exact, got.failed, got.failed_as_recorded) == (1, 0, 1)
    assert [answer.fate in (Fate.CUT, Fate.HUNG_AS_RECORDED) for answer in got.each] == [False, True]


def test_what_did_not_answer_when_it_was_recorded_either_is_expected_to_fail() -> None:
    entries = [entry("https://gone.test/x", status=0, error="net::ERR_NAME_NOT_RESOLVED", connection=""),
               entry("http://gone.test/x", status=0, error="net::ERR_NAME_NOT_RESOLVED", connection=""),
               entry("https://a.test/x")]
    got = received_answers(entries, BEGAN, LoadEvent(1000, 1000), [served("/x", scheme="https")], None,
                           silent={("https", "gone.test")})
    assert (got.exact, got.failed, got.failed_as_recorded) == (1, 1, 1)
    assert [answer.expected for answer in got.each] == [True, False, False]
