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
        self._console, self._bar, self._total, self._about = console, bar, total, ""
        self._task = bar.add_task("", total=total) if bar else None
        self._count, self._again, self._began_s = 0, 0, time.monotonic()

    def __enter__(self) -> "Steps":
        """Show the bar, if there is one; what others print meanwhile would spoil it. It can be shown again."""
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def expect(self, more: int) -> None:
        """Expect `more` steps from here on: an estimate, and marked as one while there are any."""
        self._total, self._about = self._count + more, "~" if more else ""
        self._show_total()

    def expect_again(self, steps: int) -> None:
        """Expect that so many `steps`, of those that are over, will be done again."""
        self._again = steps
        self._show_total()

    def begin_again(self) -> None:
        """Begin with one of the steps that were expected again."""
        self._total, self._again = self._total + 1, self._again - 1
        self._show_total()

    def _show_total(self) -> None:
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, total=self._total + self._again)

    def say(self, what: str) -> None:
        """Say something that is no step."""
        what = printable(what)
        self._console.print(what, highlight=False, markup=False, soft_wrap=True)
        note(what)

    def done(self, what: str) -> None:
        """Say that a step is over."""
        self._count += 1
        what = printable(what)
        if self._bar is not None and self._task is not None:
            self._console.print(what, highlight=False, markup=False)
            note(what)
            self._bar.advance(self._task)
            return
        total = self._total + self._again
        left_s = (time.monotonic() - self._began_s) / self._count * (total - self._count)
        about = "about " if self._about else ""
        line = f"[{self._count:3}/{self._about}{total}] {what}  ({about}{duration(left_s)} left)"
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
