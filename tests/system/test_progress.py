"""What a job prints: one plain line a step when piped, a bar on a terminal, and a copy of it in a file."""

from pathlib import Path

import pytest

from harness.errors import InputError
from harness.system.progress import Steps, run_log

MARKUP = "http://a.org/[bold]x[/bold]?a=1 :smile: " + "y" * 300


def test_piped_the_time_left_is_that_of_the_steps_left_at_the_pace_so_far(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What looks like markup, or is long, is left as it is. From 1000 s on, with 4 steps to do, and then more."""
    for forced in ("FORCE_COLOR", "TTY_COMPATIBLE"):        # which make rich take a pipe for a terminal
        monkeypatch.delenv(forced, raising=False)
    steps = [(1010, MARKUP, None, f"[  1/4] {MARKUP}  (30 s left)"), (1040, "b", None, "[  2/4] b  (40 s left)"),
             (1300, "c fails", 4, "[  3/7] c fails  (7 min left)"), (1304, "d", None, "[  4/7] d  (4 min left)"),
             (1310, "c", 0, "[  5/5] c  (0 s left)")]
    clock_s = iter([1000, *(step[0] for step in steps)])
    monkeypatch.setattr("harness.system.progress.time.monotonic", lambda: next(clock_s))
    progress = Steps(4)
    for _, what, left, _ in steps:
        progress.done(what, left)
    assert capsys.readouterr().out.splitlines() == [line for *_, line in steps]


def test_on_a_terminal_it_is_a_bar_with_the_time_left_and_the_log_has_the_lines_alone(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("TERM", "xterm")
    with run_log(tmp_path / "run.log"), Steps(2, "sites") as progress:
        progress.done("first page")
        progress.done("second page")
    written = capsys.readouterr().out
    assert all(part in written for part in ("first page\n", "second page\n", "sites", "2/2", "━"))
    assert (tmp_path / "run.log").read_text().splitlines()[1:] == ["first page", "second page"]


def test_something_else_in_its_place(tmp_path: Path) -> None:
    precious, link = tmp_path / "precious", tmp_path / "link"
    precious.touch()
    link.symlink_to(precious)
    for folder_or_link in (tmp_path, link):
        with pytest.raises(InputError, match=f"^{folder_or_link}: "), run_log(folder_or_link):
            pass
    assert precious.read_text() == ""
