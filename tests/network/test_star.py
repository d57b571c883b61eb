"""The star itself: what it does not let pass, and that nobody outside sees it. test_network.py measures it."""

import logging
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.network.nodes import running_star
from harness.network.star import BRIDGE_PORTS, LinkEnd, LinkSpeeds, check_host_count

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


def test_loggers_of_others_are_not_mininets() -> None:
    """warcio's warnings came twice, without line ends: GitHub beauseant/readWriteWarc, test.warc.gz."""
    assert type(logging.getLogger("of-others")) is logging.Logger


def test_too_many_hosts_are_refused() -> None:
    with pytest.raises(InputError):
        check_host_count([str(number) for number in range(BRIDGE_PORTS)])
