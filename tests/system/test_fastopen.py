"""The kernel on TCP Fast Open: its counters, and the scripts that show and set it."""

import os
from pathlib import Path

import pytest

from harness.bootstrap import ROOT
from harness.system.fastopen import COUNTERS, OF_ESTABLISHED, parse_netstat
from tests.support.ran import assert_refused, ran

NETSTAT = (Path(__file__).parent.parent / "data" / "netstat-6.18.txt").read_text()
"""Captured on Linux 6.18 in a fresh namespace after four TFO connections over loopback, the first without a cookie."""

SCRIPTS = ROOT / "tfo-test"
ENABLE, DISABLE, STATUS = (SCRIPTS / f"{name}_tfo.sh" for name in ("enable", "disable", "status"))
NOBODY = 65534


def test_of_a_real_file_what_we_do_not_know_shifts_nothing() -> None:
    values, kept = parse_netstat(NETSTAT), (*COUNTERS, *OF_ESTABLISHED)
    assert set(kept) <= values.keys()
    assert "InNoRoutes" not in values, "of IpExt"
    assert {name: values[name] for name in kept if values[name]} == {
        "TCPFastOpenActive": 3, "TCPFastOpenPassive": 3, "TCPFastOpenCookieReqd": 1}


@pytest.mark.root
@pytest.mark.parametrize(("set_it", "value", "on"), [
    (DISABLE, 0, []), ("true", 1, ["0x001"]), (ENABLE, 3, ["0x001", "0x002"]),
    ("echo 0x605 >/proc/sys/net/ipv4/tcp_fastopen", 0x605, ["0x001", "0x004", "0x200", "0x400"])])
def test_the_scripts_set_it_and_name_the_bits_that_are_on(set_it: object, value: int, on: list[str]) -> None:
    """In a network namespace of its own, where net.ipv4.tcp_fastopen starts with 1."""
    *changed, now, one, two, three, four, five = ran(
        "unshare", "--net", "bash", "-ec", f"{set_it}; {STATUS}", status=0).stdout.splitlines()
    assert changed == ([f"net.ipv4.tcp_fastopen: 1 -> {value}"] if set_it in (ENABLE, DISABLE) else [])
    assert now == f"net.ipv4.tcp_fastopen = {value} ({value:#x})"
    bits = [line.split()[:2] for line in (one, two, three, four, five)]
    assert [name for name, _ in bits] == ["0x001", "0x002", "0x004", "0x200", "0x400"]
    assert [name for name, state in bits if state == "on"] == on


@pytest.mark.parametrize("script", [ENABLE, DISABLE])
def test_the_others_refuse_without_root_in_one_line(script: Path) -> None:
    """Bash reads it from its input, because nobody may not enter every directory."""
    user = NOBODY if os.geteuid() == 0 else None
    answer = ran("bash", "-s", cwd="/", input=script.read_text(), user=user, group=user,
                 extra_groups=[] if user else None)
    assert_refused(answer)
    assert answer.stderr.startswith("root is needed")
