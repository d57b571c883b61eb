"""An ordinary user who may read the project: nobody or, where it lies in a home closed to others, its owner."""

import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager

from harness.bootstrap import ROOT
from harness.system.privileges import User, act_as

OTHERS_MAY_ENTER = 0o001


def _ordinary_user() -> User:
    owner = ROOT.stat()
    if owner.st_uid == 0 or all(folder.stat().st_mode & OTHERS_MAY_ENTER for folder in (ROOT, *ROOT.parents)):
        account = pwd.getpwnam("nobody")
        return User(account.pw_name, account.pw_uid, account.pw_gid)
    return User(pwd.getpwuid(owner.st_uid).pw_name, owner.st_uid, owner.st_gid)


ORDINARY = _ordinary_user()
AS_ORDINARY = ("setpriv", "--reuid", str(ORDINARY.uid), "--regid", str(ORDINARY.gid), "--clear-groups")
"""Runs a command as that user. Needs root."""
SUDO = {"SUDO_UID": str(ORDINARY.uid), "SUDO_GID": str(ORDINARY.gid)}
"""What sudo says of that user."""
GIT_ENVIRONMENT = {**os.environ, "SUDO_UID": str(ROOT.stat().st_uid)}
"""With this git reads the project for root although it is somebody else's (git(1), safe.directory)."""


@contextmanager
def acting_as(user: User) -> Iterator[None]:
    """Be `user` while this lasts, as a program that was started by sudo is (act_as). Needs root."""
    uids, gids, groups, home = os.getresuid(), os.getresgid(), os.getgroups(), os.environ["HOME"]
    act_as(user)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)
        os.setresgid(*gids)
        os.setgroups(groups)
        os.setresuid(*uids)
        os.environ["HOME"] = home
