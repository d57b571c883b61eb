"""Programs that run beside an experiment: started, waited for until they are ready, and ended with it."""

import os
import selectors
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

from harness.errors import ExperimentError, InputError
from harness.system.netns import inside
from harness.system.processes import bound_to_us, stop

START_TIMEOUT_S = 30.0
BAD_INPUT = 2


@dataclass(frozen=True)
class BackgroundProgram:
    """A program that runs beside us; `what` is what to call it in an error."""

    what: str
    process: subprocess.Popen[str]
    complaints: IO[str]

    def check(self) -> None:
        """Raise ExperimentError with its last words if it has ended."""
        status = self.process.poll()
        if status is not None:
            how = f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
            raise ExperimentError(f"{self.what} ended ({how}): {self.last_words()}")

    def complained(self) -> str:
        """Return what it has written to its standard error."""
        self.complaints.seek(0)
        return self.complaints.read()

    def last_words(self) -> str:
        """Return the last line of that."""
        return self.complained().strip().rpartition("\n")[2] or "it did not say why"


@contextmanager
def started(command: Sequence[str], what: str, namespace_pid: int | None = None,
            stdout: int | IO[bytes] = subprocess.PIPE, pass_fds: Sequence[int] = ()) -> Iterator[BackgroundProgram]:
    """Run `command`, as root, while this lasts, in the network namespace of `namespace_pid` if one is given.

    Its errors go to a file, so that no full pipe can stop it. It inherits the descriptors `pass_fds`.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as complaints:
        with inside(namespace_pid or os.getpid()):
            process = subprocess.Popen(bound_to_us(command), stdout=stdout, stderr=complaints, text=True,
                                       start_new_session=True, pass_fds=pass_fds)
        try:
            yield BackgroundProgram(what, process, complaints)
        finally:
            stop(process)


@contextmanager
def running(command: Sequence[str], ready: str, what: str, namespace_pid: int | None = None,
            pass_fds: Sequence[int] = ()) -> Iterator[BackgroundProgram]:
    """Run `command`, as `started` does, while this lasts; it is running when it has printed the line `ready`.

    Raises InputError or ExperimentError with the last thing it said, as its exit status 2 or other tells, when it does
    not get ready within 30 s.
    """
    with started(command, what, namespace_pid, pass_fds=pass_fds) as program:
        if _first_line(program.process) != ready:
            stop(program.process)
            error = InputError if program.process.returncode == BAD_INPUT else ExperimentError
            raise error(f"{what} did not start: {program.last_words()}")
        yield program


def _first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        return process.stdout.readline().strip() if selector.select(START_TIMEOUT_S) else ""
