"""loads.csv and loads.jsonl: one row per load, whatever became of it."""

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.load_tables import ANSWERS, COLUMNS, SIDES, format_csv, format_jsonl, load_rows, write_load_tables
from harness.errors import InputError
from harness.files.experiment import write_experiment
from harness.files.results import attempt_directory, write_load
from harness.system.fastopen import COUNTERS
from tests.support.client_folder import NEWS, POST, add_load
from tests.support.made_record import made_record

ROOT = Path(__file__).resolve().parent.parent.parent
DATA = ROOT / "tests" / "data"
NEWS_PAGE, POST_PAGE = "httpwww.news.example", "httpblog.example2013post"


def counters(**grown: int) -> dict[str, int]:
    return {**dict.fromkeys(COUNTERS, 0), **grown}


def add_whole_load(client: Path, run: int, tfo: int, **changes: Any) -> None:
    """Write a load with all that load_page.py, servers and kernel say of it: 4 requests over 3 connections."""
    add_load(client, NEWS, 10, run, tfo, 1000.25 + run, requests=4, **{
        "first_byte_ms": 41.5, "bytes": 123456, "failed_requests": {"net::ERR_ABORTED": 1, "unfinished": 2},
        "connections": [{"id": 1, "requests": 1}, {"id": 2, "requests": 2}, {"id": 3, "requests": 1}],
        "connections_with_request": 3, "syn_data_connections": 3 * tfo, "preconnects_unused": 1,
        "silent_connections": 1 - tfo, "best_match": 2, "missing": 0, "delay_line_drops": 0,
        "counters": {"user": counters(TCPFastOpenActive=3 * tfo), "servers": counters(TCPFastOpenPassive=3 * tfo)},
        **changes})


def make_folder(client: Path) -> Path:
    """Write a warm-up, whole loads, and every way in which a load can fail."""
    write_experiment(client, 10, {"pages": [NEWS, POST]})
    add_whole_load(client, 0, 0)
    add_whole_load(client, 1, 0)
    add_whole_load(client, 1, 1, valid=False, why_not=["SYN retransmitted by user: 1", 'said "no, thanks"\nand left'],
                   counters={"user": counters(TCPSynRetrans=1)})
    add_load(client, POST, 10, 1, 0, None, valid=False, why_not=["no load event within 60 s"], last_ms=None)
    add_load(client, POST, 10, 1, 1, 900).unlink()
    add_load(client, POST, 50, 1, 0, 900).write_text("{")
    edited = add_load(client, POST, 50, 1, 1, 900)
    edited.write_text(json.dumps({**json.loads(edited.read_text()), "counters": 3}))
    return client


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("name", ["loads.csv", "loads.jsonl"])
def test_golden(tmp_path: Path, name: str) -> None:
    written = write_load_tables(make_folder(tmp_path))
    assert [path.name for path in written] == ["loads.csv", "loads.jsonl"]
    assert (tmp_path / name).read_bytes() == (DATA / f"golden-{name}").read_bytes()


def test_every_load_is_a_row(tmp_path: Path) -> None:
    rows = list(load_rows(make_folder(tmp_path)))
    assert [(row["delaynet_ms"], row["run"], row["tfo"], row["page"]) for row in rows] == [
        (10, 0, 0, NEWS_PAGE), (10, 1, 0, POST_PAGE), (10, 1, 0, NEWS_PAGE), (10, 1, 1, POST_PAGE),
        (10, 1, 1, NEWS_PAGE), (50, 1, 0, POST_PAGE), (50, 1, 1, POST_PAGE)]
    assert [row["valid"] for row in rows] == [True, False, True, False, False, False, False]
    assert all(tuple(row) == COLUMNS for row in rows)
    assert [bool(row["why_not"]) for row in rows] == [not row["valid"] for row in rows]


def test_a_whole_load(tmp_path: Path) -> None:
    add_whole_load(tmp_path, 1, 1)
    row, = load_rows(tmp_path)
    assert (row["plt_ms"], row["last_ms"], row["first_byte_ms"]) == (1001.25, 1101.25, 41.5)
    assert (row["requests"], row["bytes"], row["failed_requests"]) == (4, 123456, 3)
    assert row["failed_by_reason"] == {"net::ERR_ABORTED": 1, "unfinished": 2}
    assert (row["connections"], row["reused_connections"]) == (3, 1)
    assert (row["connections_with_request"], row["syn_data_connections"]) == (3, 3)
    assert (row["user_TCPFastOpenActive"], row["servers_TCPFastOpenPassive"]) == (3, 3)
    assert (row["user_TCPFastOpenPassive"], row["servers_TCPSynRetrans"]) == (0, 0)


def test_both_files_say_the_same(tmp_path: Path) -> None:
    table, lines = (read(path) for read, path in zip((read_csv, read_jsonl), write_load_tables(make_folder(tmp_path)),
                                                    strict=True))
    assert len(table) == len(lines) == 7
    for cells, values in zip(table, lines, strict=True):
        assert values.pop("format") == 1
        assert list(cells) == list(values) == list(COLUMNS)
        for name, value in values.items():
            if name == "why_not":
                assert cells[name] == "; ".join(value)
            elif value is None or isinstance(value, str):
                assert cells[name] == (value or "")
            else:
                assert json.loads(cells[name]) == value


def test_logs_of_2013_are_rows_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    rows = list(load_rows(Path("tests/data/2013")))
    assert len(rows) == 12
    assert {row["plt_ms"] for row in rows} == {row["requests"] for row in rows} == {None}
    assert sum(row["last_ms"] is not None for row in rows) == 11
    assert sum(not row["valid"] for row in rows) == 3


def test_written_again_it_replaces_and_leaves_nothing_else(tmp_path: Path) -> None:
    write_load_tables(make_folder(tmp_path))
    before = sorted(tmp_path.iterdir())
    add_whole_load(tmp_path, 2, 1)
    write_load_tables(tmp_path)
    assert len(read_csv(tmp_path / "loads.csv")) == 8
    assert sorted(path for path in tmp_path.iterdir() if path.name != "10-2-tfo-1") == before


def test_a_folder_that_cannot_hold_them(tmp_path: Path) -> None:
    make_folder(tmp_path)
    (tmp_path / "loads.csv").mkdir()
    with pytest.raises(InputError, match="1: no table can be written there"):
        write_load_tables(tmp_path)


texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"))      # csv of Python 3.10 refuses NUL


@given(url=texts, why_not=st.lists(texts), plt_ms=st.none() | st.floats(0, 1e7),
       failed=st.none() | st.dictionaries(texts, st.integers(0, 10**6)))
def test_whatever_stands_in_a_url_reads_back(url: str, why_not: list[str], plt_ms: float | None,
                                             failed: dict[str, int] | None) -> None:
    row = {**dict.fromkeys(COLUMNS), "url": url, "why_not": why_not, "plt_ms": plt_ms, "failed_by_reason": failed}
    header, cells = csv.reader(io.StringIO(format_csv([row]), newline=""))
    assert tuple(header) == COLUMNS
    found = dict(zip(COLUMNS, cells, strict=True))
    assert (found["url"], found["why_not"]) == (url, "; ".join(why_not))
    assert found["plt_ms"] == ("" if plt_ms is None else str(plt_ms))
    assert (json.loads(found["failed_by_reason"]) if found["failed_by_reason"] else None) == failed
    line = format_jsonl([row])
    assert line.count("\n") == 1
    assert json.loads(line) == {"format": 1, **row}


def test_a_file_name_that_is_no_utf8(tmp_path: Path) -> None:
    (tmp_path / "10-1-tfo-0").mkdir()
    (tmp_path / b"10-1-tfo-0/http\xffa.org".decode("utf-8", "surrogateescape")).write_text("no log")
    add_load(tmp_path, NEWS, 10, 1, 0, 1000)
    table, lines = (read(path) for read, path in zip((read_csv, read_jsonl), write_load_tables(tmp_path), strict=True))
    assert [row["page"] for row in table] == [NEWS_PAGE, "http\\udcffa.org"]
    assert len(lines) == 2


def test_docs_describe_every_column() -> None:
    section = (ROOT / "docs" / "results.md").read_text().partition("## `client/loads.csv`")[2].partition("\n## ")[0]
    described = [name for row in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
                 for name in re.findall(r"`([^`]+)`", row)]
    of_counters = [f"{side}_{name}" for side in SIDES for name in COUNTERS]
    assert set(described) >= {name for name in COLUMNS if name not in of_counters}
    assert all(f"`{name}`" in section for name in COUNTERS)


def test_each_try_of_a_load_is_a_row(tmp_path: Path) -> None:
    add_whole_load(tmp_path, 1, 1, attempt=2, experiment="x", answers={
        "exact": 3, "stand_in": 1, "missing": 0, "failed": 0}, timekeeping={"late": [
            {"host": "a", "start_ms": 5, "late_ms": 300, "critical": False},
            {"host": "a", "start_ms": 5, "late_ms": 7.5, "critical": True}]})
    write_load(attempt_directory(tmp_path / "10-1-tfo-1", 1), made_record(
        url=NEWS, page=NEWS_PAGE, tfo=1, why_not=["it hung"], experiment="x", timekeeping={}))
    first, second = load_rows(tmp_path)
    assert (first["attempt"], first["valid"], first["why_not"], first["late_ms"]) == (1, False, ["it hung"], 0)
    assert (second["attempt"], second["valid"], second["experiment"], second["late_ms"]) == (2, True, "x", 7.5)
    assert [second[f"{kind}_answers"] for kind in ANSWERS] == [3, 1, 0, 0]
    assert first["exact_answers"] is None
