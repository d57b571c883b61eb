"""A load's record: what was written is read back, format 1 is still read, and nothing else is taken for one."""

import json
import re
from dataclasses import fields
from pathlib import Path

from harness.bootstrap import ROOT
from harness.files.load_record import FORMAT, NO_REASON, LoadRecord, read_load_record, write_json
from tests.support.made_record import made_record

TESTS = ROOT / "tests"
RECORDS = [*TESTS.glob("data/report/client/*/*.json"), *TESTS.glob("data/format-1/*.json"),
           *TESTS.glob("corpus/clients/*/client/*/*.json")]
"""The first two kinds are of format 1."""


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    for path in RECORDS:
        record = read_load_record(path)
        written = write_json(tmp_path / "x.json", record.to_json())
        assert read_load_record(written) == record
        assert json.loads(written.read_text())["valid"] == record.valid == (not record.why_not)
    assert made_record(valid=False).why_not == (NO_REASON,)
    assert made_record(valid=True, why_not=["it hung"]).valid is False


def test_docs_describe_every_key() -> None:
    text = (ROOT / "docs/results.md").read_text()
    table = text.partition("| key | meaning |")[2].partition("\n\n")[0]
    keys = "".join(line.split("|")[1] for line in table.splitlines() if "|" in line)
    described = set(re.findall(r"`([a-z_0-9]+)`", keys))
    assert described >= {field.name for field in fields(LoadRecord)} | {"valid"}
    assert f"`format` is {FORMAT};" in text
