"""Whatever interrupts an experiment, its thread is where it was before: what is put back then is its own machine's."""

import os
import subprocess
import sys

import pytest

from harness.bootstrap import ROOT
from tests.support.namespaces import own_namespace

STAYS = """
import os, random, signal, sys, threading, time
from harness.system import netns, signals

def home():
    return os.readlink("/proc/thread-self/ns/net")

def enter_and_leave_until_interrupted():
    threading.Timer(rng.uniform(0.0005, 0.002), os.kill, (os.getpid(), signal.SIGTERM)).start()
    while True:
        with netns.inside(int(sys.argv[1])):
            for _ in range(100):
                os.getpid()

at_home, lost, rng = home(), 0, random.Random(1)
back = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
for _ in range(300):
    for number in signals.ENDING_SIGNALS:
        signal.signal(number, signals._interrupt)
    try:
        enter_and_leave_until_interrupted()
    except signals.Interrupted:
        if home() != at_home:
            lost += 1
            netns._enter(back)
print(lost)
"""


@pytest.mark.root
def test_an_interrupt_never_leaves_it_in_another_namespace() -> None:
    """A killed run.sh's tfo.py wrote net.ipv4.tcp_fastopen back into a server's namespace: the machine's stayed 3."""
    with own_namespace() as pid:
        done = subprocess.run([sys.executable, "-c", STAYS, str(pid)], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False)
    assert (done.stdout, done.stderr) == ("0\n", "")
