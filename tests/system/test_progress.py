"""What a job prints: one plain line a step when piped, a bar on a terminal, and a copy of it in a file."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.errors import InputError
from harness.system.progress import Copied, Steps, run_log, uncopied

ESCAPE = "\x1b"
MARKUP = "http://a.org/[bold]x[/bold]?a=1 :smile: " + "y" * 300


@pytest.mark.parametrize(("total", "steps", "lines"), [
    (4, [(1010, MARKUP, {}), (1040, "b", {}), (1300, "c", {}), (1304, "d", {})],
     [f"[  1/4] {MARKUP}  (30 s left)", "[  2/4] b  (40 s left)", "[  3/4] c  (2 min left)", "[  4/4] d  (0 s left)"]),
    (2, [(1010, "a fails", {"left": 2}), (1020, "b", {"left": 5}), (1030, "a", {"left": 0})],
     ["[  1/3] a fails  (20 s left)", "[  2/7] b  (50 s left)", "[  3/3] a  (0 s left)"])])
def test_piped_the_time_left_is_that_of_the_steps_left_at_the_pace_so_far(
        total: int, steps: list[tuple[float, str, dict[str, Any]]], lines: list[str],
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What looks like markup, or is long, is left as it is."""
    for forced in ("FORCE_COLOR", "TTY_COMPATIBLE"):        # which make rich take a pipe for a terminal
        monkeypatch.delenv(forced, raising=False)
    clock_s = iter([1000.0, *(at_s for at_s, _, _ in steps)])
    monkeypatch.setattr("harness.system.progress.time.monotonic", lambda: next(clock_s))
    progress = Steps(total)
    for _, what, left in steps:
        progress.done(what, **left)
    assert capsys.readouterr().out.splitlines() == lines


def test_on_a_terminal_it_is_a_bar_with_the_time_left_and_the_log_has_the_lines_alone(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("TERM", "xterm")
    with run_log(tmp_path / "run.log"), Steps(2, "sites") as progress:
        progress.done("first page")
        progress.done("second page")
    written = capsys.readouterr().out
    assert all(part in written for part in ("first page\n", "second page\n", "sites", "2/2", "━"))
    hidden, shown = (written.count(f"{ESCAPE}[?25{what}") for what in "lh")
    assert hidden == shown > 0, "the cursor is shown again"
    assert re.search(r"\d:\d\d", written), "the time"
    assert (tmp_path / "run.log").read_text().splitlines()[1:] == ["first page", "second page"]


def test_what_is_printed_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    usual = sys.stdout, sys.stderr
    for words in ("first", "second"):
        with run_log(tmp_path / "run.log"):
            print(words)
            print("wrong", file=sys.stderr)
            print("a bar", file=uncopied())
            assert isinstance(sys.stdout, Copied)
            assert sys.stdout.isatty() == usual[0].isatty()
        assert (sys.stdout, sys.stderr) == usual
    lines = (tmp_path / "run.log").read_text().splitlines()
    assert [line for line in lines if not line.startswith("# ")] == [
        "first", "wrong", "second", "wrong"]
    assert [number for number, line in enumerate(lines) if line.endswith(" ".join(sys.argv))] == [0, 3]
    assert capsys.readouterr() == ("first\na bar\nsecond\na bar\n", "wrong\nwrong\n")


def test_something_else_in_its_place(tmp_path: Path) -> None:
    precious, link = tmp_path / "precious", tmp_path / "link"
    precious.touch()
    link.symlink_to(precious)
    for folder_or_link in (tmp_path, link):
        with pytest.raises(InputError, match=f"^{folder_or_link}: "), run_log(folder_or_link):
            pass
    assert precious.read_text() == ""
