"""The star itself: its delay, its rate, one round trip saved per connection, and nothing left of it."""

import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from harness import fastopen
from harness.errors import ExperimentError, InputError
from harness.links import check_qdiscs, delayed_links, kernel_has_netem
from harness.netns import inside
from harness.privileges import invoking_user
from harness.processes import descendants
from harness.rtt import check_rtts, measure_rtts
from harness.servers import ServerSettings, running_servers
from harness.star import BRIDGE_PORTS, Host, LinkSpeeds, Star, running_star
from tests.small_mirror import one_document

pytestmark = pytest.mark.root

RTT_TOLERANCE = 0.02  # share of the nominal RTT, plus 1 ms: the program's own rule
SAVING_TOLERANCE = 0.03  # share of one RTT
RATE_TOLERANCE = 0.05
TCP_FASTOPEN_CONNECT = 30
PORT = 8000


@contextmanager
def small_star(hosts: int, delay_ms: float, **speeds: float) -> Iterator[tuple[Star, LinkSpeeds]]:
    links = LinkSpeeds(delay_net_ms=delay_ms, **speeds)
    netem = kernel_has_netem()
    with ExitStack() as stack:
        star = stack.enter_context(running_star([f"host{number}.test" for number in range(hosts)], links, netem))
        stack.enter_context(delayed_links(star, links, netem))
        yield star, links


def fetch_ms(server: Host, path: str = "/") -> float:
    """One request over one new connection, from connect() to the last byte."""
    began = time.perf_counter()
    with socket.socket() as client:
        client.settimeout(10)
        try:
            client.setsockopt(socket.IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 1)
        except OSError:
            pass  # refused where TFO is off, as in Chrome's shim
        client.connect((server.address, PORT))
        client.sendall(f"GET {path} HTTP/1.0\r\nHost: one.test\r\n\r\n".encode())
        while client.recv(65536):
            pass
    return (time.perf_counter() - began) * 1000


@pytest.mark.parametrize("delay_ms", [10, 50, 100])
def test_rtt_is_the_nominal_one(delay_ms: float) -> None:
    with small_star(3, delay_ms) as (star, links):
        measured = measure_rtts(star, PORT, samples=7)
    print(f"expected {links.rtt_ms} ms, measured {measured}, bound {RTT_TOLERANCE:.0%} + 1 ms")
    check_rtts(measured, links.rtt_ms)


def test_wrong_rtt_ends_the_run() -> None:
    with small_star(2, delay_ms=10) as (star, _):
        measured = measure_rtts(star, PORT)
    with pytest.raises(ExperimentError, match=r"RTT to host0\.test is 2"):
        check_rtts(measured, nominal_ms=40)


def test_delays_of_both_links_add_up() -> None:
    with small_star(1, delay_ms=20, delay_home_ms=15) as (star, links):
        assert links.rtt_ms == 70
        check_rtts(measure_rtts(star, PORT), 70)


def test_rate_is_the_nominal_one() -> None:
    """A bulk transfer from one server takes bytes / bw_net_mbit."""
    bw_mbit, size = 4.0, 1_000_000
    sender = ("import socket,sys; s=socket.create_server(('', 8000)); print('ready', flush=True); c,_=s.accept();"
              f"c.sendall(bytes({size})); c.close()")
    with small_star(1, delay_ms=5, bw_net_mbit=bw_mbit) as (star, _):
        server = next(iter(star.servers.values()))
        with inside(server.pid):
            process = subprocess.Popen([sys.executable, "-c", sender], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        with inside(star.user.pid), socket.create_connection((server.address, PORT), timeout=10) as client:
            arrivals = receive_all(client)
        process.communicate(timeout=5)
    # The first part of a transfer is slow start and HTB's burst: the rate is that of the second half.
    half = next(index for index, (_, received) in enumerate(arrivals) if received >= size / 2)
    (begin_s, begin_bytes), (end_s, end_bytes) = arrivals[half], arrivals[-1]
    measured_mbit = (end_bytes - begin_bytes) * 8 / (end_s - begin_s) / 1e6
    payload_share = 1448 / 1514  # TCP payload of a full frame with timestamps
    expected_mbit = bw_mbit * payload_share
    assert measured_mbit == pytest.approx(expected_mbit, rel=RATE_TOLERANCE)


def receive_all(client: socket.socket) -> list[tuple[float, int]]:
    arrivals, received = [], 0
    while chunk := client.recv(65536):
        received += len(chunk)
        arrivals.append((time.perf_counter(), received))
    return arrivals


@pytest.mark.parametrize("delay_ms", [10, 50, 100])
def test_fastopen_saves_one_rtt_per_new_connection(delay_ms: float, tmp_path: Path) -> None:
    """Theory (RFC 7413): connect, request, answer take 2 RTTs; with data in the SYN they take 1."""
    base = one_document(tmp_path)
    links, netem = LinkSpeeds(delay_net_ms=delay_ms), kernel_has_netem()
    with ExitStack() as stack:
        star = stack.enter_context(running_star(["one.test"], links, netem))
        stack.enter_context(delayed_links(star, links, netem))
        settings = ServerSettings(base / "small", base / "small.fetchlog", PORT, "1.0", "threaded",
                                  tmp_path / "serverlogs", delay_ms, invoking_user())
        stack.enter_context(running_servers(star, settings, tmp_path))
        times_ms, counters = interleaved_fetches(star, rounds=9)
    saving_ms = statistics.median(times_ms[0]) - statistics.median(times_ms[1])
    print(f"RTT {links.rtt_ms} ms: off {times_ms[0]}, on {times_ms[1]}, saving {saving_ms:.2f} ms")
    assert counters[0]["TCPFastOpenPassive"] == 0
    assert counters[1]["TCPFastOpenPassive"] == 9
    assert saving_ms == pytest.approx(links.rtt_ms, rel=SAVING_TOLERANCE), (
        f"TFO must save one RTT ({links.rtt_ms} ms +- {SAVING_TOLERANCE:.0%}), it saved {saving_ms:.2f} ms")


def interleaved_fetches(star: Star, rounds: int) -> tuple[dict[int, list[float]], dict[int, dict[str, int]]]:
    server = next(iter(star.servers.values()))
    times_ms: dict[int, list[float]] = {0: [], 1: []}
    counters: dict[int, dict[str, int]] = {}
    fastopen.set_fastopen(star.pids, fastopen.ON)
    with inside(star.user.pid):
        fetch_ms(server)  # for the cookie
    start = fastopen.read_counters(server.pid)
    for tfo in [0, 1] * rounds:
        fastopen.set_fastopen(star.pids, fastopen.ON if tfo else fastopen.OFF)
        before = fastopen.read_counters(server.pid)
        with inside(star.user.pid):
            times_ms[tfo].append(fetch_ms(server))
        grown = fastopen.difference(fastopen.read_counters(server.pid), before)
        counters[tfo] = fastopen.total([counters.get(tfo, dict.fromkeys(start, 0)), grown])
    return times_ms, counters


def test_whole_star_comes_and_goes() -> None:
    """84 hosts, as many as the four pages of 2013 had. The leak detectors look at what is left."""
    with small_star(84, delay_ms=1) as (star, _):
        assert len(star.servers) == 84
        assert len(set(star.pids)) == 85
        pids = star.pids
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]


def test_star_is_invisible_outside() -> None:
    """No interface of the star stands in the machine's own namespace, so nothing can collide or stay there."""
    before = json.loads(subprocess.check_output(["ip", "-j", "link"]))
    with small_star(3, delay_ms=1):
        during = json.loads(subprocess.check_output(["ip", "-j", "link"]))
    assert [link["ifname"] for link in during] == [link["ifname"] for link in before]


def test_a_rate_that_tc_did_not_set_is_noticed() -> None:
    links = LinkSpeeds(delay_net_ms=0)
    with running_star(["one.test"], links, netem=False) as star:
        check_qdiscs(star, links, netem=False)
        with inside(star.servers["one.test"].pid):
            subprocess.run(["tc", "qdisc", "del", "dev", "server0-eth0", "root"], check=True)
        with pytest.raises(ExperimentError, match=r"server0: tc gives \[\] Mbit/s"):
            check_qdiscs(star, links, netem=False)


def test_too_many_hosts_are_refused() -> None:
    with pytest.raises(InputError, match="one bridge has room"):
        with running_star([str(number) for number in range(BRIDGE_PORTS)], LinkSpeeds(), netem=False):
            pass


def test_fastopen_off_and_on_reach_every_host() -> None:
    with small_star(3, delay_ms=1) as (star, _):
        for value in (fastopen.OFF, fastopen.ON):
            fastopen.set_fastopen(star.pids, value)
            for pid in star.pids:
                with inside(pid):
                    assert int(fastopen.SYSCTL.read_text()) == value


def test_packets_are_dropped_when_the_delay_line_dies() -> None:
    """An experiment without its delay must fail, not look fast."""
    if kernel_has_netem():
        pytest.skip("this kernel delays packets itself")
    with small_star(1, delay_ms=10) as (star, _):
        [pid] = [pid for pid in descendants(os.getpid())
                 if b"tfo-test/delay_line.py" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(ExperimentError, match="did not answer"):
            measure_rtts(star, PORT, samples=1)
