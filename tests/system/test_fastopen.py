"""The kernel on TCP Fast Open: its counters, from a real /proc/net/netstat, and its switch in each namespace."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import ExperimentError
from harness.system.fastopen import (
    COUNTERS,
    KEPT,
    OF_ESTABLISHED,
    OFF,
    ON,
    SYSCTL,
    difference,
    parse_netstat,
    set_fastopen,
    total,
)
from tests.support.ran import ran

NETSTAT = (Path(__file__).parent.parent / "data" / "netstat-6.18.txt").read_text()
"""Captured on Linux 6.18 in a fresh namespace after four TFO connections over loopback, the first without a cookie."""

counter_values = st.fixed_dictionaries({name: st.integers(0, 2**63) for name in KEPT})


def column(name: str) -> int:
    """Find a TcpExt counter in the fixture in another way than the parser does."""
    names, values = (line.split() for line in NETSTAT.splitlines() if line.startswith("TcpExt:"))
    return int(values[names.index(name)])


def test_a_real_file() -> None:
    values, kept = parse_netstat(NETSTAT), (*COUNTERS, *OF_ESTABLISHED)
    assert set(kept) <= values.keys()
    assert {name: values[name] for name in kept} == {name: column(name) for name in kept}
    assert {name: values[name] for name in kept if values[name]} == {
        "TCPFastOpenActive": 3, "TCPFastOpenPassive": 3, "TCPFastOpenCookieReqd": 1}


def test_unknown_columns_do_not_shift_the_others() -> None:
    text = "TcpExt: FromTheFuture TCPSynRetrans Another TCPTimeouts\nTcpExt: 7 1 8 2\n" + "New: A\nNew: 1\n"
    assert parse_netstat(text) == {"FromTheFuture": 7, "TCPSynRetrans": 1, "Another": 8, "TCPTimeouts": 2}


@settings(max_examples=40)
@given(before=counter_values, growth=counter_values)
def test_difference_is_the_growth(before: dict[str, int], growth: dict[str, int]) -> None:
    assert difference({name: before[name] + growth[name] for name in KEPT}, before) == growth


@settings(max_examples=40)
@given(hosts=st.lists(counter_values, max_size=5))
def test_total_adds_host_by_host(hosts: list[dict[str, int]]) -> None:
    assert total(hosts) == {name: sum(host[name] for host in hosts) for name in KEPT}


@pytest.fixture
def namespace() -> Iterator[int]:
    """Give the pid of a process in a fresh network namespace."""
    with subprocess.Popen(["unshare", "--net", "sh", "-c", "echo ready; exec sleep 60"], stdout=subprocess.PIPE,
                          text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process.pid
        process.kill()


@pytest.mark.root
def test_the_switch_is_the_namespaces_own(namespace: int) -> None:
    outside = SYSCTL.read_text()
    for value in (ON, OFF, ON):
        set_fastopen([namespace], value)
        shown = ran("nsenter", f"--net=/proc/{namespace}/ns/net", "cat", SYSCTL, status=0).stdout
        assert int(shown) == value
    assert SYSCTL.read_text() == outside


@pytest.mark.root
def test_a_switch_that_does_not_take_is_an_error(namespace: int, tmp_path: Path,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    class Stubborn:
        def write_text(self, _text: str) -> None: ...

        def read_text(self) -> str:
            return "1\n"

    monkeypatch.setattr("harness.system.fastopen.SYSCTL", Stubborn())
    with pytest.raises(ExperimentError, match="is 1 instead of 3 in the namespace of"):
        set_fastopen([namespace], ON)
