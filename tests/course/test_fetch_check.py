"""The course's rules for the list of pages: every breach is found, and nothing else."""

from pathlib import Path
from typing import Any

import pytest

from harness.bootstrap import ROOT
from harness.course.page_rules import rule_breaches
from harness.errors import InputError
from tests.support.forked import typed
from tests.support.noted import each_case


def write(directory: Path, text: str) -> Path:
    file = directory / "myURLS.pages"
    file.write_text(text, encoding="utf-8")
    return file


@each_case("course/lists.jsonl")
def test_every_breach_of_the_rules_is_reported_with_its_line(case: dict[str, Any], tmp_path: Path) -> None:
    found = rule_breaches(write(tmp_path, case["text"]))
    assert [line.partition(": ")[0] for line in found] == [
        f"{tmp_path / 'myURLS.pages'}:{number}" for number, _ in case["breaches"]]
    assert all(words in line for line, (_, words) in zip(found, case["breaches"], strict=True))


def test_what_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.pages:1: "):
        rule_breaches(tmp_path / "none.pages")
    (tmp_path / "binary.pages").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"binary\.pages:1: "):
        rule_breaches(tmp_path / "binary.pages")


def test_on_the_command_line(tmp_path: Path) -> None:
    command = (ROOT / "fetch.py", "--check", "--name", "myURLS", "--dir", tmp_path)
    write(tmp_path, "http://www.example.com/\nhttps://example.org/page\nhttps://en.example.net/a?b=c\n")
    typed(*command, status=0)
    write(tmp_path, "http://a.example.com/\n")
    refused = typed(*command, status=2).stderr
    assert "myURLS.pages:1: " in refused
    assert "Traceback" not in refused
