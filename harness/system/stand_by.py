"""A program that stands by with its modules loaded, so that each call of it is only a fork.

    we  --socket-->  PROGRAM --stand-by, without work  --fork-->  a call: the program's main(), in a PID namespace

To load what load_page.py needs takes it 0.3 to 0.4 s, nearly half of what a load cost besides the page. A call has its
own arguments and its own standard error. It is the first process of a PID namespace, so that all that it started ends
with it, where one can be made. When the program that stands by dies, the call is ended.
"""

import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from harness.errors import ExperimentError, run_main
from harness.system.companions import Companion, running
from harness.system.pid_namespace import fork_into_namespace, see_own_processes, why_none
from harness.system.privileges import as_root
from harness.system.processes import die_with_parent

STAND_BY = "--stand-by"
READY = "stands by"
LONGEST_MESSAGE = 1 << 17
ANSWER_S = 30.0
"""Longest wait for a fork, and for the news that a call has ended."""
ENDING_S = 3.0


@dataclass(frozen=True)
class StandingBy:
    """A program that stands by. One call at a time."""

    program: Companion
    connection: socket.socket

    def check(self) -> None:
        """Raise ExperimentError with its last words if it has ended."""
        self.program.check()

    def call(self, arguments: Sequence[str], errors: IO[bytes], patience_s: float) -> int:
        """Run the program with `arguments`; return its exit status, that of Popen.returncode if a signal ended it.

        What it writes to standard error goes to `errors`. Raises subprocess.TimeoutExpired after `patience_s` seconds,
        when it has been ended (SIGTERM, then SIGKILL), and OSError or ExperimentError if nothing stands by any more.
        """
        socket.send_fds(self.connection, [json.dumps([*arguments]).encode()], [errors.fileno()])
        try:
            _, descriptors, _, _ = socket.recv_fds(self.connection, LONGEST_MESSAGE, 1)
            if not descriptors:
                self.check()
                raise ExperimentError(f"{self.program.what} did not start a process")
            [process] = descriptors
            try:
                in_time = _has_ended(process, patience_s, self.connection)
            finally:
                _end(process)
                os.close(process)
            status = int(self.connection.recv(LONGEST_MESSAGE) or -signal.SIGKILL)      # b"": killed together with it
        except TimeoutError:
            raise ExperimentError(f"{self.program.what} does not answer") from None
        if not in_time:
            raise subprocess.TimeoutExpired([self.program.what, *arguments], patience_s)
        return status


@contextmanager
def standing_by(command: Sequence[str], what: str, namespace_pid: int | None = None) -> Iterator[StandingBy]:
    """Have `command`, whose program ends in `run_or_stand_by`, stand by while this lasts; `what` is it in errors.

    It lives in the network namespace of `namespace_pid` if one is given. Raises as harness.system.companions.running.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        ours.settimeout(ANSWER_S)
        with running([*command, STAND_BY, str(theirs.fileno())], READY, what, namespace_pid,
                     [theirs.fileno()]) as program:
            theirs.close()
            yield StandingBy(program, ours)


def run_or_stand_by(main: Callable[[], int]) -> None:
    """Run a program's `main`, or stand by if that is what its command line says. Never returns."""
    if sys.argv[1:2] == [STAND_BY] and len(sys.argv) == 3:
        _stand_by(main, socket.socket(fileno=int(sys.argv[2])))
        sys.exit()
    run_main(main, at_once=True)


def _stand_by(main: Callable[[], int], connection: socket.socket) -> None:
    """Fork a process for each call that comes, one after the other, until nobody can call any more."""
    fork = os.fork if why_none() else fork_into_namespace
    gc.freeze()         # the collector must not touch, and so copy, what the calls share
    print(READY, flush=True)
    while True:
        message, descriptors, _, _ = socket.recv_fds(connection, LONGEST_MESSAGE, 1)
        if not message:
            return
        [errors] = descriptors
        pid = fork()
        if not pid:
            _be_called(main, json.loads(message), errors, connection)
        os.close(errors)
        process = os.pidfd_open(pid)        # ours to reap, so it is still this one
        socket.send_fds(connection, [b"started"], [process])
        os.close(process)
        connection.send(b"%d" % os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def _be_called(main: Callable[[], int], arguments: list[str], errors: int, connection: socket.socket) -> None:
    """Become the process of a call. Never returns."""
    try:
        if os.getpid() == 1:
            see_own_processes()
        else:
            die_with_parent()
        os.setsid()
        connection.close()
        nothing = os.open(os.devnull, os.O_RDWR)
        for source, target in ((nothing, 0), (nothing, 1), (errors, 2)):
            os.dup2(source, target)
        os.close(nothing)
        os.close(errors)
        Path("/proc/self/comm").write_text(Path(sys.argv[0]).name)      # or it would be one more "python3"
        sys.argv[1:] = arguments
        run_main(main, at_once=True)
    except SystemExit as error:             # a wrong option
        sys.stderr.flush()
        os._exit(error.code if isinstance(error.code, int) else 1)
    except BaseException:  # noqa: BLE001 (nothing may go on in the caller's code)
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
    os._exit(1)


def _has_ended(process: int, patience_s: float, starter: socket.socket | None = None) -> bool:
    """Wait until the process of this pidfd has ended (pidfd_open(2)); tell whether it has within `patience_s`.

    Or the program at the other end of `starter`, with which it is to end.
    """
    ended = select.poll()
    ended.register(process, select.POLLIN)
    if starter:
        ended.register(starter, 0)          # POLLHUP, which is told in any case
    return bool(ended.poll(patience_s * 1000))


def _end(process: int) -> None:
    """End the process of this pidfd by SIGTERM, or SIGKILL when it takes too long."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if _has_ended(process, 0):
            return
        with suppress(ProcessLookupError), as_root():       # it may not have given up root yet
            signal.pidfd_send_signal(process, number)
        _has_ended(process, ENDING_S)
