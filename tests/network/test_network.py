"""The network does what it says, by this kernel's netem or else by the delay line."""

import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import pytest

from harness.network.links import delaying
from harness.network.needs import kernel_has_netem
from harness.network.nodes import running_star
from harness.network.rtt import check_rtts, measure_rtts
from harness.network.star import Host, LinkSpeeds, Star
from harness.system.namespaces import inside

pytestmark = [pytest.mark.root, pytest.mark.timing]

HOSTS = [f"host{number}.test" for number in range(2)]
PACKET_BYTES, HEADER_BYTES = 1442, 42
"""Of a datagram as the queues count it: headers of Ethernet, IP and UDP are among them."""
SO_SNDBUFFORCE = 32
"""asm-generic/socket.h; Python has no name for it."""
FULL_AFTER_S, EMPTY_AFTER_S = 0.05, 1.5
"""A burst is under way by then, and over by then."""
PORT = 8000
NETEM = kernel_has_netem()
"""So it is in User-mode Linux, where tests/network/test_uml.py runs one of these tests."""


@contextmanager
def running_network(hosts: list[str], speeds: LinkSpeeds) -> Iterator[Star]:
    """Run a star as tfo.py does."""
    with running_star(hosts, speeds, netem=NETEM) as running, delaying(running, netem=NETEM) as delay:
        delay.change(speeds)
        yield running


def test_every_server_has_its_own_rtt_and_each_is_changed_in_place() -> None:
    """As with --rtt recorded and several --delays. One of them is as near as the network itself lets it be."""
    own_ms = {"near.test": 5.0, "far.test": 60.0, "here.test": 0.0}
    names = [*own_ms, "other.test"]
    links = LinkSpeeds(delay_net_ms=20)
    with running_star(names, links, netem=NETEM) as star, delaying(star, netem=NETEM) as delay:
        for speeds, rtts_ms in [
                (links, dict.fromkeys(names, 40.0)),
                (replace(links, delay_net_ms=100), dict.fromkeys(names, 200.0)),
                (replace(links, own_delays_ms=own_ms),
                 {"near.test": 10.0, "far.test": 120.0, "here.test": 0.0, "other.test": 40.0}),
                (links, dict.fromkeys(names, 40.0))]:
            delay.change(speeds)
            check_rtts(measure_rtts(star, PORT, samples=9), rtts_ms)
            delay.check()


def send_burst(sender: Host, receiver: Host, packets: int) -> None:
    """Send datagrams, as fast as they can leave; what finds no room is lost, and the sender does not notice."""
    with inside(sender.pid):
        sending = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with sending:
        sending.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, packets * 4096)
        for _ in range(packets):
            sending.sendto(bytes(PACKET_BYTES - HEADER_BYTES), (receiver.address, PORT))


def test_rate_is_within_five_percent_and_both_links_delay() -> None:
    """What HTB lets through at once, 15 kB, is little beside so many packets."""
    packets, speeds = 800, LinkSpeeds(bw_net_mbit=4, delay_home_ms=20, delay_net_ms=80)
    with running_network(HOSTS, speeds) as star, ThreadPoolExecutor(1) as pool:
        check_rtts(measure_rtts(star, PORT, samples=9), dict.fromkeys(HOSTS, 200.0))
        with inside(star.user.pid):
            receiving = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with receiving:
            receiving.bind((star.user.address, PORT))
            pool.submit(send_burst, star.servers[HOSTS[0]], star.user, packets)
            arrived_s = [(receiving.recv(2**16), time.monotonic())[1] for _ in range(packets)]
    rate_mbit = (packets - 1) * PACKET_BYTES * 8 / (arrived_s[-1] - arrived_s[0]) / 1e6
    assert rate_mbit == pytest.approx(4, rel=0.05)


def test_the_clients_own_link_has_its_rates_and_its_buffer() -> None:
    """The paper's, but four times as fast up: 4 and 1 Mbit/s, 128 kB before each. What fills them makes all wait."""
    buffer_kb = 128
    speeds = LinkSpeeds(bw_home_mbit=4, bw_home_up_mbit=1, buffer_kb=buffer_kb, bw_net_mbit=1000, delay_net_ms=20)
    with running_network(HOSTS, speeds) as star:
        idle_ms = measure_rtts(star, PORT)[HOSTS[0]]
        filled_ms = {}
        for way, sender, receiver in (("down", star.servers[HOSTS[1]], star.user),
                                      ("up", star.user, star.servers[HOSTS[1]])):
            send_burst(sender, receiver, round(2 * buffer_kb * 1000 / PACKET_BYTES))
            time.sleep(FULL_AFTER_S)
            filled_ms[way] = measure_rtts(star, PORT, samples=1)[HOSTS[0]]
            time.sleep(EMPTY_AFTER_S)
    print(f"RTT {idle_ms:.1f} ms idle, {filled_ms['down']:.0f} ms with a full buffer down, {filled_ms['up']:.0f} ms up")
    assert idle_ms == pytest.approx(speeds.rtt_ms, abs=3)
    for way, rate_mbit in (("down", 4), ("up", 1)):
        whole_ms = buffer_kb * 8 / rate_mbit
        left_ms = whole_ms - FULL_AFTER_S * 1000            # or more, where the burst began late
        assert 0.8 * left_ms < filled_ms[way] - idle_ms < 1.1 * whole_ms, f"what is left of 128 kB {way} goes first"


@pytest.mark.slow
def test_whole_star_comes_and_goes() -> None:
    """84 hosts, as many as the four pages of 2013 had. The leak detectors look at what is left."""
    with running_star([f"host{number}.test" for number in range(84)], LinkSpeeds(delay_net_ms=1), NETEM) as whole:
        assert len(set(whole.pids)) == 85
