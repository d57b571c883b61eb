"""The temporary directory of an experiment: other users may pass through it, and nothing of it is left at the end.

Nobody cleans up after SIGKILL, so the next experiment does. A directory is known as one of ours by its owner and by the
lock file in it; that its experiment has ended, by the lock, which the kernel takes back with the process.
"""

import fcntl
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from harness.system.privileges import passable_temp_root
from harness.system.processes import adopt_orphans, end_strays

PREFIX = "tfo-lab-"
LOCK = "lock"


@contextmanager
def temporary_directory() -> Iterator[Path]:
    """Give a directory that Chrome's user may pass through; whatever runs or lies there is gone at the end.

    What experiments that were killed have left is removed first.
    """
    adopt_orphans()
    root = passable_temp_root()
    sweep(root)
    with TemporaryDirectory(prefix=PREFIX, dir=root, ignore_cleanup_errors=True) as name, _locked(Path(name)):
        Path(name).chmod(0o711)
        try:
            yield Path(name)
        finally:
            end_strays(known=set())


def sweep(root: Path) -> list[Path]:
    """Remove the directories below `root` that experiments of this user left which have ended; return them."""
    swept = [directory for directory in root.glob(f"{PREFIX}*") if _is_ours(directory) and _has_ended(directory)]
    for directory in swept:
        shutil.rmtree(directory, ignore_errors=True)
    return swept


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
