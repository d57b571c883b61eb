"""Validity of a load: a good record passes; each rule, broken alone, gives its one reason."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import run_main
from harness.fastopen import COUNTERS
from harness.loads import _read_report
from harness.validity import REQUEST_SET_TOLERANCE, reasons, request_set_reasons

BYTES = 5000
Record = dict[str, Any]


def valid_record(tfo: int = 1, run: int = 1, connections: int = 100) -> Record:
    """Return a load with nothing wrong, as tfo.py makes it."""
    none = dict.fromkeys(COUNTERS, 0)
    carried = connections if tfo else 0
    return {
        "url": "http://a.org", "page": "httpa.org", "tfo": tfo, "run": run, "plt_ms": 1234.5, "errors": [],
        "document": {"url": "http://a.org/", "status": 200, "bytes": BYTES}, "failed_requests": {"net::ERR_ABORTED": 1},
        "counters": {"user": none | {"TCPFastOpenActive": carried}, "servers": none | {"TCPFastOpenPassive": carried}},
        "delay_line_drops": 0, "connections_with_request": connections, "syn_data_connections": carried,
        "request_urls": ["http://a.org/"],
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


@pytest.mark.parametrize("tfo", [0, 1])
@pytest.mark.parametrize("run", [0, 1, 3])
def test_a_good_load_has_no_reason_against_it(tfo: int, run: int) -> None:
    assert reasons(valid_record(tfo, run), BYTES) == []


@pytest.mark.parametrize(("change", "reason"), [
    (lambda record: put(record, "plt_ms", None), "no load event"),
    (lambda record: record.pop("plt_ms"), "no load event"),
    (lambda record: put(record, "failed_requests", "unfinished", 2), "requests that never ended: 2"),
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
    assert reasons(broken(change, tfo=tfo), BYTES) == [reason]


def test_a_page_that_loads_itself_again_is_asked_for_only_if_it_changed() -> None:
    assert reasons(broken(lambda record: put(record, "document", "status", 304)), BYTES) == []


def test_a_page_without_a_recorded_document_is_never_valid() -> None:
    assert len(reasons(valid_record(), None)) == 1


def test_a_load_that_failed_early_has_its_own_error_and_no_reasons_that_follow_from_it() -> None:
    record = broken(lambda record: put(record, "errors", ["no load event within 60 s"]))
    for document in (None, {"url": "http://a.org/", "status": 0, "bytes": 0}):
        record |= {"plt_ms": None, "document": document, "connections": [{"id": 7, "requests": 1}] * 101}
        assert reasons(record, BYTES) == ["no load event within 60 s"]


def test_a_load_without_room_for_its_files_is_not_valid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What load_page.py says when /tmp is full is the load's reason. (For real it takes chromedriver 60 s.)"""
    with pytest.raises(SystemExit, match="1"):
        run_main(lambda: Path("/dev/full").write_text("load.json"))
    complaint = capsys.readouterr().err.strip()
    assert complaint.endswith("the disk is full; make room and try again")
    record = valid_record() | {"plt_ms": None, "document": None} | _read_report(tmp_path / "load.json", complaint)
    assert reasons(record, BYTES) == [complaint]


def test_all_broken_rules_are_told() -> None:
    record = broken(lambda record: put(record, "document", "status", 500))
    put(record, "counters", "user", "TCPSynRetrans", 1)
    put(record, "delay_line_drops", 1)
    assert len(reasons(record, BYTES)) == 3


def test_tfo_off_but_data_in_the_syn() -> None:
    logged = broken(lambda record: put(record, "syn_data_connections", 1), tfo=0)
    assert reasons(logged, BYTES) == ["TFO is off, but 1 connections carried data in the SYN"]
    warm_up = broken(lambda record: put(record, "syn_data_connections", 1), tfo=0, run=0)
    assert len(reasons(warm_up, BYTES)) == 1
    counted = broken(lambda record: put(record, "counters", "servers", "TCPFastOpenPassive", 2), tfo=0)
    assert len(reasons(counted, BYTES)) == 1


def test_the_reason_gives_the_number_that_was_wrong() -> None:
    counted = broken(lambda record: put(record, "counters", "servers", "TCPFastOpenPassive", 2), tfo=0)
    assert "0 connections" not in reasons(counted, BYTES)[0]


@pytest.mark.parametrize(("connections", "in_syn", "valid"), [
    (100, 100, True), (100, 99, True), (100, 98, False), (99, 98, False), (1, 0, False), (1, 1, True), (0, 0, True),
    (200, 198, True), (200, 197, False), (101, 100, True), (100, 0, False)])
def test_tfo_on_needs_99_percent_of_requests_in_the_syn(connections: int, in_syn: int, valid: bool) -> None:
    record = broken(lambda record: put(record, "syn_data_connections", in_syn), connections=connections)
    expected = f"TFO is on, but only {in_syn} of {connections} connections carried their request in the SYN"
    assert reasons(record, BYTES) == ([] if valid else [expected])


@given(hundreds=st.integers(1, 50))
def test_exactly_99_percent_is_enough_whatever_the_number(hundreds: int) -> None:
    record = broken(lambda record: put(record, "syn_data_connections", 99 * hundreds), connections=100 * hundreds)
    assert reasons(record, BYTES) == []


def test_the_warm_up_has_no_cookies_yet() -> None:
    assert reasons(broken(lambda record: put(record, "syn_data_connections", 0), run=0), BYTES) == []


def load_of(*urls: str) -> Record:
    return {"request_urls": list(urls)}


def urls(count: int) -> list[str]:
    return [f"http://a.org/{index}" for index in range(count)]


@pytest.mark.parametrize(("missing", "more", "valid"), [
    (0, 0, True), (1, 0, True), (2, 0, True), (3, 0, False), (0, 2, True), (0, 3, False), (1, 1, True), (1, 2, False),
    (100, 1, False)])
def test_request_sets_may_differ_by_two_percent(missing: int, more: int, valid: bool) -> None:
    usual = load_of(*urls(100))
    other = load_of(*urls(100)[missing:], *(f"http://b.org/{index}" for index in range(more)))
    verdicts = request_set_reasons([usual, other, usual])
    assert verdicts[0] == verdicts[2] == []
    assert bool(verdicts[1]) == (not valid)
    assert all(f"{missing} missing, {more} more" in reason for reason in verdicts[1])


@given(fifties=st.integers(1, 20))
def test_exactly_two_percent_is_tolerated_whatever_the_number(fifties: int) -> None:
    usual, fewer = load_of(*urls(50 * fifties)), load_of(*urls(50 * fifties)[fifties:])
    assert request_set_reasons([usual, usual, fewer]) == [[], [], []]
    assert REQUEST_SET_TOLERANCE == 1 / 50


def test_a_small_page_tolerates_nothing() -> None:
    usual, fewer = load_of(*urls(49)), load_of(*urls(48))
    assert [bool(verdict) for verdict in request_set_reasons([usual, fewer, usual])] == [False, True, False]


def test_how_often_a_url_was_asked_for_counts_but_not_the_order() -> None:
    usual, thrice = load_of("u", "v", "u"), load_of("u", "v", "u", "u")
    assert request_set_reasons([usual, load_of("u", "u", "v"), thrice]) == [
        [], [], ["requests differ from the page's other loads: 0 missing, 1 more (such as u)"]]


def test_a_load_without_requests_differs_from_the_others_but_is_never_the_usual_one() -> None:
    usual = load_of(*urls(3))
    verdicts = request_set_reasons([{}, load_of(), {}, usual])
    assert [bool(verdict) for verdict in verdicts] == [True, True, True, False]
    assert request_set_reasons([{}, {}]) == [[], []]
    assert request_set_reasons([]) == []


def test_the_example_is_cut_to_a_readable_length() -> None:
    verdict = request_set_reasons([load_of("u"), load_of("u"), load_of("http://a.org/" + "x" * 500)])[2]
    assert len(verdict[0]) < 200


@given(loads=st.lists(st.lists(st.sampled_from("abcdef")).map(lambda urls: load_of(*urls))))
def test_every_load_gets_a_verdict_and_one_of_them_is_usual(loads: list[Record]) -> None:
    verdicts = request_set_reasons(loads)
    assert len(verdicts) == len(loads)
    if any(load["request_urls"] for load in loads):
        assert any(load["request_urls"] and not verdict for load, verdict in zip(loads, verdicts, strict=True))
