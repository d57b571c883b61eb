"""The folders that an experiment reads and writes are checked before anything is built.

They are where the user who called sudo can put anything. One line says it when there is a link, a file in the place of
a folder, or a folder that cannot be written. This check is for people, not for security: somebody can make a link a
moment later, and it leads nowhere that this user could not go (harness.system.privileges.act_as).
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from harness.errors import InputError
from harness.files.pages import PageFiles
from harness.files.result_names import CLIENT, HACK_DNS, SERVER_LOGS
from harness.system.privileges import User


def check_folders(directory: Path, files: PageFiles, user: User) -> None:
    """Raise InputError when `directory` or the experiment's files in it cannot be used by `user`, who we are."""
    if not _is_there(directory, user):
        raise InputError(f"{directory}: no such folder; make it, or give another --dir")
    for path in _used(directory, files):
        if path.is_symlink():
            raise InputError(f"{path}: is a symbolic link, and none is followed there; put what it leads to in "
                             "its place, or remove it")
    if (directory / HACK_DNS).is_dir():
        raise InputError(f"{directory / HACK_DNS}: is a folder; remove it, since a file of that name is written")
    for folder in (directory, directory / CLIENT, directory / SERVER_LOGS):
        if folder.exists():
            require_writable(folder, user)


def _is_there(directory: Path, user: User) -> bool:
    try:
        return directory.is_dir()
    except PermissionError:
        raise InputError(f"{directory}: {_named(user)} may not go there; type sudo as the user whose folder it is, or "
                         "give another --dir") from None


def _used(directory: Path, files: PageFiles) -> Iterator[Path]:
    """Yield what the experiment uses, and what lies in the folders of its results."""
    yield from (files.pages, files.mirror, files.fetchlog, files.rtts, directory / HACK_DNS)
    for folder in (directory / CLIENT, directory / SERVER_LOGS):
        yield folder
        if folder.is_dir() and not folder.is_symlink():
            try:
                yield from sorted(folder.iterdir())
            except OSError as error:
                raise InputError(f"{folder}: {error.strerror}; remove it, or give another --dir") from None


def require_writable(folder: Path, user: User) -> None:
    """Raise InputError when `folder` is none, or this process, acting as `user`, cannot write there."""
    if not folder.is_dir():
        raise InputError(f"{folder}: is no folder; remove it, or give another --dir")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(f"{folder}: {_named(user)} cannot write there ({error.strerror}); give another --dir, or make "
                         f"it theirs: sudo chown -R {user.uid} {folder}") from None


def _named(user: User) -> str:
    return user.name or f"user {user.uid}"
