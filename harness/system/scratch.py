"""The temporary directory of an experiment: other users may pass through it, and nothing of it is left at the end.

Nobody cleans up after SIGKILL where harness.system.contained cannot, so the next program does. Folders are known as
ours, and as left behind, by a lock file in each, held while its maker lives: a lock that nobody holds any more (the
kernel takes it back with the process) says that its folder can go. A folder without one is none of ours, or just being
made.
"""

import fcntl
import os
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp

from harness.system.privileges import passable_temp_root

LOCK = "lock"

PREFIX = "tfo-lab-"
ENDING_S, LOOK_S = 5.0, 0.05
"""So long a Chrome that was told to end may still write into its folder."""


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
    return sorted(filter(_is_left_behind, parent.glob(pattern)))


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


def _is_left_behind(directory: Path) -> bool:
    """Tell whether it is a folder of ours that has a lock that nobody holds."""
    try:
        found = directory.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            return False
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


@contextmanager
def temporary_directory() -> Iterator[Path]:
    """Give a directory that Chrome's user may pass through; what lies there is gone at the end.

    What experiments that were killed have left is removed first.
    """
    root = passable_temp_root()
    sweep(root)
    directory = Path(mkdtemp(prefix=PREFIX, dir=root))
    try:
        with locked(directory):
            directory.chmod(0o711)
            yield directory
    finally:
        deadline_s = time.monotonic() + ENDING_S
        remove(directory)
        while directory.exists() and time.monotonic() < deadline_s:
            time.sleep(LOOK_S)
            remove(directory)


def sweep(root: Path) -> None:
    """Remove from `root` the directories of experiments of this user that have ended."""
    for directory in left_behind(root, f"{PREFIX}*"):
        remove(directory)
