"""Verdicts on single loads, whatever the numbers; what each rule says of which load: tests/corpus/test_loads.py."""

import copy
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import run_main
from harness.measure.judge import alone
from harness.measure.left_behind import LeftBehind
from harness.measure.reason import Reason, texts, verdict_on_the_page, worth_another_try
from harness.system.fastopen import COUNTERS
from harness.system.privileges import User
from tests.support.made_reason import accident, of_the_page
from tests.support.made_record import made_answers, made_record

BYTES = 5000
Record = dict[str, Any]


def verdict_on(record: Record) -> list[Reason]:
    return alone(made_record(**record))


def valid_record(tfo: int = 1, run: int = 1, connections: int = 100) -> Record:
    """Return a load with nothing wrong, as tfo.py makes it."""
    none = dict.fromkeys(COUNTERS, 0)
    carried = connections if tfo else 0
    return {
        "url": "http://a.org", "page": "httpa.org", "tfo": tfo, "run": run, "plt_ms": 1234.5, "errors": [],
        "document": {"url": "http://a.org/", "status": 200, "bytes": BYTES, "recorded_bytes": [BYTES]},
        "failed_requests": {"net::ERR_ABORTED": 1},
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


def test_a_load_without_room_for_its_files_is_not_valid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What load_page.py says when /tmp is full is the load's reason. (For real it takes chromedriver 60 s.)"""
    with pytest.raises(SystemExit, match="1"):
        run_main(lambda: Path("/dev/full").write_text("load.json"))
    complaint = capsys.readouterr().err.strip()
    assert complaint.endswith("the disk is full; make room and try again")
    user = User("", os.getuid(), os.getgid())
    left = LeftBehind(tmp_path, user, tmp_path, "page")
    record = valid_record() | {"plt_ms": None, "document": None} | left.report(complaint)
    assert texts(verdict_on(record)) == [complaint]


@given(hundreds=st.integers(1, 50))
def test_exactly_99_percent_is_enough_whatever_the_number(hundreds: int) -> None:
    record = broken(lambda record: put(record, "syn_data_connections", 99 * hundreds), connections=100 * hundreds)
    assert verdict_on(record) == []


def test_a_page_is_to_blame_if_one_load_says_so_and_none_is_good() -> None:
    lost, hollow = [accident("a packet was lost")], [of_the_page("62 of 68 requests failed")]
    assert verdict_on_the_page([hollow, []]) == []
    assert verdict_on_the_page([lost, []]) == []
    assert verdict_on_the_page([hollow, lost]) == verdict_on_the_page([lost, hollow]) == hollow
    assert verdict_on_the_page([lost, [accident("it was late")]]) == [accident("it was late")]


def test_what_the_page_itself_is_to_blame_for_is_not_tried_again_whatever_else_happened() -> None:
    record = broken(lambda record: put(record, "document", "status", 404))
    put(record, "delay_line_drops", 1)
    verdict = verdict_on(record)
    assert len(verdict) == 2
    assert not worth_another_try(verdict)
    assert not worth_another_try([])
