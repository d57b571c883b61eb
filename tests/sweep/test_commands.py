"""What sweep.py does besides sweeping, and what it says."""

import os
import re
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from harness.errors import ExperimentError, InputError
from harness.files.pages import read_pages
from harness.sweep import commands, recordings
from harness.sweep.folder import SweepFolder
from harness.sweep.recordings import record_missing


@pytest.fixture
def folder(tmp_path: Path) -> SweepFolder:
    """Give a sweep of two pages, of which none has been tried yet."""
    (tmp_path / "list.pages").write_text("http://one.test/\nhttp://two.test/\n")
    made = SweepFolder(tmp_path, "x")
    made.make()
    made.write("sweep.json", {})
    return made


def test_status_says_how_far_the_recordings_are(folder: SweepFolder, monkeypatch: pytest.MonkeyPatch,
                                                capsys: pytest.CaptureFixture[str]) -> None:
    pages = read_pages(folder.path.parent / "list.pages")
    options = Namespace(dir=folder.path.parent, status="x")

    def fetch(_: Path) -> str:
        assert commands.status(options) == 1
        return "it is gone"
    monkeypatch.setattr(recordings, "fetch", fetch)
    record_missing(folder, pages, {}, lambda _: None)
    folder.write("progress.json", {"sites": 3, "done": 2, "failed": 1, "partly": 0})
    assert commands.status(options) == 1
    said = capsys.readouterr().out
    assert [[int(number) for number in re.findall(r"\d+", line)] for line in said.splitlines()] == [
        [0, 2], [1, 2], [2, 3, 1, 0]]
    folder.write("progress.json", {"sites": 3, "done": 3, "failed": 1})
    assert commands.status(options) == 0


@contextmanager
def another_drives(folder: SweepFolder) -> Iterator[None]:
    """Have another process hold the sweep: locks of fcntl(2) are a process's."""
    code = ("import sys; sys.path.insert(0, sys.argv[1]); from pathlib import Path\n"
            "from harness.sweep.folder import SweepFolder\n"
            "with SweepFolder(Path(sys.argv[2]), 'x').only_driver(): print(flush=True); sys.stdin.read()")
    with subprocess.Popen([sys.executable, "-c", code, ROOT, folder.path.parent], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        yield
        process.communicate()


def test_a_sweep_has_one_driver(folder: SweepFolder) -> None:
    for _ in range(2):
        with another_drives(folder):
            assert folder.driver()
            with pytest.raises(InputError), folder.only_driver():
                pass
        assert folder.driver() is None
    with folder.only_driver():
        pass


def test_a_sweep_that_does_not_end_is_not_called_stopped(folder: SweepFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "ENDING_S", 0.1)
    monkeypatch.setattr(os, "kill", lambda *_: None)
    with another_drives(folder), pytest.raises(ExperimentError):
        commands.halt(Namespace(dir=folder.path.parent, stop="x"))
