"""Chrome DevTools' own importer ("Import HAR file") shows what a recording holds that fetch.py --to wrote as a HAR."""

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from harness.bootstrap import ROOT
from harness.record.export.write import export
from tests.support.devtools import import_hars
from tests.support.made_recording import make_recording

LOAD = ROOT / "tests" / "corpus" / "clients" / "h2-modern" / "client.tar.gz"


def of_a_load() -> Any:
    """Return the HAR beside the log of a load of a page of today over HTTP/2."""
    with tarfile.open(LOAD) as packed:
        member = next(each for each in packed if each.name.endswith(".har"))
        har = packed.extractfile(member)
        assert har is not None
        return json.load(har)


@pytest.mark.chrome
def test_devtools_shows_every_request_with_its_status_and_sizes(tmp_path: Path) -> None:
    """What was sent is head and body (a head of unknown size counts as -1), and stands for a body of 0 bytes, too."""
    export(tmp_path, "made", make_recording(tmp_path), tmp_path / "made.har")
    archives = [json.loads((tmp_path / "made.har").read_text()), of_a_load()]
    for archive, shown in zip(archives, import_hars(*archives), strict=True):
        assert not isinstance(shown, str), shown
        entries = sorted(archive["log"]["entries"], key=lambda entry: str(entry["startedDateTime"]))
        assert len(entries) > 3
        for entry, row in zip(entries, shown, strict=True):
            asked, answer = entry["request"], entry["response"]
            sent = max(0, answer["headersSize"] + answer["bodySize"])
            assert [row[name] for name in ("url", "method", "status", "transfer_size", "size")] == [
                asked["url"], asked["method"], answer["status"], sent, answer["content"]["size"] or sent]
