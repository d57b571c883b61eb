"""Files that are either whole or not there: written beside their place, then renamed into it (rename(2) is atomic)."""

import contextlib
import errno
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def written_beside(path: Path) -> Iterator[Path]:
    """Give a hidden file name in `path`'s directory to write to; on success it becomes `path`, otherwise it is removed.

    The name keeps `path`'s ending, by which some writers know the format, but not its length: a page's file name may
    use up nearly all of the 255 bytes a name can have. An OSError that names no file, such as that of a full disk, gets
    `path`.
    """
    beside = path.parent / f".{uuid.uuid4().hex}{path.suffix if len(path.suffix) < 8 else ''}"
    try:
        yield beside
        beside.replace(path)
    except OSError as error:
        error.filename = error.filename or str(path)
        raise
    finally:
        beside.unlink(missing_ok=True)


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write `content` (text as UTF-8) to `path`, replacing what was there, in one step."""
    with written_beside(path) as beside:
        beside.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


def move(source: Path, target: Path) -> None:
    """Rename a file or folder; where the kernel cannot, copy it beside `target`, rename the copy, and remove `source`.

    It cannot from one file system to another, nor, within one, a folder that came with a container's image (EXDEV;
    Linux Documentation/filesystems/overlayfs.rst, "Renaming directories").
    """
    try:
        source.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        beside = target.parent / f".{uuid.uuid4().hex}"
        try:
            if _is_folder(source):
                shutil.copytree(source, beside, symlinks=True)
            else:
                shutil.copy2(source, beside, follow_symlinks=False)
            beside.rename(target)
        finally:
            _remove(beside)
        _remove(source)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _remove(path: Path) -> None:
    if _is_folder(path):
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
