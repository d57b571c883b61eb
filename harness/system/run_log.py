"""What a program prints is kept in a file, too: the words, without the bar that shows a terminal how far it is."""

import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TextIO

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
        terminals = [stream for stream in usual if stream.isatty()]
        sys.stdout, sys.stderr = Copied(sys.stdout, log), Copied(sys.stderr, log)
        try:
            yield
        except BaseException as error:
            closed = any(not stream.isatty() for stream in terminals)
            print("ended, since its terminal was closed" if closed and isinstance(error, OSError) else
                  printable(f"ended by {type(error).__name__}: {error}"), file=log)
            raise
        finally:
            sys.stdout, sys.stderr = usual


def note(text: str) -> None:
    """Write a line that was printed past sys.stdout, as a bar does, into the log, if there is one."""
    if isinstance(sys.stdout, Copied):
        sys.stdout.log.write(f"{text}\n")


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
