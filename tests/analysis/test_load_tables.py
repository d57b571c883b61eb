"""loads.csv and loads.jsonl: one row per load, whatever became of it."""

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from harness.analysis.load_tables import COLUMNS, write_load_tables
from harness.files.experiment import write_experiment
from harness.files.pages import sanitise
from harness.files.results import attempt_directory, write_load
from harness.files.table_files import WRITERS
from harness.system.fastopen import COUNTERS
from tests.support.client_folder import NEWS, POST, add_load
from tests.support.made_record import made_record

DATA = Path(__file__).resolve().parents[1] / "data"
NONE = dict.fromkeys(COUNTERS, 0)


def add_whole_load(client: Path, run: int, tfo: int, **changes: Any) -> None:
    """Write a load with all that load_page.py, servers and kernel say of it: 4 requests over 3 connections."""
    add_load(client, NEWS, 10, run, tfo, 1000.25 + run, requests=4, **{
        "first_byte_ms": 41.5, "bytes": 123456, "failed_requests": {"net::ERR_ABORTED": 1, "unfinished": 2},
        "connections": [{"id": 1, "requests": 1}, {"id": 2, "requests": 2}, {"id": 3, "requests": 1}],
        "connections_with_request": 3, "syn_data_connections": 3 * tfo, "preconnects_unused": 1,
        "silent_connections": 1 - tfo, "delay_line_drops": 0,
        "counters": {"user": {**NONE, "TCPFastOpenActive": 3 * tfo},
                     "servers": {**NONE, "TCPFastOpenPassive": 3 * tfo}}, **changes})


def make_folder(client: Path) -> Path:
    """Write a warm-up, whole loads, one made again, and every way in which a load can fail."""
    write_experiment(client, 10, {"pages": [NEWS, POST]})
    add_whole_load(client, 0, 0)
    add_whole_load(client, 1, 0)
    add_whole_load(client, 1, 1, valid=False, why_not=["SYN retransmitted by user: 1", 'said "no, thanks"\nand left'],
                   counters={"user": {**NONE, "TCPSynRetrans": 1}})
    add_load(client, POST, 10, 1, 0, None, valid=False, why_not=["no load event within 60 s"], last_ms=None)
    add_load(client, POST, 10, 1, 1, 900).unlink()
    add_load(client, POST, 50, 1, 0, 900).write_text("{")
    edited = add_load(client, POST, 50, 1, 1, 900)
    edited.write_text(json.dumps({**json.loads(edited.read_text()), "counters": 3}))
    add_whole_load(client, 2, 1, attempt=2, answers={"exact": 3, "stand_in": 1, "missing": 0, "failed": 0},
                   timekeeping={"late": [{"host": "a", "start_ms": 5, "late_ms": late_ms, "critical": critical}
                                         for late_ms, critical in ((300, False), (7.5, True))]})
    write_load(attempt_directory(client / "10-2-tfo-1", 1), made_record(
        url=NEWS, page=sanitise(NEWS), delaynet_ms=10, run=2, tfo=1, why_not=["it hung"], timekeeping={}))
    return client


def test_golden(tmp_path: Path) -> None:
    for path in write_load_tables(make_folder(tmp_path)):
        assert path.read_bytes() == (DATA / f"golden-{path.name}").read_bytes()


@settings(deadline=None)
@given(st.text(st.characters(codec="utf-8", exclude_characters="\0")))      # csv of Python 3.10 refuses NUL
def test_whatever_stands_in_a_url_reads_back(text: str) -> None:
    row = {**dict.fromkeys(COLUMNS), "url": text, "why_not": [text, "late"], "failed_by_reason": {text: 1}}
    in_csv, in_json, in_lines, in_markdown = (WRITERS[f".{ending}"]([row]) for ending in ("csv", "json", "jsonl", "md"))
    [found] = csv.DictReader(io.StringIO(in_csv, newline=""))
    assert tuple(found) == COLUMNS
    assert (found["url"], found["why_not"], found["plt_ms"]) == (text, f"{text}; late", "")
    assert json.loads(found["failed_by_reason"]) == {text: 1}
    assert json.loads(in_lines) == {"format": 1, **row}
    assert json.loads(in_json) == {"format": 1, "cells": [row]}
    bars = [re.sub(r"\\.", "", line).count("|") for line in in_markdown.split("\n")[:-1]]
    assert bars == [len(COLUMNS) + 1] * 3
