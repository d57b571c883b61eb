"""Ending processes: politely, then for good, and with their parent. test_contained.py has the tree of them."""

import signal
import sys

import pytest

from harness.system.processes import is_running, stop
from tests.support.started import started
from tests.support.waiting import wait_until


@pytest.mark.parametrize(("trap", "status"), [("exit 7", 7), ("", -signal.SIGKILL)])
def test_stop_ends_what_ignores_sigterm(trap: str, status: int) -> None:
    """And is polite first."""
    with started("sh", "-c", f"trap '{trap}' TERM; echo ready; while :; do sleep 0.02; done") as process:
        stop(process, patience_s=0.5)
        assert process.returncode == status
        assert not is_running(process.pid)


DIES_ITSELF = """["{python}", "-c", "import time; from harness.system.processes import die_with_parent; "
    "die_with_parent(); print(1, flush=True); time.sleep(60)"]"""
BOUND = """bound_to_us(["sh", "-c", "trap '' TERM HUP; echo ready; kill -STOP $$; sleep 60"])"""


@pytest.mark.parametrize("command", [DIES_ITSELF.format(python=sys.executable), BOUND], ids=["itself", "bound"])
def test_a_child_dies_with_its_parent(command: str) -> None:
    code = f"""
import subprocess, sys, time
from harness.system.processes import bound_to_us
child = subprocess.Popen({command}, stdout=subprocess.PIPE)
child.stdout.readline()
print("ready", child.pid, sep="\\n", flush=True)
time.sleep(60)
"""
    with started(sys.executable, "-c", code) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert is_running(pid)
        parent.kill()
        parent.wait()
        wait_until(lambda: not is_running(pid))
