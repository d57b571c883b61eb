"""The star itself: what it does not let pass, and that nobody outside sees it. test_network.py measures it."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from harness.errors import InputError
from harness.network.nodes import MOST_AT_ONCE, running_star
from harness.network.star import BRIDGE_PORTS, LinkEnd, LinkSpeeds, check_host_count
from harness.system.namespaces import inside
from tests.support.ran import ran

pytestmark = pytest.mark.root


@pytest.mark.parametrize(("bw_mbit", "delay_ms", "packets"), [(4, 10, 1004), (1000, 100, 9257)])
def test_netem_has_room_for_what_is_under_way(bw_mbit: float, delay_ms: float, packets: int) -> None:
    """1000 packets, and those of the link's rate times its delay: 100 ms of 1000 Mbit/s are 8256.3 frames."""
    assert LinkEnd(bw_mbit, delay_ms).netem_qdisc().endswith(f"netem delay {delay_ms}ms limit {packets}")


def test_hosts_know_no_limit_to_idle_shells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Root's login may export TMOUT (`sudo -i`, `su -`): bash then ended the hosts in the middle of an experiment."""
    monkeypatch.setenv("TMOUT", "1")
    with running_star(["one.test"], LinkSpeeds(delay_net_ms=0), netem=False) as star:
        for pid in (star.switch_pid, *star.pids):
            assert b"TMOUT" not in Path(f"/proc/{pid}/environ").read_bytes()


def test_no_packet_is_the_switchs_own_nor_larger_than_two() -> None:
    """A report of IGMP's came in one load of forty; 64 kB at once are silence for up to 130 ms."""
    with running_star(["one.test"], LinkSpeeds(delay_net_ms=0), netem=False) as star:
        def link(pid: int, name: str) -> Any:
            with inside(pid):
                return json.loads(ran("ip", "-d", "-j", "link", "show", "dev", name, status=0).stdout)[0]

        assert link(star.switch_pid, "s0")["linkinfo"]["info_data"]["mcast_snooping"] == 0
        for host in (star.user, *star.servers.values()):
            assert link(host.pid, host.interface)["gso_max_segs"] == MOST_AT_ONCE


def test_loggers_of_others_are_not_mininets() -> None:
    """warcio's warnings came twice, without line ends: GitHub beauseant/readWriteWarc, test.warc.gz."""
    assert type(logging.getLogger("of-others")) is logging.Logger


def test_too_many_hosts_are_refused() -> None:
    with pytest.raises(InputError):
        check_host_count([str(number) for number in range(BRIDGE_PORTS)])
    with pytest.raises(InputError), running_star([str(number) for number in range(BRIDGE_PORTS)], LinkSpeeds(), False):
        pytest.fail("built")
