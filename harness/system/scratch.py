"""The temporary directory of an experiment: other users may pass through it, and nothing of it is left at the end.

Nobody cleans up after SIGKILL, so the next experiment does (harness.system.locked_folder). Whatever the killed one
started has the directory's name in its environment: should some of it still run (each dies with its parent,
but not if that was killed before the kernel was told so), it is killed, and its network goes with it.
"""

import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from harness.system.locked_folder import left_behind, locked, remove
from harness.system.privileges import passable_temp_root
from harness.system.processes import KILLED_S, adopt_orphans, descendants, end_strays, is_running

PREFIX = "tfo-lab-"
MARK = "TFO_LAB_SCRATCH"
"""Environment variable of all that an experiment starts: its temporary directory."""
MOST_LOOKS = 50


@contextmanager
def temporary_directory() -> Iterator[Path]:
    """Give a directory that Chrome's user may pass through; whatever runs or lies there is gone at the end.

    What experiments that were killed have left is removed first.
    """
    adopt_orphans()
    root = passable_temp_root()
    sweep(root)
    known = descendants(os.getpid())
    with TemporaryDirectory(prefix=PREFIX, dir=root, ignore_cleanup_errors=True) as name, locked(Path(name)), \
            _marked(name):
        Path(name).chmod(0o711)
        try:
            yield Path(name)
        finally:
            end_strays(known)


def sweep(root: Path) -> list[Path]:
    """End and remove what experiments of this user left that have ended; return their directories below `root`."""
    swept = left_behind(root, f"{PREFIX}*")
    if swept:
        _end_all_of(swept)
    for directory in swept:
        remove(directory)
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


def _end_all_of(directories: list[Path]) -> None:
    """Kill every process of the experiments that had these directories, and wait until it is gone.

    Look again until there is none: one of them may have started another while the others were looked at.
    """
    ended: set[Path] = set()
    for _ in range(MOST_LOOKS):
        if not sum([_end_if_of(process, directories, ended) for process in Path("/proc").glob("[0-9]*")]):
            break


def _end_if_of(entry: Path, directories: list[Path], ended: set[Path]) -> bool:
    """Kill a process, a folder of /proc, if it is of one of the experiments; tell whether to look at all again.

    That is so where it was one and is gone, and where it ended before it could be looked at: it may have been one that
    had just started another. `ended` are those of which that is known.
    """
    try:
        if not _is_of(entry, directories):
            return _has_just_ended(entry, ended)
        process = os.pidfd_open(int(entry.name))
        try:
            if _is_of(entry, directories):      # still the same one: its number was not given to another
                signal.pidfd_send_signal(process, signal.SIGKILL)
                return bool(select.select([process], [], [], KILLED_S)[0])
        finally:
            os.close(process)
    except (FileNotFoundError, ProcessLookupError):
        return _has_just_ended(entry, ended)
    except OSError:                             # another user's
        pass
    return False


def _has_just_ended(entry: Path, ended: set[Path]) -> bool:
    """Tell whether a process has ended that had not at the last look, and note it in `ended`.

    One that nobody has reaped is there still, but says no more whose it was: until Linux 6.16 its environment is empty.
    Since then it cannot be read, as that of a kernel thread, which has not ended. PID 1 of many a container reaps none.
    """
    if entry in ended or is_running(int(entry.name)):
        return False
    ended.add(entry)
    return True


def _is_of(process: Path, directories: list[Path]) -> bool:
    """Tell whether a process has a directory's mark in its environment, or is of a Chrome whose profile lies in it.

    Chrome's own children write their title over their environment, one long word with the profile in it.
    """
    variables = (process / "environ").read_bytes().split(b"\0")
    title = (process / "cmdline").read_bytes()
    return any(f"{MARK}={directory}".encode() in variables or
               (b" --type=" in title and f" --user-data-dir={directory}/".encode() in title)
               for directory in directories)
