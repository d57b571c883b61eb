"""What fetch.py refuses before it begins: one line, and exit status 2."""

import sys
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from tests.support.ran import ran


@pytest.mark.parametrize("options", [("--from", ROOT / "demo/demo.har"), ("--to", "x.har"), ("--append",)])
def test_a_folder_that_is_not_there(options: tuple[object, ...], tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"
    done = ran(sys.executable, ROOT / "fetch.py", *options, "--dir", nowhere, status=2)
    assert (done.stdout, done.stderr) == ("", f"{nowhere}: no such folder; make it, or give another --dir\n")
