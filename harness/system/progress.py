"""How far a long job is: a bar with the time left on a terminal, one plain line a step when piped."""

import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from harness.errors import printable
from harness.system.run_log import note, uncopied


class Steps:
    """A counted job, whose bar is shown by `with`. `done` reports one finished step in words."""

    def __init__(self, total: int, what: str = "loads", console: Console | None = None) -> None:
        """Count to `total`; `what` they are stands before the bar."""
        self._console = console or Console(emoji=False, file=uncopied())
        columns = TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(elapsed_when_finished=True)
        self._bar = Progress(*columns, console=self._console, disable=not self._console.is_terminal)
        self._task = self._bar.add_task("", total=total)
        self._left, self._count, self._began_s = total, 0, time.monotonic()

    def __enter__(self) -> "Steps":
        """Show the bar, if there is a terminal; what others print meanwhile would spoil it. It can be shown again."""
        self._bar.start()
        return self

    def __exit__(self, *_error: object) -> None:
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
        total = self._count + self._left
        if self._bar.disable:
            left_s = (time.monotonic() - self._began_s) / self._count * self._left
            most, mark = ("at most ", "<=") if is_most and self._left else ("", "")
            what = f"[{self._count:3}/{mark}{total}] {what}  ({most}{duration(left_s)} left)"
        self.say(what)
        self._bar.update(self._task, completed=self._count, total=total)


def duration(seconds: float) -> str:
    """Return a time in the words of a person: ``40 s``, ``3 min``."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
