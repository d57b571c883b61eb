"""What programs refuse, and what they say of themselves.

A line of ``refusals.tsv`` has the program, what its one line names, and the words that are typed in a folder with a
recording (small), a list of pages, a sweep's grids and an older sweep: the status is 2, and nothing is made. What a
program refuses by its input is in the tests of that program.
"""

import json
import os
import platform
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from harness.measure.about import VERSION
from tests.support import forked
from tests.support.project_copy import copy_project, typed
from tests.support.ran import assert_refused, ran
from tests.support.recording import chain_of_hosts, one_document
from tests.support.report_folder import MEASURED

RUN_SH = "run.sh"
REFUSALS = [line.split("\t") for line in
            (Path(__file__).parent / "refusals.tsv").read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = chain_of_hosts(tmp_path_factory.mktemp("refusals"), hosts=2)
    older = {"pages": f"{folder}/List.pages", "combinations": [[]],
             "versions": {"tfo_lab": "older", "browser": "Chrome 1"}}
    for name, text in {"List.pages": "http://a.test/\n", "grid.toml": 'http = ["1.0", "1.1"]\n',
                       "bad.toml": "http = [\n", "empty": "", "small.rtts": "a.test 5\n",
                       "sweep-Old/sweep.json": json.dumps(older)}.items():
        (folder / name).parent.mkdir(exist_ok=True)
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


PROGRAMS = (
    ("fetch.py", "--dir", ".", "--name", "small", "--ca", "file"),
    ("fetch.py", "--dir", ".", "--name", "small", "--remap", "file"),
    ("tfo-test/http_tfo.py", "--mirror", "small", "--fetchlog", "small.fetchlog", "--hosts", "file"),
    ("scripts/make_pages.py", "--directory", ".", "--name", "new", "--shape", "file"),
    ("plot.py", "--clientdir", str(MEASURED), "--outputdir", "out", "--append", "file"))
"""Of a file, and one that writes to it. What else a reader does not take: tests/system/test_untrusted.py."""


@pytest.mark.parametrize(("command", "make"), [*((command, os.mkfifo) for command in PROGRAMS), *(
    (PROGRAMS[-1], make) for make in (Path.mkdir, lambda path: path.symlink_to("/dev/full"),
                                      lambda path: path.symlink_to(path)))])
def test_what_is_no_file_is_one_line(command: tuple[str, ...], make: Callable[[Path], None], tmp_path: Path) -> None:
    one_document(tmp_path)
    make(tmp_path / "file")
    program, *words = command
    done = forked.typed(ROOT / program, *words, cwd=tmp_path)
    assert_refused(done)
    assert done.stderr.startswith(("file:1: ", f"{tmp_path / 'file'}:1: "))


def test_no_option_is_read_by_pythons_own_readers() -> None:
    """int() and float() take 1_0 and nan, which tests/system/test_options.py shows that ours refuse."""
    programs = [path for folder in ("", "benchmarks", "experiments", "harness", "scripts")
                for path in (ROOT / folder).glob("**/*.py" if folder else "*.py")]
    assert len(programs) > 200
    assert [path for path in programs if re.search(r"\btype=(int|float)\b", path.read_text())] == []


SCRIPTS = sorted(script.relative_to(ROOT) for folder in (".", "scripts", "tfo-test", "experiments")
                 for script in (ROOT / folder).glob("*.sh"))


@pytest.mark.parametrize("option", ["-h", "--help"])
@pytest.mark.parametrize("script", SCRIPTS, ids=str)
def test_a_script_tells_how_to_call_it(script: Path, option: str) -> None:
    done = ran(ROOT / script, option)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"./{script}" in done.stdout or f"{ROOT / script} [" in done.stdout
    assert "set -euo" not in done.stdout


@pytest.mark.parametrize("program", ["run.sh", "experiments/all.sh", "sweep.py"])
def test_a_program_says_what_it_is_without_root(program: str) -> None:
    done = ran(ROOT / program, "--version")
    assert (done.returncode, done.stderr) == (0, "")
    [line] = done.stdout.splitlines()
    assert line.startswith(f"TFO Lab {VERSION}, commit ")
    assert f"Linux {platform.release()}" in line
    assert len(line.split("; ")) == 5
