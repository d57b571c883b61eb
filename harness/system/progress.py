"""What a long job prints: a bar with the time left on a terminal, one plain line a step when piped.

The words are kept in a file, too, without the bar.
"""

import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from harness.errors import InputError, printable


class Copied:
    """A stream, all of whose text goes into a file as well. Everything else about it is the stream's."""

    def __init__(self, stream: TextIO, log: IO[str]) -> None:
        """Write to `stream` and to `log`."""
        self.stream, self.log = stream, log

    def write(self, text: str) -> int:
        """Write to both."""
        self.log.write(text)
        return self.stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextmanager
def run_log(path: Path) -> Iterator[None]:
    """Append all that is printed to `path` while this lasts, and how it ended.

    Raises InputError when something else than a file is there.
    """
    with _opened(path) as log:
        print(f"# {time.strftime('%Y-%m-%d %H:%M:%S')} {' '.join(sys.argv)}", file=log)
        usual = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = Copied(sys.stdout, log), Copied(sys.stderr, log)
        try:
            yield
        except BaseException as error:
            print(printable(f"ended by {type(error).__name__}: {error}"), file=log)
            raise
        finally:
            sys.stdout, sys.stderr = usual


def uncopied() -> TextIO:
    """Return standard output without the log."""
    return sys.stdout.stream if isinstance(sys.stdout, Copied) else sys.stdout


def _opened(path: Path) -> IO[str]:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, 0o644)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); move it away") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise InputError(f"{path}: is no file; move it away")
    return os.fdopen(descriptor, "a", encoding="utf-8", errors="backslashreplace", buffering=1)


class Steps:
    """A counted job, whose bar is shown by `with`. `done` reports one finished step in words."""

    def __init__(self, total: int, what: str = "loads") -> None:
        """Count to `total`; `what` they are stands before the bar."""
        console = Console(file=uncopied())
        self._bar = Progress(TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
                             console=console, disable=not console.is_interactive, transient=True,
                             redirect_stdout=False, redirect_stderr=False)      # which would keep it from the log
        self._task = self._bar.add_task("", total=total)
        self._left, self._count, self._began_s = total, 0, time.monotonic()

    def __enter__(self) -> "Steps":
        """Show the bar, if there is a terminal; what others print meanwhile would spoil it. It can be shown again."""
        self._bar.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._bar.stop()

    def say(self, what: str) -> None:
        """Say something that is no step, where the bar was, which goes on below."""
        is_shown = self._bar.live.is_started
        self._bar.stop()
        print(printable(what), flush=True)
        if is_shown:
            self._bar.start()

    def done(self, what: str, left: int | None = None, *, is_least: bool = False) -> None:
        """Say that a step is over, and how many are `left`, at least: one less than before, if nothing is said."""
        self._count += 1
        self._left = self._left - 1 if left is None else left
        total = self._count + self._left
        if self._bar.disable:
            left_s = (time.monotonic() - self._began_s) / self._count * self._left
            least, sign = ("at least ", ">=") if is_least and self._left else ("", "")
            what = f"[{self._count:3}/{sign}{total}] {what}  ({least}{duration(left_s)} left)"
        self.say(what)
        self._bar.update(self._task, completed=self._count, total=total)


def duration(seconds: float) -> str:
    """Return a time in the words of a person: ``40 s``, ``3 min``."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
