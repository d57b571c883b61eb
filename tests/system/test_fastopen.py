"""The kernel on TCP Fast Open: its counters, its switch in each namespace, and the scripts that show and set it."""

import os
import subprocess
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from harness.system.fastopen import (
    COUNTERS,
    OF_ESTABLISHED,
    OFF,
    ON,
    SYSCTL,
    parse_netstat,
    set_fastopen,
)
from tests.support.namespaces import own_namespace
from tests.support.ran import assert_refused, ran

NETSTAT = (Path(__file__).parent.parent / "data" / "netstat-6.18.txt").read_text()
"""Captured on Linux 6.18 in a fresh namespace after four TFO connections over loopback, the first without a cookie."""

SCRIPTS = ROOT / "tfo-test"
ENABLE, DISABLE, STATUS = (SCRIPTS / f"{name}_tfo.sh" for name in ("enable", "disable", "status"))
NOBODY = 65534


def test_a_real_file() -> None:
    values, kept = parse_netstat(NETSTAT), (*COUNTERS, *OF_ESTABLISHED)
    assert set(kept) <= values.keys()
    assert {name: values[name] for name in kept if values[name]} == {
        "TCPFastOpenActive": 3, "TCPFastOpenPassive": 3, "TCPFastOpenCookieReqd": 1}


def test_unknown_columns_do_not_shift_the_others() -> None:
    text = "TcpExt: FromTheFuture TCPSynRetrans Another TCPTimeouts\nTcpExt: 7 1 8 2\n" + "New: A\nNew: 1\n"
    assert parse_netstat(text) == {"FromTheFuture": 7, "TCPSynRetrans": 1, "Another": 8, "TCPTimeouts": 2}


@pytest.mark.root
def test_the_switch_is_the_namespaces_own() -> None:
    outside = SYSCTL.read_text()
    with own_namespace() as namespace:
        for value in (ON, OFF, ON):
            set_fastopen([namespace], value)
            shown = ran("nsenter", f"--net=/proc/{namespace}/ns/net", "cat", SYSCTL, status=0).stdout
            assert int(shown) == value
    assert SYSCTL.read_text() == outside


def _in_new_namespace(command: str) -> str:
    """Return what a shell prints in a network namespace of its own, where net.ipv4.tcp_fastopen starts with 1."""
    return subprocess.run(["unshare", "--net", "bash", "-ec", command], stdout=subprocess.PIPE, text=True,
                          check=True).stdout


@pytest.mark.root
def test_enable_and_disable_set_the_kernel() -> None:
    value = "cat /proc/sys/net/ipv4/tcp_fastopen"
    assert _in_new_namespace(f"{ENABLE}; {value}; {DISABLE}; {value}") == (
        "net.ipv4.tcp_fastopen: 1 -> 3\n3\n"
        "net.ipv4.tcp_fastopen: 3 -> 0\n0\n")


@pytest.mark.root
@pytest.mark.parametrize(("value", "on"), [
    (0, []), (1, ["0x001"]), (3, ["0x001", "0x002"]), (0x605, ["0x001", "0x004", "0x200", "0x400"]),
])
def test_status_names_the_bits_that_are_on(value: int, on: list[str]) -> None:
    lines = _in_new_namespace(f"echo {value} >/proc/sys/net/ipv4/tcp_fastopen; {STATUS}").splitlines()
    assert lines[0] == f"net.ipv4.tcp_fastopen = {value} ({value:#x})"
    assert [line.split()[0] for line in lines[1:] if line.split()[1] == "on"] == on
    assert [line.split()[0] for line in lines[1:]] == ["0x001", "0x002", "0x004", "0x200", "0x400"]


@pytest.mark.parametrize("script", [ENABLE, DISABLE])
def test_the_others_refuse_without_root_in_one_line(script: Path) -> None:
    """Bash reads it from its input, because nobody may not enter every directory."""
    user = NOBODY if os.geteuid() == 0 else None
    answer = ran("bash", "-s", cwd="/", input=script.read_text(), user=user, group=user,
                 extra_groups=[] if user else None)
    assert_refused(answer)
    assert answer.stderr.startswith("root is needed")
