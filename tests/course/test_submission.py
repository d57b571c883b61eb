"""scripts/submission.sh: what it takes, what it refuses and says, and what is in the zip."""

import os
import subprocess
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.bootstrap import ROOT
from harness.course.submission import check_files
from harness.errors import printable
from harness.files.pages import sanitise
from harness.show.console import HEADER
from tests.support.noted import each_case
from tests.support.ran import ran

URLS = ["https://www.example.org/", "http://example.com/a?b=c", "https://www.example.co.uk/x"]
LOGIN = "gburdell3"
ZIP = f"{LOGIN}_p3.zip"
ROWS = "".join(f"{sanitise(url)}\n\t20\t1.709\t1.670\t2.28%\n" for url in URLS)
OBSERVATIONS = f"I saw this:\n{HEADER}\n{ROWS}So TFO helps.\n".encode()


def write(directory: Path, observations: bytes = OBSERVATIONS, urls: Sequence[str] = URLS) -> None:
    (directory / "myURLS.pages").write_text("\n".join(urls))
    (directory / "observations.txt").write_bytes(observations)


def submit(directory: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return ran(ROOT / "scripts" / "submission.sh", "--dir", directory, *arguments, cwd="/")


def assert_wrong(directory: Path, *lines: str) -> None:
    """What is wrong are lines with these beginnings, after the directory, and no others."""
    found = [printable(problem) for problem in check_files(directory)]
    assert len(found) == len(lines), found
    for said, wanted in zip(found, lines, strict=True):
        assert said.startswith(f"{directory}/{wanted}"), said
        assert "\n" not in said


@pytest.mark.root
@pytest.mark.parametrize("of_user", [True, False])
def test_with_sudo_the_zip_is_the_users_or_none(open_to_all: Path, of_user: bool, monkeypatch: pytest.MonkeyPatch,
                                                ) -> None:
    write(open_to_all)
    os.chown(open_to_all, 1234 if of_user else 0, -1)
    monkeypatch.setenv("SUDO_UID", "1234")
    done = submit(open_to_all, LOGIN)
    if of_user:
        assert (done.returncode, (open_to_all / ZIP).stat().st_uid) == (0, 1234), done.stderr
    else:
        assert (done.returncode, done.stderr) == (2, f"{open_to_all / ZIP}: cannot be written (Permission denied); "
                                                     "give another --dir\n")
        assert not list(open_to_all.glob("*.zip"))


def test_zip_holds_exactly_the_two_files_and_is_replaced_only_by_force(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "other.txt").write_text("not to be handed in")
    (tmp_path / ZIP).write_text("old")
    done = submit(tmp_path, LOGIN)
    assert (done.returncode, (tmp_path / ZIP).read_text()) == (2, "old")
    assert done.stderr.startswith(f"{tmp_path / ZIP}: is there already; ")
    done = submit(tmp_path, "--force", LOGIN)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 1
    assert f"{ZIP}: " in done.stdout
    with zipfile.ZipFile(tmp_path / ZIP) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == {
            name: (tmp_path / name).read_bytes() for name in ("observations.txt", "myURLS.pages")}
    assert {path.name for path in tmp_path.iterdir()} == {"other.txt", "observations.txt", "myURLS.pages", ZIP}


@each_case("course/observations.jsonl")
def test_observations_as_editors_and_runs_leave_them_and_without_what_must_be_in_them(case: dict[str, Any],
                                                                                      tmp_path: Path) -> None:
    write(tmp_path, case["text"].encode(case.get("encoding", "utf-8")))
    assert_wrong(tmp_path, *case["wrong"])


def test_pages_against_the_rules_and_missing_files(tmp_path: Path) -> None:
    done = submit(tmp_path, LOGIN)
    assert (done.returncode, done.stderr.count("\n"), [*tmp_path.iterdir()]) == (2, 1, [])
    assert_wrong(tmp_path, "myURLS.pages:1: no such file; ")
    write(tmp_path, urls=[URLS[0], "ftp://example.com/", "http://example.org/other"])
    assert_wrong(tmp_path, "myURLS.pages:2: not a URL: ", "myURLS.pages:3: http://example.org/other belongs to ")
    write(tmp_path)
    (tmp_path / "observations.txt").unlink()
    assert_wrong(tmp_path, "observations.txt:1: cannot be read (there is no such file); ")
