"""End processes of ours, each by its own pid, and leave none behind."""

import ctypes
import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from harness.system.commands import ONE_AT_A_TIME

PR_SET_PDEATHSIG = 1
PR_GET_PDEATHSIG = 2
PR_SET_CHILD_SUBREAPER = 36
HIGHEST_PRIORITY = -20
"""nice(2); only root may take it."""
KILLED_S = 3.0
"""At least so long a process that was sent SIGKILL may take to be gone: on a busy machine it has to wait for that."""
STAT_BYTES = 512
"""More than /proc/PID/stat has up to the number of the parent (proc(5))."""
_libc = ctypes.CDLL(None, use_errno=True)


def adopt_orphans() -> None:
    """Make this process the parent of every descendant whose own parent dies (prctl(2), PR_SET_CHILD_SUBREAPER).

    So a browser whose driver was killed can still be found, ended and reaped.
    """
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def bound_to_us(command: Sequence[str]) -> list[str]:
    """Return `command` as one that the kernel kills when this process dies (setpriv(1)), from its first moment on.

    SIGKILL, since a process that stands stopped takes no other signal. A change of user ends the bond: whoever changes
    it calls `die_with_parent` again.
    """
    return ["setpriv", "--pdeathsig", "KILL", "--", *command]


def die_with_parent(parent: int | None = None) -> None:
    """Have the kernel kill this process when its parent dies (prctl(2), PR_SET_PDEATHSIG); end if `parent` is gone."""
    killed_with_parent()
    if parent is not None and os.getppid() != parent:
        os._exit(1)


@contextmanager
def bond_to_parent_kept() -> Iterator[None]:
    """Put this process's bond to its parent's life back at the end, if it has one: what a change of user meanwhile,
    that of file access included, makes the kernel forget (prctl(2)). A parent that died meanwhile ends it then."""
    parent, number = os.getppid(), ctypes.c_int(0)
    _libc.prctl(PR_GET_PDEATHSIG, ctypes.byref(number), 0, 0, 0)
    try:
        yield
    finally:
        if number.value:
            _libc.prctl(PR_SET_PDEATHSIG, number.value, 0, 0, 0)
            if os.getppid() != parent:
                os.kill(os.getpid(), number.value)


def terminate_as_interrupt() -> None:
    """Have SIGTERM raise KeyboardInterrupt, as Ctrl-C does: programs that run until they are ended unwind alike."""
    signal.signal(signal.SIGTERM, _interrupt)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def killed_with_parent() -> None:
    """Have the kernel end this process by SIGKILL when its parent dies: between fork and exec, for what must not stay.

    It outlives exec(2), and is cleared by fork(2) and by a change of user (prctl(2)).
    """
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def stop(process: subprocess.Popen[str] | subprocess.Popen[bytes], patience_s: float = 3.0) -> None:
    """End `process` by SIGTERM, or SIGKILL after `patience_s` seconds, and reap it."""
    for number, wait_s in ((signal.SIGTERM, patience_s), (signal.SIGKILL, max(patience_s, KILLED_S))):
        if process.poll() is not None:
            break
        process.send_signal(number)
        try:
            process.wait(wait_s)
        except subprocess.TimeoutExpired:
            continue
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def wait_for_end(process: subprocess.Popen[str] | subprocess.Popen[bytes], patience_s: float) -> None:
    """Wait until `process` has ended, and reap it. Raises subprocess.TimeoutExpired after `patience_s` seconds.

    The kernel says at once when it ends (pidfd_open(2), Linux 5.3); Popen.wait looks only 20 times a second.
    """
    deadline = time.monotonic() + patience_s
    if process.poll() is None:
        with suppress(OSError):         # an older kernel
            descriptor = os.pidfd_open(process.pid)
            try:
                ended = select.poll()
                ended.register(descriptor, select.POLLIN)
                ended.poll(patience_s * 1000)
            finally:
                os.close(descriptor)
    process.wait(max(0.0, deadline - time.monotonic()))


def is_running(pid: int) -> bool:
    """Tell whether a process is there and has not ended; a zombie has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] not in ("Z", "X")
    except (FileNotFoundError, ProcessLookupError):
        return False


def children_by_parent() -> dict[int, list[int]]:
    """Return the machine's process tree as {parent pid: [child pids]}."""
    tree: dict[int, list[int]] = {}
    with os.scandir("/proc") as entries:
        pids = [int(entry.name) for entry in entries if entry.name.isdigit()]
    for pid in pids:        # without pathlib, which takes three times as long: this is done several times in each load
        try:
            file = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            parent = int(os.read(file, STAT_BYTES).rpartition(b")")[2].split(None, 2)[1])
        except OSError:
            continue
        finally:
            os.close(file)
        tree.setdefault(parent, []).append(pid)
    return tree


def descendants(pid: int) -> set[int]:
    """Return all processes below `pid`."""
    tree = children_by_parent()
    found: set[int] = set()
    waiting = list(tree.get(pid, []))
    while waiting:
        child = waiting.pop()
        found.add(child)
        waiting.extend(tree.get(child, []))
    return found


def end_strays(known: set[int], patience_s: float = 3.0) -> int:
    """End and reap every descendant of this process that is not in `known`; return how many there were.

    SIGTERM first, SIGKILL after `patience_s` seconds.
    """
    with ONE_AT_A_TIME:
        strays = _reap(descendants(os.getpid()) - known)
        count = len(strays)
        for number, wait_s in ((signal.SIGTERM, patience_s), (signal.SIGKILL, max(patience_s, KILLED_S))):
            for pid in strays:
                _signal(pid, number)
            deadline = time.monotonic() + wait_s
            while strays and time.monotonic() < deadline:
                time.sleep(0.02)
                strays = _reap(descendants(os.getpid()) - known)
    return count


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def _reap(pids: set[int]) -> set[int]:
    """Collect those of `pids` that have ended and are our own children; return the rest."""
    running = set()
    for pid in pids:
        try:
            ended, _ = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            ended = 0
        if ended == 0:
            running.add(pid)
    return running
