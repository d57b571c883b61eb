"""Files from elsewhere: whatever they are, they are read or refused in one line, at once."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.system.untrusted import (
    DEEPEST,
    MissingFileError,
    UnreadableFileError,
    parse_json,
    read_untrusted,
    read_untrusted_json,
)


def written(folder: Path, content: str | bytes) -> Path:
    path = folder / "file"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def why_not(path: Path) -> str:
    with pytest.raises(UnreadableFileError) as caught:
        read_untrusted_json(path)
    assert str(caught.value) == f"{path}:{caught.value.line}: cannot be read ({caught.value.why})"
    return caught.value.why


def test_other_things_that_are_no_files(tmp_path: Path) -> None:
    """Folders, devices, FIFOs, links, and 60 GB of nothing: tests/show/test_hostile_folders.py."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        assert why_not(tmp_path / "socket") == "No such device or address"
    assert why_not(tmp_path / "n\0l") == "no file can have that name"
    assert why_not(tmp_path / ("x" * 300)) == "File name too long"
    with pytest.raises(MissingFileError, match="/none:1: "):
        read_untrusted(tmp_path / "none")


@pytest.mark.parametrize(("content", "why"), [
    (b"\xff", "not UTF-8"), ('{"a": 1', "not JSON: Expecting ',' delimiter"),
    ("[-1e999]", "-1e999 is no finite number"), ("NaN", "NaN is no finite number"),
    ("-" + "9" * 5000, "a number of 5000 digits"),
    ("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1), f"nested deeper than {DEEPEST} levels"),
    ('{"a":' * 100_000, f"nested deeper than {DEEPEST} levels")])
def test_what_is_no_json_of_ours(tmp_path: Path, content: str | bytes, why: str) -> None:
    assert why_not(written(tmp_path, content)) == why


def test_half_a_surrogate_pair_is_replaced_and_all_else_is_read_as_it_is() -> None:
    given: Any = {"a": [None, True, -10**17, 0.1, "\x80\U0001f600", {}, []]}
    assert parse_json(json.dumps(given)) == parse_json(json.dumps(given, ensure_ascii=False)) == given
    assert parse_json(r'{"\ud800": ["\udc00x", "\ud83d\ude00"]}') == {"?": ["?x", "\U0001f600"]}


@given(content=st.binary())
def test_any_bytes_are_read_or_refused_in_one_line(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = written(tmp_path_factory.getbasetemp(), content)
    try:
        shown = json.dumps(read_untrusted_json(path), ensure_ascii=False, allow_nan=False)
    except UnreadableFileError as error:
        shown = str(error)
    assert b"\n" not in shown.encode()
