"""The leak detectors themselves: each finds its kind of leak, names it, and is content when it is gone."""

import ctypes
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.leaks import find_leaks, take_snapshot

CLONE_NEWNET = 0x40000000
SLEEP = [sys.executable, "-c", "import time; print(flush=True); time.sleep(60)"]


@pytest.fixture
def scratch() -> Path:
    """Return the session's temporary directory, which conftest.py makes."""
    return Path(os.environ["TMPDIR"])


def _run(*command: str) -> None:
    subprocess.run(command, check=True, timeout=10)


def _in_new_namespace(command: list[str]) -> list[str]:
    """Return the leaks of a Python that runs `command` in a network namespace of its own."""
    program = f"""
import subprocess, sys
from pathlib import Path
from tests.leaks import find_leaks, take_snapshot
scratch = Path({os.environ["TMPDIR"]!r})
before = take_snapshot(scratch)
subprocess.run({command!r}, check=True)
for leak in find_leaks(before, scratch, patience_s=0):
    print(leak)
"""
    root = Path(__file__).resolve().parent.parent
    answer = subprocess.run(["unshare", "--net", sys.executable, "-c", program], cwd=root, capture_output=True,
                            text=True, check=True, timeout=20)
    return answer.stdout.splitlines()


def test_nothing_done_is_no_leak(scratch: Path) -> None:
    assert find_leaks(take_snapshot(scratch), scratch) == []


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


def test_orphan_that_left_our_session(scratch: Path) -> None:
    before = take_snapshot(scratch)
    # The shell ends at once, so the sleep is no descendant of ours any more; its TMPDIR gives it away.
    answer = subprocess.run(["sh", "-c", "setsid sleep 61 >/dev/null 2>&1 & echo $!"], stdout=subprocess.PIPE,
                            text=True, check=True, timeout=5)
    pid = int(answer.stdout)
    try:
        (leak,) = find_leaks(before, scratch, patience_s=0)
        assert str(pid) in leak
    finally:
        os.kill(pid, 9)
    assert find_leaks(before, scratch) == []


def test_process_that_ends_in_time_is_no_leak(scratch: Path) -> None:
    before = take_snapshot(scratch)
    child = subprocess.Popen(["sleep", "0.2"])
    assert find_leaks(before, scratch) == []
    assert child.wait(timeout=5) == 0


def test_temporary_file(scratch: Path) -> None:
    before = take_snapshot(scratch)
    with tempfile.TemporaryDirectory(prefix="tfo-lab-") as name:
        assert find_leaks(before, scratch, patience_s=0) == [f"file in TMPDIR left behind: {Path(name).name}"]
    assert find_leaks(before, scratch, patience_s=0) == []


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


@pytest.mark.timing
def test_detector_is_cheap(scratch: Path) -> None:
    """A test pays for two snapshots, 30 ms at most. The best of ten, because others use the machine too."""
    times_ms = []
    for _ in range(10):
        start_s = time.perf_counter()
        find_leaks(take_snapshot(scratch), scratch)
        times_ms.append((time.perf_counter() - start_s) * 1000)
    assert min(times_ms) < 30, f"two snapshots took {times_ms} ms"


def test_failing_test_names_its_leak(tmp_path: Path) -> None:
    """Run pytest on a test that leaks: the report must name the leak."""
    root = Path(__file__).resolve().parent.parent
    (tmp_path / "tests").mkdir()
    for name in ("conftest.py", "leaks.py"):
        (tmp_path / "tests" / name).symlink_to(root / "tests" / name)
    (tmp_path / "tests" / "test_leaky.py").write_text(
        "import tempfile, pytest\n"
        "@pytest.mark.chrome\n"
        "def test_leaky():\n"
        "    tempfile.mkdtemp(prefix='tfo-lab-forgotten-')\n")
    answer = subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-o", f"pythonpath={root}",
                             "-o", "markers=chrome", tmp_path / "tests"],
                            cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60,
                            env={**os.environ, "TFO_LAB_CHROME": sys.executable})
    assert answer.returncode == 1, answer.stdout
    assert "file in TMPDIR left behind: tfo-lab-forgotten-" in answer.stdout
