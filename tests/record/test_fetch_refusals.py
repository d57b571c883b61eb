"""What fetch.py refuses before it begins: one line, and exit status 2."""

import json
import sys
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from tests.support.ran import ran

FIGURES = {"log": {"entries": [{
    "startedDateTime": "2026-01-01T00:00:00Z", "time": 1,
    "request": {"method": "GET", "url": "http://a.test/", "headers": []},
    "response": {"status": 200, "headers": [], "content": {"size": 100, "mimeType": "text/html"}}}]}}


def refusal(*options: str) -> str:
    done = ran(sys.executable, ROOT / "fetch.py", *options)
    assert (done.returncode, done.stdout) == (2, "")
    return done.stderr


@pytest.mark.parametrize("options", [("--from", "bodies"), ("--from", "figures"), ("--to", "x.har"), ("--append",)])
def test_a_folder_that_is_not_there(options: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "figures.har").write_text(json.dumps(FIGURES))
    files = {"bodies": str(ROOT / "demo/demo.har"), "figures": str(tmp_path / "figures.har")}
    given = [files.get(option, option) for option in options]
    nowhere = tmp_path / "nowhere"
    assert refusal(*given, "--dir", str(nowhere)) == f"{nowhere}: no such folder; make it, or give another --dir\n"
