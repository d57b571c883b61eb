"""Who called us, and what belongs to whom: a program that sudo started is the user who typed it, among that user's
files, and root for a few statements. Whatever interrupts it, it cleans up where it is at home, and with its own rights.
"""

import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from harness.errors import InputError
from harness.system.privileges import (
    User,
    as_root,
    browsing_user,
    give,
    invoking_user,
    passable_temp_root,
    require_root,
)
from tests.support.namespaces import own_namespace
from tests.support.ordinary import ORDINARY, acting_as
from tests.support.ran import ran

ALICE = User("alice", 1234, 4321)


def test_root_passes_and_others_are_told_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getresuid", lambda: (1234, 1234, 0))
    require_root("./tfo.py")
    monkeypatch.setattr(os, "getresuid", lambda: (1234, 1234, 1234))
    with pytest.raises(InputError, match=r"^\./tfo\.py: .* sudo \./tfo\.py$"):
        require_root("./tfo.py")


@pytest.mark.parametrize(("we", "sudo", "invoking", "browsing"), [
    (0, "1234", 1234, 1234), (0, "", 0, 65534), (0, "0", 0, 65534),
    (1234, "0", 1234, 1234), (0, "abc", None, None), (0, "4294967295", None, None)])
def test_root_gives_results_to_who_called_sudo_and_never_browses(
        we: int, sudo: str, invoking: int | None, browsing: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without root all is our own, also when root, or somebody else, became this user by sudo -u."""
    monkeypatch.setenv("SUDO_UID", sudo)
    monkeypatch.setenv("SUDO_GID", sudo)
    monkeypatch.setattr(os, "geteuid", lambda: we)
    if invoking is None:
        with pytest.raises(InputError, match="4294967294"):
            invoking_user()
    else:
        assert (invoking_user().uid, browsing_user().uid) == (invoking, browsing)


@pytest.mark.root
def test_give_takes_everything_below_and_follows_no_link(tmp_path: Path) -> None:
    tree, outside = tmp_path / "tree", tmp_path / "outside"
    (tree / "a").mkdir(parents=True)
    (tree / "a" / "file").touch()
    outside.mkdir()
    (tree / "link").symlink_to(outside)
    give(tree, ALICE)
    assert {path.name: (path.lstat().st_uid, path.lstat().st_gid) for path in tmp_path.rglob("*")} == {
        **dict.fromkeys(("tree", "a", "file", "link"), (1234, 4321)), "outside": (os.geteuid(), os.getegid())}


@pytest.mark.parametrize(("closed", "mode"), [("", 0o711), ("outer", 0o700), ("outer/inner", 0o750)])
def test_temporary_files_lie_where_others_can_pass(monkeypatch: pytest.MonkeyPatch, closed: str, mode: int) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        root = Path(name) / "outer" / "inner"
        root.mkdir(parents=True)
        Path(name).chmod(0o711)
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
LEAVE = """
import os
from harness.system.privileges import leave_root
leave_root()
print(*os.getresuid(), os.environ["HOME"])
"""


@pytest.mark.root
@pytest.mark.parametrize(("script", "sudo", "said"), [
    (BECOME, "", "(1234, 1234, 1234) (4321, 4321, 4321) [4321]\nrefused\nrefused\nrefused\n"),
    (LEAVE, "1234", "1234 1234 1234 /root\n"), (LEAVE, "65534", "65534 65534 65534 /nonexistent\n"),
    (LEAVE, "", "0 0 0 /root\n")])
def test_root_is_left_for_good(script: str, sudo: str, said: str) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": "/root", "SUDO_UID": sudo, "SUDO_GID": sudo}
    assert ran(sys.executable, "-c", script, status=0, cwd=ROOT, env=environment).stdout == said


@pytest.mark.root
def test_acting_as_a_user_it_goes_only_where_the_user_may_and_what_it_starts_is_the_users(open_to_all: Path) -> None:
    """Threads, too: files are opened by one of them while the other is among network namespaces."""
    secret, hers = open_to_all / "of_root", open_to_all / "hers"
    secret.write_text("secret")
    secret.chmod(0o600)
    hers.mkdir()
    os.chown(hers, 1234, 4321)
    (hers / "link").symlink_to(secret)
    ids = ["sh", "-c", "grep -E '^(Uid|Gid)' /proc/self/status"]
    with acting_as(ALICE), ThreadPoolExecutor(1) as her_thread, ThreadPoolExecutor(1) as roots_thread:
        (hers / "made").touch()
        for path, mode in ((hers / "link", os.O_RDONLY), (hers / "link", os.O_WRONLY | os.O_TRUNC),
                           (open_to_all / "elsewhere", os.O_WRONLY | os.O_CREAT)):
            with pytest.raises(PermissionError):
                os.open(path, mode)
        assert her_thread.submit(os.geteuid).result() == 1234
        with as_root():
            assert secret.read_text() == "secret"
            started_by_root = ran(*ids, status=0).stdout.split()
            assert [pool.submit(os.geteuid).result() for pool in (her_thread, roots_thread)] == [1234, 0]
        started_by_her = ran(*ids, status=0).stdout.split()
        with pytest.raises(PermissionError):
            secret.read_text()
    assert (hers / "made").stat().st_uid == 1234
    assert started_by_her == ["Uid:", *["1234"] * 4, "Gid:", *["4321"] * 4]
    assert started_by_root == ["Uid:", *["0"] * 4, "Gid:", *["0"] * 4]


SCRIPT = """
import os, random, signal, sys, threading
from harness.system import namespaces, signals
from harness.system.libc import call
from harness.system.namespaces import inside
from harness.system.privileges import User, act_as, as_root, set_ids

def state():
    lines = open("/proc/thread-self/status").read().splitlines()
    return os.readlink("/proc/thread-self/ns/net"), [line for line in lines if line.startswith(("Uid", "Gid"))]

def enter_and_leave_until_interrupted():
    threading.Timer(rng.uniform(0.0005, 0.002), os.kill, (os.getpid(), signal.SIGTERM)).start()
    while True:
        with {where}:
            for _ in range(100):
                os.getpid()

{begin}
home_ids = os.getresuid(), os.getresgid()
at_home, lost, rng = state(), 0, random.Random(1)
back = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
for _ in range(300):
    for number in signals.ENDING_SIGNALS:
        signal.signal(number, signals._interrupt)
    try:
        enter_and_leave_until_interrupted()
    except signals.Interrupted:
        signal.setitimer(signal.ITIMER_REAL, 0)
        if state() != at_home:
            lost += 1
            call("setns", back, namespaces.CLONE_NEWNET)
            set_ids(*home_ids)
print(lost)
"""


@pytest.mark.root
@pytest.mark.parametrize(("where", "begin"), [
    ("inside({pid})", ""), ("as_root()", f"act_as(User('x', {ORDINARY.uid}, {ORDINARY.gid}))")])
def test_an_interrupt_leaves_it_neither_in_another_namespace_nor_with_roots_rights(where: str, begin: str) -> None:
    """A killed run.sh's tfo.py wrote net.ipv4.tcp_fastopen back into a server's namespace: the machine's stayed 3."""
    with own_namespace() as pid:
        script = SCRIPT.format(where=where.format(pid=pid), begin=begin)
        done = ran(sys.executable, "-c", script, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert (done.stdout, done.stderr) == ("0\n", "")
