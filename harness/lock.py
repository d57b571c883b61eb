"""One experiment at a time on a machine: two would share its two cores, and neither's times would be true."""

import fcntl
import os
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.errors import InputError

LOCK_FILE = Path("/run/tfo-lab.lock")
INHERITED_FD = "TFO_LAB_LOCK_FD"
"""Environment variable: run.sh holds the lock for all its delays and lends it to tfo.py as this descriptor."""


@contextmanager
def only_experiment(lock_file: Path = LOCK_FILE) -> Iterator[None]:
    """Hold the machine's lock (flock(2)): the kernel releases it however we end.

    Raises InputError that names the holder when another experiment has it.
    """
    if INHERITED_FD in os.environ:
        yield  # The caller holds it, and outlives us.
        return
    lock_fd = os.open(lock_file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"{lock_file}: another experiment is running: {holder(lock_file)}; "
                             "wait for its end or stop it") from None
        os.ftruncate(lock_fd, 0)
        os.write(lock_fd, f"pid {os.getpid()} ({shlex.join(sys.argv)}) since {time.strftime('%H:%M:%S')}\n".encode())
        yield
        os.ftruncate(lock_fd, 0)
    finally:
        os.close(lock_fd)


def holder(lock_file: Path = LOCK_FILE) -> str:
    """Return what the lock's holder wrote about itself."""
    return lock_file.read_text().strip() or "unknown"
