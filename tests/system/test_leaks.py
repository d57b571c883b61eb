"""The leak detectors themselves: each finds its kind of leak, names it, and is content when it is gone."""

import ctypes
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from tests.support.leaks import find_leaks, find_own_leaks, take_own_snapshot, take_snapshot
from tests.support.waiting import wait_until

CLONE_NEWNET = 0x40000000
SLEEP = [sys.executable, "-c", "import time; print(flush=True); time.sleep(60)"]


@pytest.fixture
def scratch() -> Path:
    """Return the session's temporary directory, which conftest.py makes."""
    return Path(os.environ["TMPDIR"])


def _run(*command: str) -> None:
    subprocess.run(command, check=True)


def _in_new_namespace(command: list[str]) -> list[str]:
    """Return the leaks of a Python that runs `command` in a network namespace of its own."""
    program = f"""
import subprocess, sys
from pathlib import Path
from tests.support.leaks import find_leaks, take_snapshot
scratch = Path({os.environ["TMPDIR"]!r})
before = take_snapshot(scratch)
subprocess.run({command!r}, check=True)
for leak in find_leaks(before, scratch, patience_s=0):
    print(leak)
"""
    answer = subprocess.run(["unshare", "--net", sys.executable, "-c", program], cwd=ROOT, capture_output=True,
                            text=True, check=True)
    return answer.stdout.splitlines()


def test_child_process(scratch: Path) -> None:
    before = take_snapshot(scratch)
    with subprocess.Popen(SLEEP, stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout
            child.stdout.readline()
            (leak,) = find_leaks(before, scratch, patience_s=0)
            assert leak.startswith(f"process left behind: {child.pid} in net:[")
            assert "time.sleep(60)" in leak
        finally:
            child.kill()
    assert find_leaks(before, scratch) == []


def became_sleep(pid: int) -> None:
    """Wait until a process has become what it was started as: in execve(2) it has no environment for a moment."""
    wait_until(lambda: Path(f"/proc/{pid}/cmdline").read_bytes() == b"sleep\x0061\x00")


def test_orphan_that_left_our_session(scratch: Path) -> None:
    before = take_snapshot(scratch)
    # The shell ends at once, so the sleep is no descendant of ours any more; its TMPDIR gives it away.
    answer = subprocess.run(["sh", "-c", "setsid sleep 61 >/dev/null 2>&1 & echo $!"], stdout=subprocess.PIPE,
                            text=True, check=True)
    pid = int(answer.stdout)
    try:
        became_sleep(pid)
        (leak,) = find_leaks(before, scratch, patience_s=0)
        assert str(pid) in leak
    finally:
        os.kill(pid, 9)
    assert find_leaks(before, scratch) == []


@pytest.mark.root
def test_named_namespace(scratch: Path) -> None:
    name = f"tfo-lab-{os.getpid()}"
    before = take_snapshot(scratch)
    _run("ip", "netns", "add", name)
    try:
        assert find_leaks(before, scratch, patience_s=0) == [f"network namespace left behind: {name}"]
    finally:
        _run("ip", "netns", "delete", name)
    assert find_leaks(before, scratch) == []


@pytest.mark.root
def test_thread_that_stayed_in_another_namespace(scratch: Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    before = take_snapshot(scratch)
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        assert libc.unshare(CLONE_NEWNET) == 0
        assert any("of this thread" in leak for leak in find_leaks(before, scratch, patience_s=0))
    finally:
        assert libc.setns(home, CLONE_NEWNET) == 0
        os.close(home)
    assert find_leaks(before, scratch) == []


@pytest.mark.root
@pytest.mark.parametrize(("command", "leaks"), [
    (["ip", "link", "add", "tfo-a", "type", "veth", "peer", "name", "tfo-b"],
     ["interface left behind: tfo-a", "interface left behind: tfo-b"]),
    (["ip", "link", "add", "tfo-bridge", "type", "bridge"], ["interface left behind: tfo-bridge"]),
    (["iptables", "-t", "mangle", "-A", "PREROUTING", "-i", "lo", "-j", "ACCEPT"],
     ["iptables rule left behind: iptables -t mangle -A PREROUTING -i lo -j ACCEPT"]),
    (["ip6tables", "-P", "FORWARD", "DROP"], ["iptables rule left behind: ip6tables -t filter :FORWARD DROP"]),
    (["sh", "-c", "echo 3 >/proc/sys/net/ipv4/tcp_fastopen"],
     ["net.ipv4.tcp_fastopen left behind: 3", "net.ipv4.tcp_fastopen gone: 1"]),
    (["true"], []),
])
def test_change_in_a_namespace_thrown_away(command: list[str], leaks: list[str]) -> None:
    assert _in_new_namespace(command) == leaks

def test_own_thread_descriptor_socket_and_child() -> None:
    before = take_own_snapshot()
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait, name="stray")
    thread.start()
    reader, writer = os.pipe()
    with socket.socket() as left:
        child = subprocess.Popen(SLEEP, stdout=subprocess.DEVNULL)
        kinds = [leak.split(":")[0] for leak in find_own_leaks(before, patience_s=0)]
        assert left.fileno() > 0
    child.kill()
    child.wait()
    os.close(reader)
    os.close(writer)
    ended.set()
    thread.join()
    assert sorted(kinds) == ["child left behind", "descriptor left behind", "descriptor left behind",
                             "socket left behind", "thread left behind"]
    assert find_own_leaks(before, patience_s=0) == []


def _run_pytest(directory: Path, *tests: str) -> subprocess.CompletedProcess[str]:
    """Return what a pytest of its own, with this project's conftest.py, says of `tests`."""
    (directory / "tests").mkdir()
    (directory / "tests" / "conftest.py").symlink_to(ROOT / "tests" / "conftest.py")
    (directory / "tests" / "test_some.py").write_text("\n".join(tests))
    return subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-o", f"pythonpath={ROOT}",
                           "-o", "markers=chrome", directory / "tests"],
                          cwd=directory, capture_output=True, text=True, check=False,
                          env={**os.environ, "TFO_LAB_CHROME": sys.executable})


def test_failing_test_names_its_leak(tmp_path: Path) -> None:
    answer = _run_pytest(tmp_path, "import os, tempfile, pytest",
                         "@pytest.mark.chrome",
                         "def test_leaky():",
                         "    tempfile.mkdtemp(prefix='tfo-lab-forgotten-')",
                         "def test_leaky_in_itself():",
                         "    os.dup(0)")
    assert answer.returncode == 1, answer.stdout
    assert "file in TMPDIR left behind: tfo-lab-forgotten-" in answer.stdout
    assert "descriptor left behind: " in answer.stdout
