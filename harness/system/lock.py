"""One experiment at a time on a machine: two would share its two cores, and neither's times would be true.

The lock file says who holds it, and what an experiment that is killed could not put back:

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
from contextlib import ExitStack, contextmanager
from pathlib import Path

from harness.errors import BusyError, InputError
from harness.system.contained import machines_proc, started_as, started_by
from harness.system.fastopen import SYSCTL
from harness.system.privileges import as_root

LOCK_FILE = Path("/run/tfo-lab.lock")
OF_ANYBODY = Path("/var/tmp")
"""Who is not root can make no lock file that all know, but may lock this directory (flock(2)), wherever TMPDIR is."""
INHERITED_FD = "TFO_LAB_LOCK_FD"
"""Environment variable: run.sh holds the lock, and lends it to tfo.py as this descriptor."""
_HOLDER = re.compile(r"pid (\d{1,10}) \(", re.ASCII)
_FASTOPEN = re.compile(r"^tcp_fastopen (\d{1,5})$", re.ASCII | re.MULTILINE)
LONGEST = 4096
"""Bytes of the lock file that are read."""


@contextmanager
def only_experiment(lock_file: Path = LOCK_FILE, sysctl: Path = SYSCTL) -> Iterator[None]:
    """Hold the machine's lock (flock(2)): the kernel releases it however we end.

    What a killed run.sh left of net.ipv4.tcp_fastopen is put back: by the next experiment, or by that run's own
    tfo.py, when it was not killed with it. Raises BusyError that names the holder when another experiment has the lock,
    or one without root has its own (only_experiment_of_anybody), and InputError when what is lent to us as the lock is
    another file.
    """
    check_alone()
    lent = os.environ.get(INHERITED_FD)
    with _held(lock_file, sysctl) if lent is None else _lent(lent, lock_file, sysctl):
        yield


@contextmanager
def _lent(descriptor: str, lock_file: Path, sysctl: Path) -> Iterator[None]:
    with as_root():
        _check_lent(descriptor, lock_file)
    lender = started_by()
    try:
        yield           # the caller outlives us, and lets go
    finally:
        if started_by() != lender:      # unless it was killed
            _put_back_what_was_noted(int(descriptor), sysctl)


def check_alone() -> None:
    """Raise BusyError when an experiment without root is running: it has a lock of its own.

    The lock itself is asked: /proc/locks has other numbers for the devices of btrfs than stat(2).
    """
    directory = os.open(OF_ANYBODY, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(directory, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        pids = holding_pids(OF_ANYBODY)
        raise _is_running(OF_ANYBODY, f"pid {min(pids)}" if pids else "unknown") from None
    finally:
        os.close(directory)


@contextmanager
def _held(lock_file: Path, sysctl: Path) -> Iterator[None]:
    with as_root(), ExitStack() as undo:
        lock_fd = os.open(lock_file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        undo.callback(os.close, lock_fd)
        os.fchmod(lock_fd, 0o600)
        _take(lock_fd, lock_file)
        undo.pop_all()
    try:
        _put_back_what_was_noted(lock_fd, sysctl)
        own = f"pid {started_as()} ({shlex.join(sys.argv)}) since {time.strftime('%H:%M:%S')}\n"
        os.ftruncate(lock_fd, 0)
        os.pwrite(lock_fd, own.encode(errors="replace"), 0)
        yield
        os.ftruncate(lock_fd, 0)
    finally:
        os.close(lock_fd)


@contextmanager
def only_experiment_of_anybody(lock_file: Path = LOCK_FILE) -> Iterator[None]:
    """Hold the machine's lock as root; as anybody else, who cannot open it, that on the directory OF_ANYBODY.

    Raises BusyError when another experiment without root has that one, or one of root the machine's: who locked a file
    stands in /proc/locks (proc(5)) for all to read.
    """
    if os.geteuid() == 0:
        with only_experiment(lock_file):
            yield
        return
    _refuse_if_locked(lock_file)
    directory = os.open(OF_ANYBODY, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _refuse_if_locked(OF_ANYBODY)
            raise _is_running(OF_ANYBODY, "unknown") from None
        yield
    finally:
        os.close(directory)


def _refuse_if_locked(path: Path) -> None:
    """Raise BusyError when a process has a lock on `path` (flock(2))."""
    if not path.exists():
        return
    status = path.stat()
    place = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    for line in (machines_proc() / "locks").read_text().splitlines():
        fields = line.split()
        if fields[1] == "FLOCK" and fields[5] == place:
            raise _is_running(path, f"pid {fields[4]}")


def holder(lock_file: Path = LOCK_FILE) -> str:
    """Return who holds the lock now: what it wrote about itself or, when that one is gone, its process that is left."""
    try:
        written = lock_file.read_bytes()[:LONGEST].decode(errors="replace").partition("\n")[0].strip()
    except OSError:
        written = ""
    pids = holding_pids(lock_file)
    named = _HOLDER.match(written)
    if not pids or (named and int(named[1]) in pids):
        return written or "unknown"
    pid = min(pids)
    try:
        command = (machines_proc() / f"{pid}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")
    except OSError:         # it has ended meanwhile
        return written or "unknown"
    return f"pid {pid} ({shlex.join(word.decode(errors='replace') for word in command)})"


def holding_pids(lock_file: Path) -> set[int]:
    """Return the processes that have the lock: those with a descriptor that shows it (proc(5), fdinfo)."""
    try:
        wanted = lock_file.stat()
    except OSError:
        return set()
    return {int(process.name) for process in machines_proc().glob("[0-9]*") if _has_lock(process, wanted)}


def _has_lock(process: Path, lock: os.stat_result) -> bool:
    """Tell whether a process, a folder of /proc, has a descriptor of the file `lock` with a lock on it."""
    try:
        for descriptor in (process / "fd").iterdir():
            there = descriptor.stat()
            if (there.st_dev, there.st_ino) == (lock.st_dev, lock.st_ino) and "FLOCK" in (
                    process / "fdinfo" / descriptor.name).read_text():
                return True
    except OSError:
        pass                # it has ended, or is another user's
    return False


def _check_lent(text: str, lock_file: Path) -> None:
    """Raise InputError unless descriptor `text` is the lock, held: flock(2) succeeds where its open file has it."""
    problem = InputError(f"{INHERITED_FD}={text[:20]!a}: that is not the lock of this machine ({lock_file}); unset it")
    if not re.fullmatch(r"[0-9]{1,9}", text, re.ASCII):
        raise problem
    try:
        lent, real = os.fstat(int(text)), lock_file.stat()
    except OSError:
        raise problem from None
    if (lent.st_dev, lent.st_ino) != (real.st_dev, real.st_ino):
        raise problem
    _take(int(text), lock_file)


def _take(lock_fd: int, lock_file: Path) -> None:
    try:
        fcntl.flock(lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise _is_running(lock_file, holder(lock_file)) from None


def _is_running(lock: Path, who: str) -> BusyError:
    return BusyError(f"{lock}: another experiment is running: {who}; wait for its end or stop it")


def _put_back_what_was_noted(lock_fd: int, sysctl: Path) -> None:
    """Write back the net.ipv4.tcp_fastopen that a killed run.sh noted in the lock file, say so, and empty the file."""
    noted = _FASTOPEN.search(os.pread(lock_fd, LONGEST, 0).decode(errors="replace"))
    if noted:
        with as_root():
            sysctl.write_text(f"{noted[1]}\n")
    os.ftruncate(lock_fd, 0)
    if noted:
        print(f"net.ipv4.tcp_fastopen is {noted[1]} again, as it was before a run that was killed", file=sys.stderr)
