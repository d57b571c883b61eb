"""The temporary directory of an experiment: other users may pass through it, and nothing of it is left at the end.

Where nobody could clean up after SIGKILL (see harness.system.contained), the next experiment does.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

from harness.system.locked_folder import left_behind, locked, remove
from harness.system.privileges import passable_temp_root

PREFIX = "tfo-lab-"
ENDING_S, LOOK_S = 5.0, 0.05
"""So long a Chrome that was told to end may still write into its folder."""


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
