"""What is typed behind ./sweep.py: wrong input is one line and exit status 2, and nothing is made."""

import json
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from tests.support.forked import typed

SWEEP = ROOT / "sweep.py"
NO_SUCH = "127.0.0.1:1"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "List.pages").write_text("http://a.test/\n")
    (tmp_path / "grid.toml").write_text('http = ["1.0", "1.1"]\n')
    (tmp_path / "bad.toml").write_text("http = [\n")
    return tmp_path


@pytest.mark.parametrize(("words", "said"), [
    (["--pages", "None.pages"], "None.pages:1: no such file"),
    (["--pages", f"{'a' * 300}.pages"], ".pages:1: cannot be read (File name too long)"),
    (["--pages", "List.pages", "--on-user", "id"], "'--on-user' is no option of a sweep"),
    (["--pages", "List.pages", "--testruns", "1"], "argument --testruns: '1' is not a whole number from 2"),
    (["--pages", "List.pages", "--delays", "5 5"], "names a number twice"),
    (["--pages", "List.pages", "--delays", "10 600"], "together under 500 ms"),
    (["--pages", "List.pages", "--delays", "450", "--delayhome", "100"], "together under 500 ms"),
    (["--pages", "List.pages", "--grid", "bad.toml"], "bad.toml:1: not TOML"),
    (["--pages", "List.pages", "--grid", "grid.toml", "--scheduler", NO_SUCH], "is no address; write tls://host:8786"),
    (["--pages", "List.pages", "--hosts", "lab1,-oProxyCommand=id"], "names no hosts; write lab1,lab2"),
    (["--resume", "Nothing"], "sweep-Nothing: no sweep there; begin one with ./sweep.py --pages LIST"),
    (["--report", "Nothing"], "no sweep there; begin one with"),
    (["--status"], "no such sweep there; those there are: none"),
    (["--stop", "Nothing"], "no such sweep there; those there are: none"),
    (["--pages", "List.pages", "--status"], "not allowed with argument --pages"),
    ([], "one of the arguments --pages --resume --status --stop --report is required")])
def test_wrong_input_is_one_line(folder: Path, words: list[str], said: str) -> None:
    done = typed(SWEEP, *words, "--dir", str(folder), cwd=folder)
    lines = done.stderr.strip().splitlines()
    assert done.returncode == 2, done.stderr
    assert said in lines[-1]
    assert len(lines) == 1


def test_a_sweep_of_another_version_is_not_gone_on_with(folder: Path) -> None:
    sweep = folder / "sweep-List"
    sweep.mkdir()
    asked = {"format": 1, "pages": str(folder / "List.pages"), "delays": [10.0], "combinations": [[]],
             "versions": {"tfo_lab": "older", "browser": "Chrome 1"}}
    (sweep / "sweep.json").write_text(json.dumps(asked))
    done = typed(SWEEP, "--resume", "List", "--dir", str(folder))
    assert done.returncode == 2
    assert "was measured by Versions(tfo_lab='older', browser='Chrome 1'), and here is" in done.stderr
    shown = typed(SWEEP, "--status", "--dir", str(folder))
    assert (shown.returncode, shown.stdout) == (
        1, "sweep-List: not running; 0 of 0 sites done, 0 of them failed, 0 partly measured\n")
    stopped = typed(SWEEP, "--stop", "List", "--dir", str(folder))
    assert stopped.returncode == 2
    assert "this sweep is not running; nothing to stop" in stopped.stderr
