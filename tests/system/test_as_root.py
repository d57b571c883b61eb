"""A program that sudo started is the user who typed it, among that user's files, and root for a few statements.

Whatever interrupts it, it cleans up where it is at home, and with its own rights.
"""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from harness.system.privileges import User, as_root
from tests.support.namespaces import own_namespace
from tests.support.ordinary import ORDINARY, acting_as
from tests.support.ran import ran

pytestmark = pytest.mark.root
ALICE = User("alice", 1234, 4321)


def test_acting_as_a_user_it_goes_only_where_the_user_may(open_to_all: Path) -> None:
    (open_to_all / "of_root").write_text("secret")
    (open_to_all / "of_root").chmod(0o600)
    (open_to_all / "hers").mkdir()
    os.chown(open_to_all / "hers", 1234, 4321)
    (open_to_all / "hers" / "link").symlink_to(open_to_all / "of_root")
    with acting_as(ALICE):
        (open_to_all / "hers" / "made").touch()
        for path, mode in ((open_to_all / "hers" / "link", os.O_RDONLY),
                           (open_to_all / "hers" / "link", os.O_WRONLY | os.O_TRUNC),
                           (open_to_all / "elsewhere", os.O_WRONLY | os.O_CREAT)):
            with pytest.raises(PermissionError):
                os.open(path, mode)
        with as_root():
            assert (open_to_all / "of_root").read_text() == "secret"
        with pytest.raises(PermissionError):
            (open_to_all / "of_root").read_text()
    assert (open_to_all / "hers" / "made").stat().st_uid == 1234


def test_what_a_user_starts_is_the_users_and_what_root_starts_is_roots() -> None:
    ids = ["sh", "-c", "grep -E '^(Uid|Gid)' /proc/self/status"]
    with acting_as(ALICE):
        hers = ran(*ids, status=0).stdout.split()
        with as_root():
            roots = ran(*ids, status=0).stdout.split()
    assert hers == ["Uid:", *["1234"] * 4, "Gid:", *["4321"] * 4]
    assert roots == ["Uid:", *["0"] * 4, "Gid:", *["0"] * 4]


def test_one_thread_is_root_and_another_is_not() -> None:
    """Files are opened by one of them while the other is among network namespaces."""
    with acting_as(ALICE), ThreadPoolExecutor(1) as other:
        with as_root():
            assert other.submit(os.geteuid).result() == 0, "who is started by root is root"
        with ThreadPoolExecutor(1) as hers:
            assert hers.submit(os.geteuid).result() == 1234
            with as_root():
                assert (os.geteuid(), hers.submit(os.geteuid).result()) == (0, 1234)


INTERRUPTED = 300
SCRIPT = """
import os, random, signal, sys, threading
from harness.system import namespaces, signals
from harness.system.libc import call
from harness.system.namespaces import inside
from harness.system.privileges import User, _set_ids, act_as, as_root

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
for _ in range({times}):
    for number in signals.ENDING_SIGNALS:
        signal.signal(number, signals._interrupt)
    try:
        enter_and_leave_until_interrupted()
    except signals.Interrupted:
        signal.setitimer(signal.ITIMER_REAL, 0)
        if state() != at_home:
            lost += 1
            call("setns", back, namespaces.CLONE_NEWNET)
            _set_ids(*home_ids)
print(lost)
"""


def times_lost(where: str, begin: str = "") -> tuple[str, str]:
    """Interrupt a process in and around `where` again and again; return how often it was not as before, and errors."""
    script = SCRIPT.format(where=where, begin=begin, times=INTERRUPTED)
    done = ran(sys.executable, "-c", script, env={**os.environ, "PYTHONPATH": str(ROOT)})
    return done.stdout, done.stderr


@pytest.mark.root
def test_an_interrupt_never_leaves_it_in_another_namespace() -> None:
    """A killed run.sh's tfo.py wrote net.ipv4.tcp_fastopen back into a server's namespace: the machine's stayed 3."""
    with own_namespace() as pid:
        assert times_lost(f"inside({pid})") == ("0\n", "")


@pytest.mark.root
def test_an_interrupt_never_leaves_it_with_roots_rights() -> None:
    assert times_lost("as_root()", f"act_as(User('x', {ORDINARY.uid}, {ORDINARY.gid}))") == ("0\n", "")
