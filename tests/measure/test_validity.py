"""Validity of a load: a good record passes; each rule, broken alone, gives its one reason."""

import copy
import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import run_main
from harness.measure import validity
from harness.measure.left_behind import LeftBehind
from harness.measure.reason import Blame, accident, of_the_page, texts, verdict_on_the_page, worth_another_try
from harness.netlog import moved_on
from harness.system.fastopen import COUNTERS
from harness.system.privileges import User
from tests.support.made_record import made_answers, made_record

BYTES = 5000
RECORDED = (BYTES,)
Record = dict[str, Any]


def reasons(record: Record, recorded_bytes: Collection[int]) -> list[str]:
    """Return the reasons in words."""
    return texts(validity.reasons(made_record(**record), recorded_bytes))


def valid_record(tfo: int = 1, run: int = 1, connections: int = 100) -> Record:
    """Return a load with nothing wrong, as tfo.py makes it."""
    none = dict.fromkeys(COUNTERS, 0)
    carried = connections if tfo else 0
    return {
        "url": "http://a.org", "page": "httpa.org", "tfo": tfo, "run": run, "plt_ms": 1234.5, "errors": [],
        "document": {"url": "http://a.org/", "status": 200, "bytes": BYTES}, "failed_requests": {"net::ERR_ABORTED": 1},
        "counters": {"user": none | {"TCPFastOpenActive": carried}, "servers": none | {"TCPFastOpenPassive": carried}},
        "delay_line_drops": 0, "connections_with_request": connections, "syn_data_connections": carried,
        "request_urls": ["http://a.org/"], "answers": made_answers("http://a.org/"),
    }


def broken(change: Callable[[Record], object], **which: int) -> Record:
    record = copy.deepcopy(valid_record(**which))
    change(record)
    return record


def put(record: Record, *path: Any) -> None:
    """Set what the path of keys leads to: the last item is the value."""
    *way, key, value = path
    for step in way:
        record = record[step]
    record[key] = value


def unfinished(count: int) -> Record:
    """Return the answers of a load of which so many requests got none."""
    answers = made_answers(*(f"http://a.org/{number}" for number in range(100)))
    answers["each"] += [{"url": "http://a.org/", "kind": "failed", "error": "unfinished"}] * count
    return answers


@pytest.mark.parametrize("tfo", [0, 1])
@pytest.mark.parametrize("run", [0, 1, 3])
def test_a_good_load_has_no_reason_against_it(tfo: int, run: int) -> None:
    assert reasons(valid_record(tfo, run), RECORDED) == []


@pytest.mark.parametrize(("change", "reason"), [
    (lambda record: put(record, "plt_ms", None), "no load event"),
    (lambda record: record.pop("plt_ms"), "no load event"),
    (lambda record: put(record, "answers", unfinished(2)), "requests that never ended: 2"),
    (lambda record: put(record, "answers", None), "what it got is not known: its HAR cannot be read"),
    (lambda record: put(record, "document", None), "the document never answered"),
    (lambda record: record.pop("document"), "the document never answered"),
    (lambda record: put(record, "document", "status", 404), "the document answered 404"),
    (lambda record: put(record, "document", "status", 206), "the document answered 206"),
    (lambda record: record["document"].update(status=304, bytes=0),
     "the document had 0 bytes, the recorded one has 5000"),
    (lambda record: put(record, "document", "status", 0), "the document never answered"),
    (lambda record: put(record, "document", "bytes", BYTES - 1),
     "the document had 4999 bytes, the recorded one has 5000"),
    (lambda record: put(record, "document", "bytes", BYTES + 1),
     "the document had 5001 bytes, the recorded one has 5000"),
    (lambda record: put(record, "counters", "user", "TCPSynRetrans", 3), "SYN retransmitted by user: 3"),
    (lambda record: put(record, "counters", "servers", "TCPSynRetrans", 1), "SYN retransmitted by servers: 1"),
    (lambda record: put(record, "counters", "servers", "ListenOverflows", 2), "ListenOverflows at servers: 2"),
    (lambda record: put(record, "counters", "servers", "TCPFastOpenListenOverflow", 4),
     "TCPFastOpenListenOverflow at servers: 4"),
    (lambda record: put(record, "delay_line_drops", 5), "packets dropped by the delay line: 5"),
    (lambda record: put(record, "connections", [{"id": 7, "requests": 1}] * 101),
     "the servers' logs know of 100 of the 101 connections that carried a request"),
    (lambda record: put(record, "errors", ["Chrome shows an error page"]), "Chrome shows an error page")])
@pytest.mark.parametrize("tfo", [0, 1])
def test_one_broken_rule_is_one_reason(change: Callable[[Record], object], reason: str, tfo: int) -> None:
    assert reasons(broken(change, tfo=tfo), RECORDED) == [reason]


def test_the_document_is_one_of_the_recorded_ones() -> None:
    assert reasons(valid_record(), (102, BYTES)) == []
    assert reasons(valid_record(), (102, 169)) == ["the document had 5000 bytes, the recorded one has 102 or 169"]


@pytest.mark.parametrize(("change", "kind"), [
    (lambda record: put(record, "plt_ms", None), Blame.ACCIDENT),
    (lambda record: put(record, "errors", ["Chrome did not start"]), Blame.ACCIDENT),
    (lambda record: put(record, "errors", [moved_on.LED_ON]), Blame.PAGE),
    (lambda record: put(record, "answers", unfinished(2)), Blame.ACCIDENT),
    (lambda record: put(record, "document", None), Blame.ACCIDENT),
    (lambda record: put(record, "document", "status", 404), Blame.PAGE),
    (lambda record: put(record, "document", "bytes", BYTES - 1), Blame.PAGE),
    (lambda record: put(record, "counters", "user", "TCPSynRetrans", 3), Blame.ACCIDENT),
    (lambda record: put(record, "counters", "servers", "ListenOverflows", 2), Blame.ACCIDENT),
    (lambda record: put(record, "delay_line_drops", 5), Blame.ACCIDENT),
    (lambda record: put(record, "syn_data_connections", 0), Blame.ACCIDENT),
    (lambda record: put(record, "connections", [{"id": 7, "requests": 1}] * 101), Blame.ACCIDENT)])
def test_each_reason_says_whether_another_try_can_help(change: Callable[[Record], object], kind: Blame) -> None:
    verdict = validity.reasons(made_record(**broken(change)), RECORDED)
    assert [reason.kind for reason in verdict] == [kind]
    assert worth_another_try(verdict) == (kind == Blame.ACCIDENT)


@pytest.mark.parametrize("again", [{"error": "net::ERR_ABORTED"}, {"error": "net::ERR_FAILED", "late": True}])
def test_what_the_page_does_later_with_its_own_url_is_no_accident(again: Record) -> None:
    """The document itself is another one than was recorded, whatever became of a request that the page took back."""
    record = broken(lambda record: put(record, "document", "bytes", 0))
    record["answers"]["each"] += [{"url": "http://a.org/", "kind": "failed", **again}]
    verdict = validity.reasons(made_record(**record), RECORDED)
    assert [reason.kind for reason in verdict] == [Blame.PAGE]


def test_a_part_of_the_document_in_a_load_that_broke_off_is_an_accident() -> None:
    """Seen when chromedriver was killed between the head and the body of the document."""
    record = broken(lambda record: put(record, "document", "bytes", 0))
    assert not worth_another_try(validity.reasons(made_record(**record), RECORDED))
    assert worth_another_try(validity.reasons(made_record(**{**record, "plt_ms": None}), RECORDED))
    failed = {"url": "http://a.org/", "kind": "failed", "error": "net::ERR_FAILED"}
    record["answers"] = {"exact": 100, "stand_in": 0, "missing": 0, "failed": 1, "each": [failed]}
    assert worth_another_try(validity.reasons(made_record(**record), RECORDED))


def test_a_load_that_was_led_on_to_another_page_is_refused_for_that_alone_and_not_tried_again() -> None:
    record = broken(lambda record: record.update(
        errors=[moved_on.in_words("http://b.org/")], plt_ms=None,
        document={"url": "http://b.org/", "status": 200, "bytes": 7}))
    (reason,) = validity.reasons(made_record(**record), RECORDED)
    assert reason.kind is Blame.PAGE
    assert "http://b.org/" in reason.text


@pytest.mark.parametrize("document", [None, {"url": "http://a.org/", "status": 0, "bytes": 0}])
def test_a_load_whose_document_never_answered_is_an_accident(document: Record | None) -> None:
    """Seen when Chrome's network process was killed before it had asked for anything."""
    nothing = {"exact": 0, "stand_in": 0, "missing": 0, "failed": 0,
               "coverage": {"recorded": 3, "recorded_bytes": 300, "got": 0, "got_bytes": 0}}
    verdict = validity.reasons(made_record(**{**valid_record(), "document": document, "answers": nothing}), RECORDED)
    assert "got only 0 of the 3 answers that the recording holds for this page" in texts(verdict)
    assert worth_another_try(verdict)


def test_what_the_page_itself_is_to_blame_for_is_not_tried_again_whatever_else_happened() -> None:
    record = broken(lambda record: put(record, "document", "status", 404))
    put(record, "delay_line_drops", 1)
    verdict = validity.reasons(made_record(**record), RECORDED)
    assert len(verdict) == 2
    assert not worth_another_try(verdict)
    assert not worth_another_try([])


def test_a_page_that_loads_itself_again_is_asked_for_only_if_it_changed() -> None:
    assert reasons(broken(lambda record: put(record, "document", "status", 304)), RECORDED) == []


def test_a_page_without_a_recorded_document_is_never_valid() -> None:
    assert len(reasons(valid_record(), ())) == 1


@pytest.mark.parametrize(("answer", "counts"), [
    ({"status": 0}, True), ({"status": 200}, False), ({"status": 0, "late": True}, False)])
def test_a_page_that_goes_on_loading_after_its_load_event_is_valid(answer: dict[str, Any], counts: bool) -> None:
    """Of what was asked for before it, what our limit of time cut does not count; what nobody answered does."""
    each = [{"url": "http://a.org/endless", "kind": "failed", "error": "unfinished", **answer},
            *({"url": f"http://a.org/{number}", "kind": "exact", "status": 200} for number in range(20))]
    answers = {"exact": 20, "stand_in": 0, "missing": 0, "failed": 1, "each": each}
    record = broken(lambda record: record.update(answers=answers, failed_requests={"unfinished": 1}))
    assert reasons(record, RECORDED) == (["requests that never ended: 1"] if counts else [])


def test_a_load_that_failed_early_has_its_own_error_and_no_reasons_that_follow_from_it() -> None:
    record = broken(lambda record: put(record, "errors", ["no load event within 60 s"]))
    for document in (None, {"url": "http://a.org/", "status": 0, "bytes": 0}):
        record |= {"plt_ms": None, "document": document, "connections": [{"id": 7, "requests": 1}] * 101}
        assert reasons(record, RECORDED) == ["no load event within 60 s"]


def test_a_load_without_room_for_its_files_is_not_valid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What load_page.py says when /tmp is full is the load's reason. (For real it takes chromedriver 60 s.)"""
    with pytest.raises(SystemExit, match="1"):
        run_main(lambda: Path("/dev/full").write_text("load.json"))
    complaint = capsys.readouterr().err.strip()
    assert complaint.endswith("the disk is full; make room and try again")
    user = User("", os.getuid(), os.getgid())
    left = LeftBehind(tmp_path, user, tmp_path, user, "page")
    record = valid_record() | {"plt_ms": None, "document": None} | left.report(complaint)
    assert reasons(record, RECORDED) == [complaint]


def test_all_broken_rules_are_told() -> None:
    record = broken(lambda record: put(record, "document", "status", 500))
    put(record, "counters", "user", "TCPSynRetrans", 1)
    put(record, "delay_line_drops", 1)
    assert len(reasons(record, RECORDED)) == 3


def test_tfo_off_but_data_in_the_syn() -> None:
    logged = broken(lambda record: put(record, "syn_data_connections", 1), tfo=0)
    assert reasons(logged, RECORDED) == ["TFO is off, but 1 connections carried data in the SYN"]
    warm_up = broken(lambda record: put(record, "syn_data_connections", 1), tfo=0, run=0)
    assert len(reasons(warm_up, RECORDED)) == 1
    counted = broken(lambda record: put(record, "counters", "servers", "TCPFastOpenPassive", 2), tfo=0)
    assert len(reasons(counted, RECORDED)) == 1


def test_the_reason_gives_the_number_that_was_wrong() -> None:
    counted = broken(lambda record: put(record, "counters", "servers", "TCPFastOpenPassive", 2), tfo=0)
    assert "0 connections" not in reasons(counted, RECORDED)[0]


@pytest.mark.parametrize(("connections", "in_syn", "valid"), [
    (100, 100, True), (100, 99, True), (100, 98, False), (99, 98, False), (1, 0, False), (1, 1, True), (0, 0, True),
    (200, 198, True), (200, 197, False), (101, 100, True), (100, 0, False)])
def test_tfo_on_needs_99_percent_of_requests_in_the_syn(connections: int, in_syn: int, valid: bool) -> None:
    record = broken(lambda record: put(record, "syn_data_connections", in_syn), connections=connections)
    expected = f"TFO is on, but only {in_syn} of {connections} connections carried their request in the SYN"
    assert reasons(record, RECORDED) == ([] if valid else [expected])


@given(hundreds=st.integers(1, 50))
def test_exactly_99_percent_is_enough_whatever_the_number(hundreds: int) -> None:
    record = broken(lambda record: put(record, "syn_data_connections", 99 * hundreds), connections=100 * hundreds)
    assert reasons(record, RECORDED) == []


def test_the_warm_up_has_no_cookies_yet() -> None:
    assert reasons(broken(lambda record: put(record, "syn_data_connections", 0), run=0), RECORDED) == []


def first_visit(mode: str, *, in_syn: int, given: int, first: int, visited: int,
                asked: int | None = None) -> list[str]:
    record = valid_record(connections=10)
    put(record, "counters", "servers", "TCPFastOpenCookieReqd", given if asked is None else asked)
    put(record, "syn_data_connections", in_syn)
    put(record, "cookies", {"mode": mode, "given": given, "first": first, "visited": visited})
    return reasons(record, RECORDED)


@pytest.mark.parametrize(("mode", "found", "problem"), [
    ("cold", {"in_syn": 4, "given": 6, "first": 5, "visited": 5}, ""),
    ("cold", {"in_syn": 4, "given": 8, "first": 5, "visited": 5}, ""),
    ("cold", {"in_syn": 4, "given": 6, "first": 4, "visited": 5}, "--cookies cold: only 4 of 5 servers gave a cookie"),
    ("domain", {"in_syn": 9, "given": 1, "first": 1, "visited": 2},
     "--cookies domain: only 1 of 2 sites gave a cookie"),
    ("cold", {"in_syn": 2, "given": 6, "first": 5, "visited": 5},
     "TFO is on, but of 10 connections only 2 carried their request in the SYN, and 6 asked for a cookie"),
    ("domain", {"in_syn": 6, "given": 2, "first": 2, "visited": 2, "asked": 4}, ""),
    ("warm", {"in_syn": 10, "given": 0, "first": 0, "visited": 5}, ""),
    ("warm", {"in_syn": 4, "given": 6, "first": 5, "visited": 5},
     "TFO is on, but only 4 of 10 connections carried their request in the SYN")])
def test_on_a_first_visit_each_server_gives_a_cookie_first(mode: str, found: dict[str, int], problem: str) -> None:
    assert first_visit(mode, **found) == ([problem] if problem else [])


def test_what_a_full_buffer_of_the_clients_link_lost_is_the_networks_doing() -> None:
    """On such a link a late answer and a SYN sent again are no accident, but a machine that stood still is."""
    record = valid_record()
    put(record, "timekeeping", {"late": [{"host": "a", "start_ms": 10.0, "late_ms": 400.0, "critical": True}]})
    put(record, "counters", "user", "TCPSynRetrans", 1)
    put(record, "rtt_ms", 20.0)
    assert len(reasons(record, RECORDED)) == 2
    put(record, "buffer_drops", {"up": 0, "down": 0})
    assert len(reasons(record, RECORDED)) == 2
    put(record, "buffer_drops", {"up": 0, "down": 3})
    assert reasons(record, RECORDED) == []
    put(record, "timekeeping", "gap_ms", 400.0)
    assert [reason.partition(" for")[0] for reason in reasons(record, RECORDED)] == ["the machine stood still"]


def test_a_page_is_to_blame_if_one_load_says_so_and_none_is_good() -> None:
    lost, hollow = [accident("a packet was lost")], [of_the_page("62 of 68 requests failed")]
    assert verdict_on_the_page([hollow, []]) == []
    assert verdict_on_the_page([lost, []]) == []
    assert verdict_on_the_page([hollow, lost]) == verdict_on_the_page([lost, hollow]) == hollow
    assert verdict_on_the_page([lost, [accident("it was late")]]) == [accident("it was late")]
