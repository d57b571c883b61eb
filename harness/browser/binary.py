"""What lies where in Chrome's own file: for what no switch of Chrome changes, and the preloaded shim does."""

import mmap
from pathlib import Path


def find_once(binary: str | Path, content: bytes) -> int | None:
    """Return where `content` stands in the file, in bytes from its start; None when it is not there exactly once.

    Raises OSError.
    """
    with Path(binary).open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as whole:
        first = whole.find(content)
        return first if first >= 0 and whole.find(content, first + 1) < 0 else None
