"""A function that is called in a process of its own, forked from this one, so that no module is loaded again.

    we  --fork-->  the first process of a PID namespace: the function, and all that it starts

To load what a page load needs takes 0.3 to 0.4 s, nearly half of what it costs besides the page. Where a PID namespace
can be made, all that the function has started ends with it.
"""

import gc
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import IO, NoReturn

from harness.errors import run_main
from harness.system.libc import call
from harness.system.netns import inside
from harness.system.pid_namespace import fork_into_namespace, see_own_processes, why_none
from harness.system.processes import die_with_parent, signal_as_root
from harness.system.signals import ENDING_SIGNALS

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
    """Become the process of a call."""
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
        run_main(function, at_once=True)
    except BaseException:  # noqa: BLE001 (nothing may go on in the caller's code)
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
    os._exit(1)


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
