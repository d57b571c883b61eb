"""Folders one inside the other, deeper than a path's length and Python's stack allow."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.ran import ran


@contextmanager
def nested(folder: Path, depth: int) -> Iterator[None]:
    """Make `depth` folders "d", one inside the other, below `folder`, and a file "file" in the last of them."""
    at = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=at)
        below = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(os.open("file", os.O_CREAT, dir_fd=at))
    os.close(at)
    try:
        yield
    finally:
        ran("rm", "-r", folder / "d", status=0)     # shutil.rmtree runs out of stack
