"""Namespaces: another process's network for a few statements (setns(2)), and PID namespaces of our own.

The kernel ends all processes of a PID namespace when the first of them has ended (pid_namespaces(7)).
"""

import ctypes
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from harness.errors import ExperimentError
from harness.system.libc import call
from harness.system.privileges import as_root
from harness.system.processes import run

CLONE_NEWNET = 0x40000000


@contextmanager
def inside(pid: int) -> Iterator[None]:
    """Put the calling thread into the network namespace of process `pid`, and back at the end, as root meanwhile.

    Programs started meanwhile live in that namespace. ``/proc/sys/net`` and ``/proc/thread-self/net`` show it. One that
    the thread is in already is not entered, which would need root.
    Raises OSError when the process is gone or the caller is not root.
    """
    with as_root(), Path("/proc/thread-self/ns/net").open("rb", buffering=0) as home:
        with Path(f"/proc/{pid}/ns/net").open("rb", buffering=0) as target:
            elsewhere = not os.path.sameopenfile(home.fileno(), target.fileno())
            if elsewhere:
                call("setns", target.fileno(), CLONE_NEWNET)
        try:
            yield
        finally:
            if elsewhere:
                call("setns", home.fileno(), CLONE_NEWNET)


def run_batch(pid: int, program: str, commands: Sequence[str], what: str) -> None:
    """Run commands of ip or tc in the network namespace of `pid`; `what` names the purpose.

    Raises ExperimentError with the first that fails.
    """
    with inside(pid):
        try:
            run([program, "-batch", "-"], what, given="\n".join(commands) + "\n")
        except ExperimentError as error:
            failed = re.search(r"Command failed -:(\d+)", str(error))
            raise ExperimentError(f"{error} ({commands[int(failed[1]) - 1]})" if failed else str(error)) from None


def enter(namespace: Path) -> None:
    """Put the calling thread into the network namespace whose file is `namespace`, for good. Raises OSError."""
    with namespace.open("rb", buffering=0) as file:
        call("setns", file.fileno(), CLONE_NEWNET)


CLONE_NEWNS, CLONE_NEWPID = 0x00020000, 0x20000000
MS_NOSUID_NODEV_NOEXEC, MS_REC, MS_PRIVATE = 0xE, 0x4000, 0x40000
"""Of linux/sched.h and linux/mount.h; Python knows unshare(2) from 3.12 on."""


def fork_into_namespace() -> int:
    """Fork: the child is the first process of a PID namespace of its own. Return its number to us, 0 to the child.

    The child should call `see_own_processes` before it reads /proc. Raises OSError where we may not: root may.
    """
    with Path("/proc/self/ns/pid").open("rb", buffering=0) as ours:
        call("setns", ours.fileno(), CLONE_NEWPID)        # who may not come back, as in a user namespace, stays
        call("unshare", CLONE_NEWPID)
        pid = os.fork()
        if pid:
            call("setns", ours.fileno(), CLONE_NEWPID)    # what else is forked belongs to us again
    return pid


def see_own_processes() -> None:
    """Mount a /proc that shows the processes of this PID namespace, in a mount namespace of our own. Raises OSError."""
    call("unshare", CLONE_NEWNS)
    call("mount", None, b"/", None, ctypes.c_ulong(MS_REC | MS_PRIVATE), None)
    call("mount", b"proc", b"/proc", b"proc", ctypes.c_ulong(MS_NOSUID_NODEV_NOEXEC), None)


@cache
def why_none() -> str:
    """Return why no PID namespace can be made here, in words; "" where one can."""
    read, write = os.pipe()
    try:
        pid = fork_into_namespace()
        if not pid:
            try:
                see_own_processes()
            except OSError as error:
                os.write(write, str(error).encode())
            finally:
                os._exit(0)
        os.waitpid(pid, 0)
        os.set_blocking(read, False)
        return os.read(read, 4096).decode()
    except BlockingIOError:         # nothing was wrong
        return ""
    except OSError as error:
        return str(error)
    finally:
        os.close(read)
        os.close(write)
