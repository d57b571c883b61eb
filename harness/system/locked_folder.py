"""Folders that are known as ours, and as left behind: by a lock file in each, held while its maker lives.

Nobody cleans up after SIGKILL, so the next program does: a lock that nobody holds any more (the kernel takes it back
with the process) says that its folder can go. A folder without one is none of ours, or just being made.
"""

import fcntl
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

LOCK = "lock"


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Hold the lock of `directory` while this lasts. It gets its name when it is held: no sweeper comes between."""
    descriptor = os.open(directory / f"{LOCK}.new", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        (directory / f"{LOCK}.new").rename(directory / LOCK)
        yield
    finally:
        os.close(descriptor)


def left_behind(parent: Path, pattern: str) -> list[Path]:
    """Return the folders in `parent` whose names match `pattern`, which are this user's, and whose makers are gone."""
    return sorted(directory for directory in parent.glob(pattern) if _is_ours(directory) and _has_ended(directory))


def remove(directory: Path) -> None:
    """Remove a folder, its lock last: what cannot be removed now is known as left behind the next time, too."""
    with suppress(OSError):
        for entry in os.scandir(directory):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            elif entry.name != LOCK:
                Path(entry.path).unlink(missing_ok=True)
        if {entry.name for entry in os.scandir(directory)} <= {LOCK}:
            shutil.rmtree(directory, ignore_errors=True)


def _is_ours(directory: Path) -> bool:
    try:
        found = directory.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def _has_ended(directory: Path) -> bool:
    """Tell whether `directory` has a lock that nobody holds."""
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
