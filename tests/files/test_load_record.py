"""A load's record: what was written is read back, format 1 is still read, and nothing else is taken for one."""

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.files.load_parts import (
    CaptureCounts,
    Document,
    Environment,
    LateAnswer,
    ReceivedAnswer,
    ReceivedAnswers,
    Timekeeping,
    UsedConnection,
)
from harness.files.load_record import (
    FORMAT,
    NO_REASON,
    LoadRecord,
    NewerFormatError,
    read_load_record,
    write_load_record,
)
from harness.system.untrusted import UnreadableFileError
from tests.support.made_record import made_record

ROOT = Path(__file__).resolve().parent.parent.parent
DATA = ROOT / "tests" / "data"
FORMAT_1 = [*sorted((DATA / "report" / "client").glob("*/*.json")), *sorted((DATA / "format-1").glob("*.json"))]

texts = st.text(st.characters(codec="utf-8"), max_size=8)
counts = st.integers(0, 10**15)
times = st.none() | st.floats(0, 1e9)
documents = st.builds(Document, texts, st.just(0) | st.integers(100, 599), counts)
answers = st.builds(ReceivedAnswer, texts, st.sampled_from(["exact", "stand-in", "missing", "failed"]), texts, counts,
                    counts, st.none() | st.booleans())
late = st.builds(LateAnswer, texts, st.floats(-5, 1e6), st.floats(0, 1e6), st.booleans())
records = st.builds(
    LoadRecord, texts, texts, st.floats(0, 1e6), st.floats(0, 1e6), st.sampled_from([0, 1]), counts,
    attempt=st.integers(1, 9), experiment=st.none() | texts, why_not=st.lists(texts, max_size=3).map(tuple),
    plt_ms=times, last_ms=times, errors=st.lists(texts, max_size=2).map(tuple), title=st.none() | texts,
    long_tasks=st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e6)), max_size=3).map(tuple),
    document=st.none() | documents, requests=st.none() | counts,
    failed_requests=st.none() | st.dictionaries(texts, counts, max_size=3),
    connections=st.none() | st.lists(st.builds(UsedConnection, counts, texts, st.floats(-5, 1e6), times, counts),
                                     max_size=3).map(tuple),
    counters=st.dictionaries(st.sampled_from(["user", "servers"]), st.dictionaries(texts, counts, max_size=3)),
    answers=st.none() | st.builds(ReceivedAnswers, counts, counts, counts, counts,
                                  st.lists(answers, max_size=3).map(tuple)),
    timekeeping=st.none() | st.builds(
        Timekeeping, st.lists(late, max_size=2).map(tuple), times,
        stopped_ms=st.dictionaries(texts, st.floats(0, 1e6))),
    capture=st.none() | st.builds(CaptureCounts, counts, counts, st.none() | texts),
    environment=st.none() | st.builds(Environment, st.none() | texts, load_average=times))


@given(record=records)
def test_what_was_written_is_read_back(record: LoadRecord, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = write_load_record(tmp_path_factory.getbasetemp() / "x.json", record)
    assert read_load_record(path) == record
    assert json.loads(path.read_text())["valid"] == record.valid == (not record.why_not)


@pytest.mark.parametrize("path", FORMAT_1, ids=lambda path: f"{path.parent.name}/{path.name[-24:]}")
def test_records_of_format_1_are_read(path: Path) -> None:
    record = read_load_record(path)
    assert (record.url, record.experiment, record.attempt, record.answers) == (
        json.loads(path.read_text())["url"], None, 1, None)


def test_an_unknown_key_is_passed_over() -> None:
    assert LoadRecord.from_json({**made_record().to_json(), "mood": 7}) == made_record()


def test_a_load_that_is_not_valid_has_a_reason() -> None:
    assert made_record(valid=False).why_not == (NO_REASON,)
    assert made_record(valid=True, why_not=["it hung"]).valid is False


@pytest.mark.parametrize(("change", "why"), [
    ({"plt_ms": -4}, "plt_ms: expected float >= 0.0"), ({"tfo": 2}, "tfo: invalid enum value 2"),
    ({"run": -1}, "run: expected int >= 0"),
    ({"document": {"url": "", "status": 99, "bytes": 0}}, "document: 99 is no HTTP status"),
    ({"document": {"url": "", "status": 600, "bytes": 0}}, "document: 600 is no HTTP status"),
    ({"connections": [{"id": 1}, {"id": "x"}]}, "connections[1].id: expected int, got str"),
    ({"counters": {"user": {"TCPTimeouts": "1"}}}, "counters[...][...]: expected int, got str"),
    ({"long_tasks": [[1]]}, "long_tasks[0]: expected array of length 2, got 1"),
    ({"url": None}, "url: expected str, got null")])
def test_a_wrong_type_is_named_with_its_place(tmp_path: Path, change: dict[str, Any], why: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps({**made_record().to_json(), **change}))
    with pytest.raises(UnreadableFileError) as caught:
        read_load_record(path)
    assert str(caught.value).startswith(f"{path}:1: cannot be read ({why}")


@pytest.mark.parametrize("found", [[], 7, None, "", {}, {"format": True}, {"format": 0}, {"format": "2"}])
def test_what_has_no_format_is_no_record(tmp_path: Path, found: object) -> None:
    (tmp_path / "x.json").write_text(json.dumps(found))
    with pytest.raises(UnreadableFileError, match="no format version; not a file of this tool"):
        read_load_record(tmp_path / "x.json")


def test_a_newer_format_is_told_apart(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps({"format": FORMAT + 1}))
    with pytest.raises(NewerFormatError, match="update TFO Lab"):
        read_load_record(tmp_path / "x.json")


@given(name=st.sampled_from([field.name for field in fields(LoadRecord)]), value=st.recursive(
    st.none() | st.booleans() | st.integers(-10**17, 10**17) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda values: st.lists(values, max_size=3) | st.dictionaries(texts, values, max_size=3), max_leaves=6))
def test_any_value_anywhere_is_read_or_refused(name: str, value: Any) -> None:
    found = {**made_record().to_json(), name: value}
    try:
        record = LoadRecord.from_json(found)
    except ValueError as error:
        assert "\n" not in str(error)  # noqa: PT017
    else:
        assert LoadRecord.from_json(record.to_json()) == record


def test_docs_describe_every_key() -> None:
    text = (ROOT / "docs" / "results.md").read_text().partition("| key | meaning |")[2].partition("\n\n")[0]
    keys = "".join(line.split("|")[1] for line in text.splitlines() if "|" in line)
    described = set(re.findall(r"`([a-z_0-9]+)`", keys))
    assert described >= {field.name for field in fields(LoadRecord)} | {"valid"}
    assert f"`format` is {FORMAT};" in (ROOT / "docs" / "results.md").read_text()
