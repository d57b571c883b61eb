"""What goes on beside an experiment and ends with it: programs, a function in a fork of ours, work that a thread does.

    we  --fork-->  the first process of a PID namespace: the function, and all that it starts

In a fork no module is loaded again: to load what a page load needs takes 0.3 to 0.4 s, nearly half of what it costs
besides the page. Where a PID namespace can be made, all that the function has started ends with it.
"""

import gc
import os
import select
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import IO, NoReturn

from harness.errors import ExperimentError, InputError, run_main
from harness.system.libc import call
from harness.system.namespaces import fork_into_namespace, inside, see_own_processes, why_none
from harness.system.processes import bound_to_us, die_with_parent, signal_as_root, stop
from harness.system.signals import ENDING_SIGNALS

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


MOST_FILES = 2**20
ENDING_S = 3.0
PR_SET_NAME = 15


def call_forked(function: Callable[[], int], name: str, errors: IO[bytes], patience_s: float,
                namespace_pid: int | None = None, *, begun: Callable[[], None] = lambda: None) -> int:
    """Run `function` as the main function of a process called `name`; return its exit status, as Popen.returncode.

    The process is root's if we can be root, lives in the network namespace of `namespace_pid` if one is given, has none
    of our open files, and writes its errors to `errors`. Raises subprocess.TimeoutExpired after `patience_s` seconds,
    when it has been ended (SIGTERM, then SIGKILL). `begun` is called when the process is there: threads that are made
    then are none that a fork could harm.
    """
    with inside(namespace_pid or os.getpid()):
        fork = os.fork if why_none() else fork_into_namespace
        pid = fork()
        if not pid:
            _be_called(function, name, errors.fileno())
    process = os.pidfd_open(pid)        # ours to reap, so it is still this one
    try:
        begun()
        in_time = _has_ended(process, patience_s)
    finally:
        _end(process)
        os.close(process)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if not in_time:
        raise subprocess.TimeoutExpired([name], patience_s)
    return status


def _be_called(function: Callable[[], int], name: str, errors: int) -> NoReturn:
    """Become the process of a call.

    It ends at once: that Python takes apart what it holds takes 0.1 s with Selenium's modules.
    """
    status = 1
    try:
        for number in ENDING_SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        gc.disable()        # it ends soon; and what the collector touches, the kernel must copy
        if os.getpid() == 1:
            see_own_processes()
        else:
            die_with_parent()
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for source, target in ((nothing, 0), (nothing, 1), (errors, 2)):
            os.dup2(source, target)
        os.closerange(3, MOST_FILES)
        sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__     # not what copies them into the run's log
        call("prctl", PR_SET_NAME, name.encode())       # /proc/self is root's where we gave up root
        run_main(function)
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 1
    except BaseException:  # noqa: BLE001 (nothing may go on in the caller's code)
        sys.excepthook(*sys.exc_info())
    finally:
        try:
            with suppress(OSError, ValueError):
                sys.stderr.flush()
        finally:
            os._exit(status)        # also where a signal comes just now


def _has_ended(process: int, patience_s: float) -> bool:
    """Wait until the process of this pidfd has ended (pidfd_open(2)); tell whether it has within `patience_s`."""
    ended = select.poll()
    ended.register(process, select.POLLIN)
    return bool(ended.poll(patience_s * 1000))


def _end(process: int) -> None:
    """End the process of this pidfd by SIGTERM, or SIGKILL when it takes too long."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if _has_ended(process, 0):
            return
        signal_as_root(partial(signal.pidfd_send_signal, process), number)
        _has_ended(process, ENDING_S)


@contextmanager
def beside(work: Callable[[threading.Event], None], name: str) -> Iterator[None]:
    """Do `work` in a thread called `name` while this lasts; what it is given is set when it is to end.

    What it raises is raised here at the end, unless something else has ended this: nobody sees how a thread ends.
    """
    ended = threading.Event()
    with ThreadPoolExecutor(1, thread_name_prefix=name) as pool:
        try:                    # a signal may come at any line, and the pool waits for the thread
            working = pool.submit(work, ended)
            yield
        finally:
            ended.set()
    working.result()
