"""One experiment at a time on a machine: two would share its two cores, and neither's times would be true.

All lock one folder, which anybody may open and so lock (flock(2)); the kernel releases it however its holder ends.
Notes beside it say who that is, and what an experiment that is killed could not put back:

    pid 4711 (./run.sh --name Paper) since 12:00:00
    tcp_fastopen 1
"""

import fcntl
import os
import re
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from harness.errors import BusyError
from harness.system.contained import machines_proc, started_as, started_by
from harness.system.fastopen import SYSCTL
from harness.system.privileges import as_root
from harness.system.processes import stat_of


@dataclass(frozen=True)
class Lock:
    """The `folder` that is locked, and root's `notes`. `sysctl` is what they may be about.

    run.sh holds the lock by its descriptor `lent`, which tfo.py inherits: so it is lent.
    """

    folder: Path = Path("/var/tmp")
    notes: Path = Path("/run/tfo-lab.lock")
    sysctl: Path = SYSCTL
    lent: int = 9


MACHINES = Lock()
_HOLDER = re.compile(r"pid (\d{1,10}) \(", re.ASCII)
_FASTOPEN = re.compile(r"^tcp_fastopen (\d{1,5})$", re.ASCII | re.MULTILINE)
LONGEST = 4096
"""Bytes of the notes that are read."""


@contextmanager
def only_experiment(lock: Lock = MACHINES) -> Iterator[None]:
    """Hold the lock, or use the one that is lent to us.

    What a killed run.sh left of net.ipv4.tcp_fastopen is put back: by the next experiment of root's, or by that run's
    own tfo.py, when it was not killed with it. Raises BusyError that names the holder when another experiment has the
    lock.
    """
    with _lent(lock) if _is_lent(lock) else _held(lock):
        yield


def _is_lent(lock: Lock) -> bool:
    with suppress(OSError):
        return os.path.samestat(os.fstat(lock.lent), lock.folder.stat())
    return False


@contextmanager
def _held(lock: Lock) -> Iterator[None]:
    descriptor = os.open(lock.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _take(descriptor, lock)
        _put_back_what_was_noted(lock)
        _note(lock, f"pid {started_as()} ({shlex.join(sys.argv)}) since {time.strftime('%H:%M:%S')}\n")
        yield
        _note(lock, "")
    finally:
        os.close(descriptor)


@contextmanager
def _lent(lock: Lock) -> Iterator[None]:
    """Use the lock that is lent to us, and held: flock(2) succeeds where its open file has it."""
    _take(lock.lent, lock)
    lender = started_by()
    try:
        yield           # the lender outlives us, and lets go
    finally:
        if started_by() != lender:      # unless it was killed
            _put_back_what_was_noted(lock)


def _take(descriptor: int, lock: Lock) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise BusyError(f"{lock.folder}: another experiment is running: {holder(lock)}; wait for its end or stop it"
                        ) from None


def holder(lock: Lock = MACHINES) -> str:
    """Return who holds the lock now, as that program noted about itself: root's programs do."""
    try:
        noted = lock.notes.read_bytes()[:LONGEST].decode(errors="replace").partition("\n")[0].strip()
    except OSError:
        noted = ""
    named = _HOLDER.match(noted)
    return noted if named and stat_of(named[1], machines_proc()) else "lslocks(8) says which"


def _put_back_what_was_noted(lock: Lock) -> None:
    """Write back the net.ipv4.tcp_fastopen that a killed run.sh noted, say so, and empty the notes."""
    if noted := _FASTOPEN.search(_note(lock, "")):
        with as_root():
            lock.sysctl.write_text(f"{noted[1]}\n")
        print(f"net.ipv4.tcp_fastopen is {noted[1]} again, as it was before a run that was killed", file=sys.stderr)


def _note(lock: Lock, text: str) -> str:
    """Write the notes anew, and return what stood there; only root can, and for others there are none."""
    with as_root():
        if os.geteuid() != 0:
            return ""
        descriptor = os.open(lock.notes, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        with os.fdopen(descriptor, "r+", encoding="utf-8", errors="replace") as notes:
            before = notes.read(LONGEST)
            notes.seek(0)
            notes.truncate()
            notes.write(text)
    return before
