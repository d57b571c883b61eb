"""How far a long job is: a bar with the time left on a terminal, one plain line a step when piped."""

import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from harness.errors import printable
from harness.system.run_log import note, uncopied


class Steps:
    """A counted job. `done` reports one finished step in words."""

    def __init__(self, console: Console, bar: Progress | None, total: int) -> None:
        """Count to `total`; `bar` is None when there is no terminal."""
        self._console, self._bar, self._left = console, bar, total
        self._task = bar.add_task("", total=total) if bar else None
        self._count, self._began_s = 0, time.monotonic()

    def __enter__(self) -> "Steps":
        """Show the bar, if there is one; what others print meanwhile would spoil it. It can be shown again."""
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def say(self, what: str) -> None:
        """Say something that is no step."""
        what = printable(what)
        self._console.print(what, highlight=False, markup=False, soft_wrap=True)
        note(what)

    def done(self, what: str, left: int | None = None, *, is_most: bool = False) -> None:
        """Say that a step is over, and how many are `left` (at most): one less than before, if nothing is said."""
        self._count += 1
        self._left = self._left - 1 if left is None else left
        what, total = printable(what), self._count + self._left
        if self._bar is not None and self._task is not None:
            self._console.print(what, highlight=False, markup=False)
            note(what)
            self._bar.update(self._task, completed=self._count, total=total)
            return
        left_s = (time.monotonic() - self._began_s) / self._count * self._left
        most, mark = ("at most ", "<=") if is_most and self._left else ("", "")
        line = f"[{self._count:3}/{mark}{total}] {what}  ({most}{duration(left_s)} left)"
        self._console.print(line, highlight=False, markup=False, soft_wrap=True)
        note(line)


def counted(total: int, what: str = "loads") -> Steps:
    """Return the progress of `total` steps, shown by `with`; `what` they are stands before the bar."""
    console = Console(emoji=False, file=uncopied())
    if not console.is_terminal:
        return Steps(console, None, total)
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(elapsed_when_finished=True))
    return Steps(console, Progress(*columns, console=console), total)


def duration(seconds: float) -> str:
    """Return a time in the words of a person: ``40 s``, ``3 min``."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
