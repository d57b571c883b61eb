"""What a HAR comes in: a file, compressed by gzip or not, or a ZIP file; and the bodies that lie beside it.

Playwright keeps bodies in files of their own (`_file`), beside the HAR or together with it in a ZIP file. Others zip a
HAR because GitHub's issues take no `.har`.
"""

import codecs
import gzip
import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path, PurePosixPath

from harness.errors import InputError, first_few
from harness.system.untrusted import UnreadableFileError, read_untrusted

MOST_BYTES = 500_000_000
"""Bytes that a HAR may have, also when unpacked, and all files in a ZIP file together."""
BROKEN_ZIP = (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError, OverflowError, struct.error,
              zlib.error, lzma.LZMAError)
"""What zipfile raises for what is no zip, is damaged, or has a method or password that we do not have."""
OF_MACOS = "__MACOSX/"
"""Where macOS puts what it knows of the files in a ZIP file, under the same names."""

Attached = Callable[[str], bytes | None]
"""Gives what lies beside a HAR under a plain name; None where there is no such file."""


def read_har_file(path: Path) -> tuple[bytes, Attached]:
    """Return the JSON of the HAR at `path`, not yet read, and what it may refer to by `_file`.

    Raises InputError when a ZIP file has none, ValueError or zlib.error when unpacking fails, UnreadableFileError when
    there is no such file, or it is too large.
    """
    content = read_untrusted(path, limit=MOST_BYTES)
    if content.startswith(b"PK\x03\x04"):
        return _in_zip(path, content)
    return _unpacked(content), lru_cache(maxsize=None)(partial(_beside, path.parent))


def _beside(directory: Path, name: str) -> bytes | None:
    if not _is_plain(name):
        return None
    try:
        return read_untrusted(directory / name, limit=MOST_BYTES)
    except UnreadableFileError:
        return None


def _is_plain(name: str) -> bool:
    """Say whether a name is that of a file in the HAR's own folder, which is not hidden, and leads nowhere else."""
    return not name.startswith(".") and not set(name) & set("\0\\") and bool(name) and PurePosixPath(name).name == name


def _in_zip(path: Path, content: bytes) -> tuple[bytes, Attached]:
    """Return the one HAR in a ZIP file, with the files beside it there."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
        members = [member for member in archive.infolist()
                   if not member.is_dir() and not member.filename.startswith(OF_MACOS)]
        _check_size(sum(member.file_size for member in members))     # zipfile reads no more of a member than this says
        hars = [member for member in members if member.filename.lower().endswith(".har")]
        if len(hars) != 1:
            found = f"{len(hars)} HARs in it ({first_few([har.filename for har in hars])})" if hars else "no HAR in it"
            raise InputError(f"{path}:1: {found}; unpack it, and give the HAR of one page")
        folder = hars[0].filename.rpartition("/")[0]
        beside = {member.filename.rpartition("/")[2]: member for member in members
                  if member.filename.rpartition("/")[0] == folder}
        return _unpacked(archive.read(hars[0])), lru_cache(maxsize=None)(partial(_member, archive, beside))
    except BROKEN_ZIP as error:
        raise ValueError(f"a damaged ZIP file: {error}") from None


def _member(archive: zipfile.ZipFile, beside: dict[str, zipfile.ZipInfo], name: str) -> bytes | None:
    try:
        return archive.read(beside[name])
    except (KeyError, *BROKEN_ZIP):
        return None


def _check_size(size: int) -> None:
    """Raise ValueError when a file would unpack to too much."""
    if size > MOST_BYTES:
        raise ValueError(f"over {MOST_BYTES / 1e6:g} MB when unpacked")


def _unpacked(content: bytes) -> bytes:
    """Return the text of a HAR, which may be compressed by gzip. ValueError when it would be too large."""
    if content.startswith(b"\x1f\x8b"):
        content = gzip.GzipFile(fileobj=io.BytesIO(content)).read(MOST_BYTES + 1)
        _check_size(len(content))
    return content.removeprefix(codecs.BOM_UTF8)
