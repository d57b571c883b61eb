"""Who called us: root only where the kernel asks for it, Chrome and the results belong to the invoking user.

A program that was started by sudo acts as who called it (`act_as`), also among that user's files, whatever links lie
there: root's rights are taken for a few statements (`as_root`). What it starts outside of these is the user's for good.
"""

import argparse
import os
import pwd
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from harness.errors import InputError
from harness.system.libc import call
from harness.system.options import Whole

UNPRIVILEGED_ACCOUNT = "nobody"
SHARED_TEMP = ("/tmp", "/var/tmp")
PRELOAD_SEPARATORS = frozenset(" :")
_CALLS = {"x86_64": (117, 119), "aarch64": (147, 149), "riscv64": (147, 149)}
OF_THIS_THREAD = _CALLS.get(os.uname().machine)
"""The numbers of setresuid(2) and setresgid(2) on this machine. The C library's functions change all threads: also one
that is root just now, or should not be."""


@dataclass(frozen=True)
class User:
    """An account of this machine."""

    name: str
    uid: int
    gid: int


def require_root(command: str) -> None:
    """Raise InputError unless this process is root, or can be (`as_root`); `command` is what to type instead."""
    if 0 not in os.getresuid():
        raise InputError(f"{command}: needs root for network namespaces; run: sudo {command}")


def invoking_user() -> User:
    """Return who called sudo to be root, or who this process is: root of itself, or anybody else.

    Whoever is not root has nothing to hand over, whoever made this user of them (sudo -u student, say). Raises
    InputError when sudo's variables hold no number.
    """
    ours = os.geteuid(), os.getegid()
    try:
        read = Whole(0, 2**32 - 2)      # the last one means "no user" (chown(2))
        uid, gid = (read(os.environ.get(name) or str(our)) if ours[0] == 0 else our
                    for name, our in zip(("SUDO_UID", "SUDO_GID"), ours, strict=True))
    except argparse.ArgumentTypeError as error:
        raise InputError(f"SUDO_UID, SUDO_GID: {error}; unset them, or run: sudo ./run.sh") from None
    try:
        account = pwd.getpwuid(uid)
    except KeyError:  # a container may know the number only
        return User(f"uid {uid}", uid, gid)
    return User(account.pw_name, account.pw_uid, account.pw_gid)


def browsing_user() -> User:
    """Return who Chrome runs as: the invoking user, or an unprivileged account when that is root.

    Chrome's sandbox does not work for root, and pages from anywhere have no business being root.
    """
    return unprivileged(invoking_user())


def unprivileged(user: User | None) -> User:
    """Return `user`, or the unprivileged account when that is root or nobody is named."""
    if user is not None and user.uid != 0:
        return user
    account = pwd.getpwnam(UNPRIVILEGED_ACCOUNT)
    return User(account.pw_name, account.pw_uid, account.pw_gid)


def become(user: User) -> None:
    """Give up root for good in this process."""
    if 0 not in os.getresuid():
        return
    os.setresuid(0, 0, 0)
    os.setgroups([user.gid])
    os.setresgid(user.gid, user.gid, user.gid)
    os.setresuid(user.uid, user.uid, user.uid)


def leave_root() -> None:
    """Give up root for good when sudo was used for a program that needs none: it then acts as who called sudo."""
    user = invoking_user()
    if os.geteuid() == 0 and user.uid != 0:
        become(user)
        _go_home(user)


def act_as(user: User) -> None:
    """Be `user` from here on, in this thread and those it starts, but for what is done `as_root`.

    What is started is `user` for good. Nothing changes without root.
    """
    if os.geteuid() != 0 or user.uid == 0:
        return
    os.setgroups(_groups(user))
    set_ids((user.uid, user.uid, 0), (user.gid, user.gid, 0))
    _go_home(user)


@contextmanager
def as_root() -> Iterator[None]:
    """Be root while this lasts, in this thread, if the program was before `act_as`; nothing changes otherwise.

    Open no file of the user's meanwhile: a link may stand in its place. What is started meanwhile is root's.
    """
    uids, gids = os.getresuid(), os.getresgid()
    if uids[0] == 0 or uids[2] != 0:
        yield
        return
    try:
        set_ids((0, 0, 0), (0, 0, 0))
        yield
    finally:
        set_ids(uids, gids)


def set_ids(uids: tuple[int, int, int], gids: tuple[int, int, int]) -> None:
    """Change the real, effective and saved ids of this thread: first to root, who may change the others."""
    if OF_THIS_THREAD is None:
        os.setresuid(0, 0, 0)
        os.setresgid(*gids)
        os.setresuid(*uids)
        return
    set_uids, set_gids = OF_THIS_THREAD
    for number, ids in ((set_uids, (0, 0, 0)), (set_gids, gids), (set_uids, uids)):
        call("syscall", number, *ids)


def _go_home(user: User) -> None:
    with suppress(KeyError):        # a container may know the number only
        os.environ["HOME"] = pwd.getpwuid(user.uid).pw_dir


def _groups(user: User) -> list[int]:
    try:
        return os.getgrouplist(pwd.getpwuid(user.uid).pw_name, user.gid)
    except KeyError:
        return [user.gid]


def give(path: Path, user: User) -> None:
    """Make `user` the owner of `path`, which nobody but root could write to so far, and of everything below it.

    Links are given themselves, and never followed.
    """
    for each in (*reversed([*path.rglob("*")]), path):      # while the top is root's, nobody can put a link below it
        os.lchown(each, user.uid, user.gid)


def temp_root() -> Path:
    """Return the directory for temporary files. Raises InputError when none can be written: full, or read-only."""
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError:
        raise InputError(f"{', '.join(SHARED_TEMP)}: temporary files cannot be written there (is the disk full, or "
                         "read-only?); make room there, or run it with TMPDIR=/another/folder (behind sudo), one that "
                         "all may enter") from None


def passable_temp_root() -> Path:
    """Return the directory for temporary files, or where Chrome cannot use that, /tmp or /var/tmp.

    Chrome, as another user, must be able to reach its profile below it (libpam-tmpdir closes it to others), and to
    start from there (a mount option may forbid it); and the path of what is preloaded into it may hold no separator of
    such paths (ld.so(8), LD_PRELOAD). Raises InputError when there is none.
    """
    places = [temp_root().resolve(), *map(Path, SHARED_TEMP)]
    return next((place for place in places if all(each.is_dir() and each.stat().st_mode & stat.S_IXOTH
                                                  for each in (place, *place.parents))
                 and not os.statvfs(place).f_flag & os.ST_NOEXEC and not set(str(place)) & PRELOAD_SEPARATORS),
                places[1])
