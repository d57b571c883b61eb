"""What is printed is kept in a file, too."""

import io
import os
import pty
import sys
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.system.progress import Copied, note, run_log, uncopied


def test_what_is_printed_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    usual = sys.stdout, sys.stderr
    for words in ("first", "second"):
        with run_log(tmp_path / "run.log"):
            print(words)
            print("wrong", file=sys.stderr)
            print("a bar", file=uncopied())
            note("a line beside the bar")
            assert isinstance(sys.stdout, Copied)
            assert sys.stdout.isatty() == usual[0].isatty()
        assert (sys.stdout, sys.stderr) == usual
    note("nobody keeps this")
    lines = (tmp_path / "run.log").read_text().splitlines()
    assert [line for line in lines if not line.startswith("# ")] == [
        "first", "wrong", "a line beside the bar", "second", "wrong", "a line beside the bar"]
    assert [number for number, line in enumerate(lines) if line.endswith(" ".join(sys.argv))] == [0, 4]
    assert capsys.readouterr() == ("first\na bar\nsecond\na bar\n", "wrong\nwrong\n")


def test_a_terminal_that_was_closed_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pty.openpty()
    terminal = io.TextIOWrapper(io.FileIO(theirs, "w"), write_through=True)
    monkeypatch.setattr(sys, "stdout", terminal)
    with pytest.raises(OSError, match="Input/output error"), run_log(tmp_path / "run.log"):   # noqa: PT012
        os.close(ours)
        print("nobody reads this")
    monkeypatch.undo()
    terminal.close()
    assert (tmp_path / "run.log").read_text().endswith("ended, since its terminal was closed\n")


def test_something_else_in_its_place(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "precious").touch()
    (tmp_path / "link").symlink_to(tmp_path / "precious")
    reader = os.open(tmp_path / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    for name, why in (("folder", "cannot be written"), ("fifo", "is no file"), ("link", "cannot be written")):
        with pytest.raises(InputError, match=f"{name}: {why}"), run_log(tmp_path / name):
            pass
    os.close(reader)
    assert (tmp_path / "precious").read_text() == ""
