"""A folder as bytes, and back: so recordings are sent to workers, and results to the driver.

A parcel is a gzipped tar of regular files. Since it comes from another machine, it may not be larger than LARGEST, no
file in it may be a link or a device, and none is written outside of the folder that it is unpacked into.
"""

import errno
import io
import os
import shutil
import sys
import tarfile
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO

from harness.mirror.paths import list_files
from harness.system.untrusted import UnreadableFileError, open_untrusted

LARGEST = 2**29
"""Bytes of all files of a parcel."""
MOST_FILES = 100_000
"""Files of a parcel."""
OF_THE_NAME = frozenset((errno.EEXIST, errno.EISDIR, errno.ENOTDIR, errno.ENAMETOOLONG))
"""Errors of a new folder's files that only their names can be to blame for: one stands twice, or is too long."""
COMPRESSION = 1
"""gzip's fastest: most bodies of a recording are compressed already."""


def pack(folder: Path, names: Iterable[str], more: Mapping[str, bytes] | None = None) -> bytes:
    """Return the files and folders `names` of `folder` as a parcel, and in front the files `more`, name and content.

    Links and special files are left out. Raises ValueError when it is too large.
    """
    content, total = io.BytesIO(), 0
    with tarfile.open(fileobj=content, mode="w:gz", compresslevel=COMPRESSION) as tar:
        for name, body in (more or {}).items():
            total = _add(tar, name, io.BytesIO(body), len(body), total)
        for name in names:
            path = folder / name
            whole = path.is_dir() and not path.is_symlink()
            for inside in sorted(f"{name}/{file}" for file in list_files(path)) if whole else [name]:
                with suppress(UnreadableFileError), open_untrusted(folder / inside, limit=sys.maxsize) as file:
                    total = _add(tar, inside, file, os.fstat(file.fileno()).st_size, total)
    return content.getvalue()


def _add(tar: tarfile.TarFile, name: str, body: IO[bytes], size: int, before: int) -> int:
    """Add a file to a parcel that has `before` bytes; return how many it has then."""
    if before + size > LARGEST:
        raise ValueError(f"more than {LARGEST // 2**20} MB")
    member = tarfile.TarInfo(name)      # of nobody, from 1970: the parcel says nothing of the machine
    member.size = size
    tar.addfile(member, body)
    return before + size


def unpack(parcel: bytes, folder: Path, allowed: Iterable[str], *, to_disk: bool = False) -> None:
    """Write a parcel's files into the existing `folder`: only files whose path begins with a name in `allowed`.

    With `to_disk` each is on the disk when this returns (fsync(2)). Raises ValueError when it is not a parcel, or too
    large.
    """
    tops, total = frozenset(allowed), 0
    try:
        with tarfile.open(fileobj=io.BytesIO(parcel), mode="r:gz") as tar:
            for count, member in enumerate(tar, start=1):
                total += member.size
                if total > LARGEST or count > MOST_FILES:
                    raise ValueError(f"more than {LARGEST // 2**20} MB or {MOST_FILES} files")
                body = tar.extractfile(member) if member.isreg() else None
                parts = member.name.split("/")
                if body is None or parts[0] not in tops or not set(parts).isdisjoint(("", ".", "..")):
                    raise ValueError(f"{member.name[:80]!r} does not belong there")
                _write(folder / member.name, body, to_disk)
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        if isinstance(error, OSError) and error.errno and error.errno not in OF_THE_NAME:      # the disk's
            raise
        raise ValueError(f"no parcel ({getattr(error, 'strerror', None) or error})") from None


def _write(path: Path, body: IO[bytes], to_disk: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    with os.fdopen(descriptor, "wb") as file:
        shutil.copyfileobj(body, file)
        if to_disk:
            file.flush()
            os.fsync(descriptor)
