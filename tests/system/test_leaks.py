"""The leak detectors fail a test that leaves something behind, and name what; one row for each kind on the machine."""

import os
import sys
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from tests.support.ran import ran

CHANGES = {
    "ip link add tfo-a type veth peer name tfo-b": ["interface left behind: tfo-a", "interface left behind: tfo-b"],
    "iptables -t mangle -A PREROUTING -i lo -j ACCEPT":
        ["iptables rule left behind: iptables -t mangle -A PREROUTING -i lo -j ACCEPT"],
    "ip6tables -P FORWARD DROP": ["iptables rule left behind: ip6tables -t filter :FORWARD DROP"],
    "echo 3 >/proc/sys/net/ipv4/tcp_fastopen":
        ["net.ipv4.tcp_fastopen left behind: 3", "net.ipv4.tcp_fastopen gone: 1"],
    "true": []}
"""Commands that change the machine, and what is found of them."""


@pytest.mark.root
def test_changes_in_a_namespace_thrown_away() -> None:
    program = f"""
import subprocess
from pathlib import Path
from tests.support.leaks import find_leaks, take_snapshot
scratch = Path({os.environ["TMPDIR"]!r})
for command in {[*CHANGES]}:
    before = take_snapshot(scratch)
    subprocess.run(command, shell=True, check=True)
    print(find_leaks(before, lambda: take_snapshot(scratch), -1))
"""
    answer = ran("unshare", "--net", sys.executable, "-c", program, status=0, cwd=ROOT)
    assert answer.stdout.splitlines() == [*map(str, CHANGES.values())]


def test_failing_test_names_its_leak(tmp_path: Path) -> None:
    """An orphan of another session is found by its TMPDIR."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "conftest.py").symlink_to(ROOT / "tests" / "conftest.py")
    (tmp_path / "tests" / "test_some.py").write_text(
        "import os, socket, subprocess, tempfile, threading, time, pytest\n"
        "LEFT = []\n"
        "@pytest.mark.chrome\n"
        "def test_leaky():\n"
        "    tempfile.mkdtemp(prefix='tfo-lab-forgotten-')\n"
        "    subprocess.run(['sh', '-c', 'setsid sleep 9 >/dev/null 2>&1 & sleep 0.2'])\n"
        "def test_leaky_in_itself():\n"
        "    os.open(os.devnull, os.O_RDONLY)\n"
        "    threading.Thread(target=time.sleep, args=[60], daemon=True).start()\n"
        "    LEFT.extend([socket.socket(), subprocess.Popen(['sleep', '9'])])\n")
    answer = ran(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-o", f"pythonpath={ROOT}", "-o",
                 "markers=chrome", tmp_path / "tests", status=1, cwd=tmp_path,
                 env={**os.environ, "TFO_LAB_CHROME": sys.executable, "TFO_LAB_LEAKS_MAY_TAKE_S": "0.3"})
    for kind in ("file in TMPDIR", "process", "descriptor", "thread", "child"):
        assert f"{kind} left behind: " in answer.stdout
    assert " -> socket:" in answer.stdout
