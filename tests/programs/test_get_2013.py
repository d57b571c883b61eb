"""scripts/get-2013.sh, with a local clone that has the shape of the public repository."""

import os
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from harness.files.text_log import PageLog, Response, format_log
from harness.mirror.recording import read_recording
from tests.support.ran import ran

SCRIPT = ROOT / "scripts" / "get-2013.sh"
URL = "http://www.a.test"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository with a page, and a link out of it."""
    directory = tmp_path / "clone"
    (directory / "Paper" / "www.a.test").mkdir(parents=True)
    (directory / "Paper.fetchlog").mkdir()
    (directory / "Paper.pages").write_text(URL)
    (directory / "Paper" / "www.a.test" / "index.html").write_text("page")
    (directory / "Paper" / "www.a.test" / "secret").symlink_to("/etc/hostname")
    log = PageLog(responses=[Response("OK", "text/html", "", f"{URL}/", None)], transactions_seen=True)
    (directory / "Paper.fetchlog" / "httpwww.a.test").write_text(format_log(log))
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"]):
        git(directory, *command)
    return directory


def git(directory: Path, *words: str) -> None:
    ran("git", "-c", "user.name=a", "-c", "user.email=a@a.test", *words, status=0, cwd=directory)


def get(target: Path, *options: str | Path) -> tuple[int, str]:
    """Run the script; return its exit status and what it said. It quotes git, which speaks the user's language."""
    target.mkdir(exist_ok=True)
    done = ran(SCRIPT, "--dir", target, *options, env={**os.environ, "LC_ALL": "C"})
    return done.returncode, done.stdout + done.stderr


def names(directory: Path) -> list[str]:
    """Return what stands in a directory."""
    return sorted(path.name for path in directory.iterdir())


def test_the_pages_of_2013_are_installed_once(clone: Path, tmp_path: Path) -> None:
    here = tmp_path / "here"
    assert get(here, clone) == (0, f"1 pages in {here}/Paper2013.pages; measure them: sudo ./run.sh --name Paper2013\n")
    assert names(here) == ["Paper2013", "Paper2013.fetchlog", "Paper2013.pages"]
    recording = read_recording(here / "Paper2013", here / "Paper2013.fetchlog")
    assert recording.document(URL) == URL
    assert not any(path.is_symlink() for path in here.rglob("*"))
    status, said = get(here, clone)
    assert (status, said) == (2, f"get-2013.sh: {here}/Paper2013: is there already; remove it to get the pages again\n")


@pytest.mark.parametrize("there", ["Paper2013", "Paper2013.fetchlog", "Paper2013.pages"])
def test_nothing_is_replaced(clone: Path, tmp_path: Path, there: str) -> None:
    here = tmp_path / "here"
    here.mkdir()
    (here / there).write_text("mine")
    assert get(here, clone)[0] == 2
    assert (names(here), (here / there).read_text()) == ([there], "mine")


@pytest.mark.parametrize("part", ["Paper", "Paper.fetchlog", "Paper.pages"])
def test_a_repository_without_the_pages_leaves_nothing(clone: Path, tmp_path: Path, part: str) -> None:
    git(clone, "rm", "-rq", part)
    git(clone, "commit", "-qm", "less")
    status, said = get(tmp_path / "here", clone)
    assert (status, said.count("\n"), names(tmp_path / "here")) == (1, 1, [])


def test_what_cannot_be_cloned_is_one_line(tmp_path: Path) -> None:
    status, said = get(tmp_path / "here", tmp_path / "nothing")
    assert (status, said.count("\n"), names(tmp_path / "here")) == (1, 1, [])
    assert said.startswith(f"get-2013.sh: {tmp_path}/nothing: cannot be cloned (fatal: ")
