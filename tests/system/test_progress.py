"""What a job prints: one plain line a step when piped, a bar on a terminal, and a copy of it in a file."""

import io
import os
import pty
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from harness.bootstrap import ROOT
from harness.errors import InputError
from harness.system.progress import Copied, Steps, note, run_log, uncopied
from tests.support.ran import ran

SCRIPT = """
import sys, time
from harness.system.progress import Steps
steps = sys.argv[2:]
with Steps(len(steps), "sites") as progress:
    for what in steps:
        time.sleep(float(sys.argv[1]))
        progress.done(what)
"""
ESCAPE = "\x1b"


def environment() -> dict[str, str]:
    """Return ours without what makes rich take a pipe for a terminal, or the other way round."""
    forced = ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS", "LINES")
    return {name: value for name, value in os.environ.items() if name not in forced} | {
        "TERM": "xterm-256color", "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8"}


def on_a_terminal(*steps: str) -> str:
    """Return all that the job writes to a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([sys.executable, "-c", SCRIPT, "0.15", *steps], env=environment(), stdin=theirs,
                          stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        written = b""
        with suppress(OSError):  # EIO: the other side is closed
            while True:
                written += os.read(ours, 65536)
        os.close(ours)
    assert process.returncode == 0
    return written.decode()


@pytest.mark.parametrize(("total", "steps", "lines"), [
    (4, [(1010, "a", {}), (1040, "b", {}), (1300, "c", {}), (1304, "d", {})],
     ["[  1/4] a  (30 s left)", "[  2/4] b  (40 s left)", "[  3/4] c  (2 min left)", "[  4/4] d  (0 s left)"]),
    (2, [(1010, "a fails", {"left": 2}), (1020, "b", {"left": 5}), (1030, "a", {"left": 0})],
     ["[  1/3] a fails  (20 s left)", "[  2/7] b  (50 s left)", "[  3/3] a  (0 s left)"])])
def test_the_time_left_is_that_of_the_steps_left_at_the_pace_so_far(
        total: int, steps: list[tuple[float, str, dict[str, Any]]], lines: list[str],
        monkeypatch: pytest.MonkeyPatch) -> None:
    clock_s = iter([1000.0, *(at_s for at_s, _, _ in steps)])
    monkeypatch.setattr("harness.system.progress.time.monotonic", lambda: next(clock_s))
    written = io.StringIO()
    progress = Steps(total, console=Console(file=written))
    for _, what, left in steps:
        progress.done(what, **left)
    assert written.getvalue().splitlines() == lines


def test_piped_what_looks_like_markup_or_is_long_is_left_as_it_is() -> None:
    what = "http://a.org/[bold]x[/bold]?a=1 'b' 10.0 ms " + "y" * 300
    done = ran(sys.executable, "-c", SCRIPT, 0, what, status=0, env=environment())
    assert (done.stdout, done.stderr) == (f"[  1/1] {what}  (0 s left)\n", "")


def test_on_a_terminal_it_is_a_bar_with_the_time_left() -> None:
    written = on_a_terminal("first page", "second page")
    assert ESCAPE in written
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written)
    assert all(part in plain for part in ("first page", "second page", "sites", "2/2", "━"))
    assert re.search(r"\d:\d\d", plain), "the time"
    assert written.count(f"{ESCAPE}[?25l") == written.count(f"{ESCAPE}[?25h"), "the cursor is shown again"


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


def test_something_else_in_its_place(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "precious").touch()
    (tmp_path / "link").symlink_to(tmp_path / "precious")
    for name in ("folder", "link"):
        with pytest.raises(InputError, match=f"/{name}: "), run_log(tmp_path / name):
            pass
    assert (tmp_path / "precious").read_text() == ""
