"""What programs refuse: ``refusals.tsv``, a command a line. Each is told in one line, with status 2; nothing is made.

A line has the program, what that line names, and the words that are typed in a folder with a recording (small), a list
of pages and a sweep's grids. What a program refuses by its input is in the tests of that program.
"""

import json
import shlex
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from tests.support import forked
from tests.support.project_copy import copy_project, typed
from tests.support.ran import assert_refused, ran
from tests.support.small_mirror import chain_of_hosts

RUN_SH = "run.sh"
REFUSALS = [line.split("\t") for line in
            (Path(__file__).parent / "refusals.tsv").read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = chain_of_hosts(tmp_path_factory.mktemp("refusals"), hosts=2)
    for name, text in {"List.pages": "http://a.test/\n", "grid.toml": 'http = ["1.0", "1.1"]\n',
                       "bad.toml": "http = [\n"}.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a copy of the project: run.sh works where it stands, whatever folder it is called in."""
    return chain_of_hosts(copy_project(tmp_path_factory.mktemp("run-sh") / "project"), hosts=2)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"__pycache__"}


@pytest.mark.parametrize(("program", "says", "words"), [row for row in REFUSALS if row[0] != RUN_SH])
def test_bad_use_is_one_line(program: str, says: str, words: str, folder: Path) -> None:
    before, path = names(folder), ROOT / program
    if path.suffix == ".py":
        done = forked.typed(path, "--dir", folder, *shlex.split(words), cwd=folder)
    else:
        done = ran(path, *shlex.split(words), cwd=folder)
    assert_refused(done)
    assert says in done.stderr
    assert (done.stdout, names(folder)) == ("", before)


@pytest.mark.root
@pytest.mark.parametrize(("says", "words"), [row[1:] for row in REFUSALS if row[0] == RUN_SH])
def test_run_sh_hands_its_options_on(says: str, words: str, project: Path) -> None:
    before = names(project)
    done = ran(*typed(project, "./run.sh", *shlex.split(words)))
    assert_refused(done)
    assert says in done.stderr
    assert names(project) == before


def test_a_sweep_of_another_version_is_not_gone_on_with(tmp_path: Path) -> None:
    (tmp_path / "sweep-List").mkdir()
    begun = {"pages": str(tmp_path / "List.pages"), "combinations": [[]],
             "versions": {"tfo_lab": "older", "browser": "Chrome 1"}}
    (tmp_path / "sweep-List" / "sweep.json").write_text(json.dumps(begun))
    (tmp_path / "List.pages").write_text("http://a.test/\n")
    for words, says in ((("--resume", "List"), "tfo_lab='older'"), (("--stop", "List"), "sweep")):
        done = forked.typed(ROOT / "sweep.py", *words, "--dir", tmp_path)
        assert_refused(done)
        assert says in done.stderr
    shown = forked.typed(ROOT / "sweep.py", "--status", "--dir", tmp_path)
    assert (shown.returncode, shown.stderr, "0 of 0 sites" in shown.stdout) == (1, "", True)
