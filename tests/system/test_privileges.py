"""Who called us, and what belongs to whom."""

import os
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.bootstrap import ROOT
from harness.errors import InputError
from harness.system import privileges
from harness.system.privileges import (
    UNPRIVILEGED_ACCOUNT,
    User,
    browsing_user,
    give,
    invoking_user,
    passable_temp_root,
    require_root,
)
from tests.support.ran import ran

ALICE = SimpleNamespace(pw_name="alice", pw_uid=1234, pw_gid=4321)
OF_ROOT = SimpleNamespace(pw_name="root", pw_uid=0, pw_gid=0)
NOBODY = SimpleNamespace(pw_name=UNPRIVILEGED_ACCOUNT, pw_uid=65534, pw_gid=65534)
ALICE_HERSELF = User("alice", 1234, 4321)
ACCOUNTS = {account.pw_uid: account for account in (ALICE, OF_ROOT, NOBODY)}


@pytest.fixture(autouse=True)
def root_without_sudo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.delenv("SUDO_UID", raising=False)
    monkeypatch.delenv("SUDO_GID", raising=False)
    by_name = {account.pw_name: account for account in ACCOUNTS.values()}
    monkeypatch.setattr(privileges, "pwd", SimpleNamespace(getpwuid=ACCOUNTS.__getitem__, getpwnam=by_name.__getitem__))


def test_root_passes_and_others_are_told_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    require_root("./tfo.py")
    monkeypatch.setattr(os, "getresuid", lambda: (1234, 1234, 1234))
    with pytest.raises(InputError, match=r"^\./tfo\.py: .* sudo \./tfo\.py$"):
        require_root("./tfo.py")


@pytest.mark.parametrize(("we", "sudo_uid", "invoking", "browsing"), [
    (0, "1234", 1234, 1234), (0, None, 0, 65534), (0, "", 0, 65534), (0, "0", 0, 65534),
    (1234, None, 1234, 1234), (1234, "0", 1234, 1234), (1234, "65534", 1234, 1234)])
def test_root_gives_results_to_who_called_sudo_and_never_browses(
        we: int, sudo_uid: str | None, invoking: int, browsing: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without root all is our own, also when root, or somebody else, became this user by sudo -u."""
    if sudo_uid is not None:
        monkeypatch.setenv("SUDO_UID", sudo_uid)
        monkeypatch.setenv("SUDO_GID", sudo_uid)
    monkeypatch.setattr(os, "geteuid", lambda: we)
    for user, uid in ((invoking_user(), invoking), (browsing_user(), browsing)):
        assert user == User(*(getattr(ACCOUNTS[uid], each) for each in ("pw_name", "pw_uid", "pw_gid")))


def test_give_takes_everything_below_and_follows_no_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[Path, int, int]] = []
    monkeypatch.setattr(os, "lchown", lambda *what: given.append(what))
    (tmp_path / "outside" / "deep").mkdir(parents=True)
    tree = tmp_path / "tree"
    (tree / "a").mkdir(parents=True)
    (tree / "a" / "file").touch()
    (tree / "to_directory").symlink_to(tmp_path / "outside")
    give(tree, ALICE_HERSELF)
    assert sorted(given) == [(tree / path, 1234, 4321) for path in ("", "a", "a/file", "to_directory")]


@pytest.mark.parametrize(("closed", "mode"), [("", 0o777), ("outer", 0o700), ("outer/inner", 0o750)])
def test_temporary_files_lie_where_others_can_pass(monkeypatch: pytest.MonkeyPatch, closed: str, mode: int) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        root = Path(name) / "outer" / "inner"
        root.mkdir(parents=True)
        for directory in (Path(name), root.parent, root):
            directory.chmod(0o711)
        if closed:
            (Path(name) / closed).chmod(mode)
        monkeypatch.setattr(tempfile, "gettempdir", lambda: str(root))
        assert passable_temp_root() == (Path("/tmp") if closed else root)


BECOME = """
import os
from harness.system.privileges import User, become
become(User("", 1234, 4321))
print(os.getresuid(), os.getresgid(), os.getgroups())
for way_back in (os.setuid, os.seteuid, os.setgid):
    try:
        way_back(0)
    except PermissionError:
        print("refused")
"""


@pytest.mark.root
def test_become_gives_up_root_for_good() -> None:
    done = ran(sys.executable, "-c", BECOME, status=0, cwd=ROOT)
    assert done.stdout.splitlines() == ["(1234, 1234, 1234) (4321, 4321, 4321) [4321]", *["refused"] * 3]


LEAVE = """
import os
from harness.system.privileges import leave_root
leave_root()
print(*os.getresuid(), os.environ["HOME"])
"""


@pytest.mark.root
@pytest.mark.parametrize(("sudo", "ids"), [({"SUDO_UID": "1234", "SUDO_GID": "4321"}, "1234 1234 1234 /root"), (
    {"SUDO_UID": "65534", "SUDO_GID": "65534"}, "65534 65534 65534 /nonexistent"), ({}, "0 0 0 /root")])
def test_a_program_that_needs_no_root_leaves_it(sudo: dict[str, str], ids: str) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": "/root", **sudo}
    done = ran(sys.executable, "-c", LEAVE, status=0, cwd=ROOT, env=environment)
    assert done.stdout.strip() == ids


@pytest.mark.parametrize(("variable", "value"), [("SUDO_UID", "abc"), ("SUDO_UID", "-1"), ("SUDO_GID", "4294967295")])
def test_variables_of_sudo_that_are_no_numbers(variable: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(InputError, match="4294967294"):
        invoking_user()
