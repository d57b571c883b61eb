"""Enter another process's network namespace for a few statements (setns(2))."""

import inspect
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType

from harness.system.libc import call
from harness.system.privileges import as_root

CLONE_NEWNET = 0x40000000


@contextmanager
def inside(pid: int) -> Iterator[None]:
    """Put the calling thread into the network namespace of process `pid`, and back at the end, as root meanwhile.

    Programs started meanwhile live in that namespace. ``/proc/sys/net`` and ``/proc/thread-self/net`` show it. One that
    the thread is in already is not entered, which would need root.
    Raises OSError when the process is gone or the caller is not root.
    """
    with as_root():
        home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        try:
            target = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
            try:
                elsewhere = not os.path.sameopenfile(home, target)
                if elsewhere:
                    call("setns", target, CLONE_NEWNET)
            finally:
                os.close(target)
            try:
                yield
            finally:
                if elsewhere:
                    call("setns", home, CLONE_NEWNET)
        finally:
            os.close(home)


def enter(namespace: Path) -> None:
    """Put the calling thread into the network namespace whose file is `namespace`, for good. Raises OSError."""
    descriptor = os.open(namespace, os.O_RDONLY)
    try:
        call("setns", descriptor, CLONE_NEWNET)
    finally:
        os.close(descriptor)


WAY_THERE_AND_BACK: frozenset[CodeType] = frozenset((inspect.unwrap(inside).__code__, call.__code__))
"""What no signal may interrupt (harness.system.signals): the thread would stay in the other namespace."""
