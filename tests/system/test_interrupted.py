"""Whatever interrupts an experiment, it cleans up where it is at home, and with its own rights."""

import os
import sys

import pytest

from harness.bootstrap import ROOT
from tests.support.namespaces import own_namespace
from tests.support.ordinary import ORDINARY
from tests.support.ran import ran

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
