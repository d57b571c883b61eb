"""What is typed behind ./sweep.py: wrong input is one line and exit status 2, and nothing is made."""

import json
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from tests.support.forked import typed
from tests.support.ran import assert_refused

SWEEP = ROOT / "sweep.py"
NO_SUCH = "127.0.0.1:1"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "List.pages").write_text("http://a.test/\n")
    (tmp_path / "grid.toml").write_text('http = ["1.0", "1.1"]\n')
    (tmp_path / "bad.toml").write_text("http = [\n")
    return tmp_path


LIST = ("--pages", "List.pages")


@pytest.mark.parametrize(("words", "names"), [
    (["--pages", "None.pages"], "None.pages:1:"), (["--pages", f"{'a' * 300}.pages"], "a.pages:1:"),
    ([*LIST, "--on-user", "id"], "--on-user"), ([*LIST, "--testruns", "1"], "--testruns"),
    ([*LIST, "--delays", "5 5"], "--delays"), ([*LIST, "--delays", "10 600"], "--delays"),
    ([*LIST, "--delays", "450", "--delayhome", "100"], "--delayhome"), ([*LIST, "--grid", "bad.toml"], "bad.toml:1:"),
    ([*LIST, "--grid", "grid.toml", "--scheduler", NO_SUCH], NO_SUCH),
    ([*LIST, "--hosts", "lab1,-oProxyCommand=id"], "--hosts"), (["--resume", "Nothing"], "sweep-Nothing:"),
    (["--report", "Nothing"], "sweep-Nothing:"), (["--status"], "none"), (["--stop", "Nothing"], "none"),
    ([*LIST, "--status"], "--pages"), ([], "--resume"),
    ([*LIST, "--patience", "0.5"], "--patience")])
def test_wrong_input_is_one_line(folder: Path, words: list[str], names: str) -> None:
    done = typed(SWEEP, *words, "--dir", str(folder), cwd=folder)
    assert_refused(done)
    assert names in done.stderr


def test_a_sweep_of_another_version_is_not_gone_on_with(folder: Path) -> None:
    sweep = folder / "sweep-List"
    sweep.mkdir()
    begun = {"pages": str(folder / "List.pages"), "combinations": [[]],
             "versions": {"tfo_lab": "older", "browser": "Chrome 1"}}
    (sweep / "sweep.json").write_text(json.dumps(begun))
    done = typed(SWEEP, "--resume", "List", "--dir", str(folder))
    assert_refused(done)
    assert "tfo_lab='older'" in done.stderr
    shown = typed(SWEEP, "--status", "--dir", str(folder))
    assert (shown.returncode, shown.stderr, "0 of 0 sites" in shown.stdout) == (1, "", True)
    stopped = typed(SWEEP, "--stop", "List", "--dir", str(folder))
    assert_refused(stopped)
