"""TCP Fast Open in the kernel: scripts that show and set it, its counters; a network namespace without root."""

import os
import sys
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from harness.system.fastopen import COUNTERS, OF_ESTABLISHED, parse_netstat
from tests.support.ordinary import AS_ORDINARY, ORDINARY
from tests.support.ran import assert_refused, ran

SCRIPTS = ROOT / "tfo-test"
ENABLE, DISABLE, STATUS = (SCRIPTS / f"{name}_tfo.sh" for name in ("enable", "disable", "status"))
NOBODY = 65534


def test_this_kernel_has_all_counters_that_are_kept() -> None:
    """Of one that it has not, 0 is kept."""
    assert {*COUNTERS, *OF_ESTABLISHED} <= parse_netstat(Path("/proc/net/netstat").read_text()).keys()
    assert "RcvbufErrors" in parse_netstat(Path("/proc/net/snmp").read_text(), "Udp:")


@pytest.mark.root
@pytest.mark.parametrize(("set_it", "value", "on"), [
    (DISABLE, 0, []), (ENABLE, 3, ["0x001", "0x002"]),
    ("echo 0x605 >/proc/sys/net/ipv4/tcp_fastopen", 0x605, ["0x001", "0x004", "0x200", "0x400"])])
def test_the_scripts_set_it_and_name_the_bits_that_are_on(set_it: object, value: int, on: list[str]) -> None:
    """In a network namespace of its own, where net.ipv4.tcp_fastopen starts with 1."""
    *changed, now, one, two, three, four, five = ran(
        "unshare", "--net", "bash", "-ec", f"{set_it}; {STATUS}", status=0).stdout.splitlines()
    assert changed == ([f"net.ipv4.tcp_fastopen: 1 -> {value}"] if set_it in (ENABLE, DISABLE) else [])
    assert now == f"net.ipv4.tcp_fastopen = {value} ({value:#x})"
    states = dict(line.split()[:2] for line in (one, two, three, four, five))
    assert [*states] == ["0x001", "0x002", "0x004", "0x200", "0x400"]
    assert [name for name, state in states.items() if state == "on"] == on


@pytest.mark.parametrize("script", [ENABLE, DISABLE])
def test_the_others_refuse_without_root_in_one_line(script: Path) -> None:
    """Bash reads it from its input, because nobody may not enter every directory."""
    user = NOBODY if os.geteuid() == 0 else None
    answer = ran("bash", "-s", cwd="/", input=script.read_text(), user=user, group=user,
                 extra_groups=[] if user else None)
    assert_refused(answer)
    assert answer.stderr.startswith("root is needed")


PROGRAM = """
import os, subprocess, sys
sys.path.insert(0, sys.argv[1])
from harness.system.fastopen import enter_own_network, set_fastopen
why = enter_own_network()
print("why", why)
if not why:
    set_fastopen([os.getpid()], 3)
    set_fastopen([os.getpid()], 0)
    print("uid", os.geteuid())
    links = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True).stdout.split()
    print(links[1], links[links.index("mtu") + 1])
    status = subprocess.run(["grep", "CapEff", "/proc/self/status"], capture_output=True, text=True).stdout.split()
    print("children", int(status[1], 16))
"""


@pytest.fixture
def script(open_to_all: Path) -> Path:
    path = open_to_all / "program.py"
    path.write_text(PROGRAM)
    return path


@pytest.mark.root
def test_an_ordinary_user_switches_tfo_there_and_its_programs_have_no_rights(script: Path) -> None:
    if ran(*AS_ORDINARY, "unshare", "--user", "--net", "true").returncode != 0:
        pytest.skip("this system gives ordinary users no namespace of their own")
    said = ran(*AS_ORDINARY, sys.executable, script, ROOT, status=0).stdout
    assert said.splitlines() == ["why ", f"uid {ORDINARY.uid}", "lo: 1500", "children 0"]


def test_where_none_can_be_had_it_says_why(script: Path, tmp_path: Path) -> None:
    refusing = tmp_path / "unshare"
    refusing.write_text("#!/bin/sh\necho 'unshare: unshare failed: Operation not permitted' >&2\nexit 1\n")
    refusing.chmod(0o755)
    path = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    said = ran(sys.executable, script, ROOT, status=0, env=path).stdout
    assert said == "why unshare: unshare failed: Operation not permitted\n"
