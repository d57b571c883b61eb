"""Where a recorded URL's body stands in a mirror: ``NAME/<host>/<file>``.

The file is the URL's path plus ``?query`` plus ``#fragment``; ``/`` is ``index.html``. If that is longer than 64
characters (leading slash included) or cannot be a file's name, the file is its hex MD5, in the host's own folder. This
format is fixed, since people have had mirrors since 2013. A mirror may come from anywhere: however hostile a name is,
no file outside of its host's directory is opened.
"""

import hashlib
import os
import re
import stat
from pathlib import Path
from urllib.parse import unquote

from harness.errors import InputError
from harness.files.hosts import is_host_name
from harness.files.urls import from_root, split_url

LONGEST_PLAIN = 64
"""Characters of path, query and fragment, leading slash included, that are kept as a plain file name."""
LONGEST_COMPONENT = 255
"""Bytes a directory entry's name may have (NAME_MAX of Linux file systems)."""
INDEX = "index.html"
MD5_NAME = re.compile("[0-9a-f]{32}")


def mirror_file(path_and_query: str) -> str:
    """Return the file, relative to the host's directory, that a URL's body is written to.

    `path_and_query` is the URL's path, ``?query`` and ``#fragment``, as written in the URL. This does not look at the
    disk: see `write_file` for the case that a directory has that name already.
    """
    target = from_root(path_and_query)
    name = _plain_name(target)
    if len(target) > LONGEST_PLAIN or not _can_be_file(name):
        return md5_name(target)
    return name


def is_md5_name(file: str) -> bool:
    """Tell whether a file of the mirror may be named by an MD5: its name does not say what its URL is."""
    return bool(MD5_NAME.fullmatch(file))


def md5_name(path_and_query: str) -> str:
    """Return the hex MD5 of `path_and_query` without a bare ``?`` or ``#`` at its end."""
    target = _without_bare_end(from_root(path_and_query))
    return hashlib.md5(_to_bytes(target), usedforsecurity=False).hexdigest()


def lookups(path_and_query: str) -> list[str]:
    """Return the files, relative to the host's directory, in which a URL's body may be, in the order of looking.

    First the plain path, then the MD5 of path and query, both as received; then both without a bare ``?`` or ``#`` at
    the end, and percent-decoded. No name leads out of the host's directory.
    """
    target = from_root(path_and_query)
    found: dict[str, None] = {}
    for form in (target, _without_bare_end(target), target.partition("#")[0], from_root(_decoded(target))):
        name = _plain_name(form)
        found |= dict.fromkeys((*([name] if _can_be_file(name) else []), md5_name(form)))
    return list(found)


def target_of(name: str) -> str:
    """Return the path and query that a host's file is named after, as far as its name shows it."""
    return "/" if name == INDEX else f"/{name.partition('#')[0]}"


def hosts(mirror_dir: Path) -> list[str]:
    """Return the names of the hosts that have a directory in the mirror, sorted.

    Raises InputError when the mirror is missing, holds no host, or a directory
    whose name cannot be a host's.
    """
    try:
        with os.scandir(mirror_dir) as entries:
            found = sorted(entry.name for entry in entries
                           if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."))
    except OSError as error:
        raise InputError(f"{mirror_dir}: no mirror can be read here ({error.strerror}); "
                         "record or make the pages first") from None
    for name in found:
        if not is_host_name(name):
            raise InputError(f"{mirror_dir}: {name[:80]!r} is not the name of a host; remove this directory, "
                             "or rename it: other scripts have IDNA's form, xn--...")
    if not found:
        raise InputError(f"{mirror_dir}: no hosts in this mirror; record or make the pages first")
    return found


def list_files(host_dir: Path) -> frozenset[str]:
    """Return all regular files below `host_dir`, relative to it; none when it does not exist. Symlinks are left out.

    This works however deep the folders are, where os.walk would run out of stack. Files whose path is longer than 4096
    bytes are left out.
    """
    found: set[str] = set()
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        try:
            entries = list(os.scandir(host_dir / folder))
        except OSError:
            continue
        waiting += [f"{folder}{entry.name}/" for entry in entries if entry.is_dir(follow_symlinks=False)]
        found.update(f"{folder}{entry.name}" for entry in entries if entry.is_file(follow_symlinks=False))
    return frozenset(found)


def open_file(host_fd: int, name: str) -> int:
    """Open the regular file `name` below the directory `host_fd` for reading and return its descriptor.

    Walks down one component at a time and follows no symlink, so it cannot leave the directory, and works for a user
    who may not traverse the directories above. Raises OSError (FileNotFoundError for a name that cannot be a file).
    """
    if not _can_be_file(name):
        raise FileNotFoundError(f"not a file name in a mirror: {name!r}")
    *directories, last = name.split("/")
    at = host_fd
    try:
        for directory in directories:
            below = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
            if at != host_fd:
                os.close(at)
            at = below
        file = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=at)
    finally:
        if at != host_fd:
            os.close(at)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise FileNotFoundError(f"not a regular file: {name!r}")
    return file


def open_below(directory: Path, name: str) -> int:
    """Open the regular file `name` below a directory as `open_file` does. Raises OSError."""
    below = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return open_file(below, name)
    finally:
        os.close(below)


def write_file(mirror_dir: Path, url: str, body: bytes) -> Path:
    """Write the body of `url` where a reader will look for it, and return the file.

    If there is a directory of the plain name, or a file where its directory should be, the file's name is the MD5.
    Raises ValueError when `url` has no host or its host cannot be a directory, OSError when writing fails.
    """
    host, target = split_url(url)
    if not is_host_name(host):
        raise ValueError(f"not a host name: {host!r}")
    host_dir = mirror_dir / host
    file = host_dir / mirror_file(target)
    host_dir.mkdir(parents=True, exist_ok=True)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(body)
    except (IsADirectoryError, NotADirectoryError, FileExistsError):
        file = host_dir / md5_name(target)
        file.write_bytes(body)
    return file


def _plain_name(target: str) -> str:
    return target[1:] or INDEX


def _can_be_file(name: str) -> bool:
    if "\0" in name:
        return False
    try:
        components = os.fsencode(name).split(b"/")
    except UnicodeEncodeError:
        return False
    return all(part not in (b"", b".", b"..") and len(part) <= LONGEST_COMPONENT for part in components)


def _without_bare_end(target: str) -> str:
    for mark in "#?":
        if target.find(mark) == len(target) - 1:
            target = target[:-1]
    return target


def _decoded(target: str) -> str:
    return unquote(target, errors="surrogateescape")


def _to_bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
