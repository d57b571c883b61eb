"""The temporary directory of an experiment: other users may pass through it, and nothing of it is left at the end.

Where nobody could clean up after SIGKILL (see harness.system.contained), the next experiment does.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from harness.system.locked_folder import left_behind, locked, remove
from harness.system.privileges import passable_temp_root

PREFIX = "tfo-lab-"


@contextmanager
def temporary_directory() -> Iterator[Path]:
    """Give a directory that Chrome's user may pass through; what lies there is gone at the end.

    What experiments that were killed have left is removed first.
    """
    root = passable_temp_root()
    sweep(root)
    with TemporaryDirectory(prefix=PREFIX, dir=root, ignore_cleanup_errors=True) as name, locked(Path(name)):
        Path(name).chmod(0o711)
        yield Path(name)


def sweep(root: Path) -> None:
    """Remove from `root` the directories of experiments of this user that have ended."""
    for directory in left_behind(root, f"{PREFIX}*"):
        remove(directory)
