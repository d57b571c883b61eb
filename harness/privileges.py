"""Who called us: root only where the kernel asks for it, Chrome and the results belong to the invoking user."""

import os
import pwd
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from harness.errors import InputError

UNPRIVILEGED_ACCOUNT = "nobody"


@dataclass(frozen=True)
class User:
    """An account of this machine."""

    name: str
    uid: int
    gid: int


def require_root(command: str) -> None:
    """Raise InputError unless this process is root; `command` is what to type instead."""
    if os.geteuid() != 0:
        raise InputError(f"{command}: needs root for network namespaces; run: sudo {command}")


def invoking_user() -> User:
    """Return who called sudo, or root when nobody did."""
    uid = int(os.environ.get("SUDO_UID") or os.geteuid())
    try:
        account = pwd.getpwuid(uid)
    except KeyError:  # a container may know the number only
        return User(f"uid {uid}", uid, int(os.environ.get("SUDO_GID") or os.getegid()))
    return User(account.pw_name, account.pw_uid, account.pw_gid)


def browsing_user() -> User:
    """Return who Chrome runs as: the invoking user, or an unprivileged account when that is root.

    Chrome's sandbox does not work for root, and pages from anywhere have no business being root.
    """
    user = invoking_user()
    if user.uid != 0:
        return user
    account = pwd.getpwnam(UNPRIVILEGED_ACCOUNT)
    return User(account.pw_name, account.pw_uid, account.pw_gid)


def become(user: User) -> None:
    """Give up root for good in this process."""
    if os.geteuid() != 0:
        return
    os.setgroups([user.gid])
    os.setresgid(user.gid, user.gid, user.gid)
    os.setresuid(user.uid, user.uid, user.uid)


def give(path: Path, user: User) -> None:
    """Make `user` the owner of `path` and of everything below it. Links are not followed."""
    os.lchown(path, user.uid, user.gid)
    if path.is_dir() and not path.is_symlink():
        for entry in path.iterdir():
            give(entry, user)


def passable_temp_root() -> Path:
    """Return the directory for temporary files, or /tmp where that is closed to others (libpam-tmpdir, say).

    Chrome, as another user, must be able to reach its profile below it.
    """
    root = Path(tempfile.gettempdir()).resolve()
    open_to_all = all(directory.stat().st_mode & stat.S_IXOTH for directory in (root, *root.parents))
    return root if open_to_all else Path("/tmp")
