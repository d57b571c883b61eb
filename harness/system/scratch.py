"""The temporary directory of an experiment: other users may pass through it, and nothing of it is left at the end.

Nobody cleans up after SIGKILL, so the next experiment does. A directory is known as one of ours by its owner and by the
lock file in it; that its experiment has ended, by the lock, which the kernel takes back with the process. Whatever that
experiment started has the directory's name in its environment: should some of it still run (each dies with its parent,
but not if that was killed before the kernel was told so), it is killed, and its network goes with it.
"""

import fcntl
import os
import select
import shutil
import signal
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from harness.system.privileges import passable_temp_root
from harness.system.processes import adopt_orphans, descendants, end_strays

PREFIX = "tfo-lab-"
LOCK = "lock"
MARK = "TFO_LAB_SCRATCH"
"""Environment variable of all that an experiment starts: its temporary directory."""
ENDING_S = 3.0
"""How long a killed process may take to be gone."""


@contextmanager
def temporary_directory() -> Iterator[Path]:
    """Give a directory that Chrome's user may pass through; whatever runs or lies there is gone at the end.

    What experiments that were killed have left is removed first.
    """
    adopt_orphans()
    root = passable_temp_root()
    sweep(root)
    known = descendants(os.getpid())
    with TemporaryDirectory(prefix=PREFIX, dir=root, ignore_cleanup_errors=True) as name, _locked(Path(name)), \
            _marked(name):
        Path(name).chmod(0o711)
        try:
            yield Path(name)
        finally:
            end_strays(known)


def sweep(root: Path) -> list[Path]:
    """End and remove what experiments of this user left that have ended; return their directories below `root`."""
    swept = [directory for directory in root.glob(f"{PREFIX}*") if _is_ours(directory) and _has_ended(directory)]
    if swept:
        _end_marked({f"{MARK}={directory}".encode() for directory in swept})
    for directory in swept:
        shutil.rmtree(directory, ignore_errors=True)
    return swept


@contextmanager
def _marked(directory: str) -> Iterator[None]:
    """Have all that is started meanwhile carry the directory's name."""
    before = os.environ.get(MARK)
    os.environ[MARK] = directory
    try:
        yield
    finally:
        del os.environ[MARK]
        if before is not None:
            os.environ[MARK] = before


def _end_marked(marks: set[bytes]) -> None:
    """Kill every process that has one of `marks` in its environment, and wait until it is gone."""
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):                 # it has ended meanwhile, or is another user's
            if not _has_mark(entry, marks):
                continue
            process = os.pidfd_open(int(entry.name))
            try:
                if _has_mark(entry, marks):     # still the same one: its number was not given to another
                    signal.pidfd_send_signal(process, signal.SIGKILL)
                    select.select([process], [], [], ENDING_S)
            finally:
                os.close(process)


def _has_mark(process: Path, marks: set[bytes]) -> bool:
    return not marks.isdisjoint((process / "environ").read_bytes().split(b"\0"))


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Hold the lock of `directory` while this lasts. It gets its name when it is held: no sweeper comes between."""
    descriptor = os.open(directory / f"{LOCK}.new", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        (directory / f"{LOCK}.new").rename(directory / LOCK)
        yield
    finally:
        os.close(descriptor)


def _is_ours(directory: Path) -> bool:
    try:
        found = directory.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def _has_ended(directory: Path) -> bool:
    """Tell whether `directory` has a lock that nobody holds; without one it is none of ours, or just being made."""
    try:
        descriptor = os.open(directory / LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True
