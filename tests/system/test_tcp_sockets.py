"""What is under way on TCP connections, and waiting for servers to close what a load left open."""

import itertools
import os
import socket
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from harness.bootstrap import ROOT
from harness.system.tcp import open_sockets, parse_ss, wait_for_close
from tests.support.noted import each_case
from tests.support.ran import ran


@each_case("system/sockets.jsonl")
def test_what_waits(case: dict[str, Any]) -> None:
    """As ss prints a socket."""
    assert any(each.waits() for each in parse_ss(case["said"])) == case["waits"]


PROBE = r"""
import socket, time
from harness.system.processes import run
from harness.system.tcp import under_way
for command in ("ip link set lo up", "ip addr add 10.9.9.1/24 dev lo", "ip link add v0 type veth peer name v1",
                "ip link set v0 up", "ip link set v1 up", "ip addr add 10.7.7.1/24 dev v0",
                "ip neigh add 10.7.7.2 lladdr 02:00:00:00:00:01 dev v0 nud permanent"):
    run(command.split(), "making a network")
def look():
    time.sleep(0.05)
    said.append(under_way())
said = [under_way()]
listener = socket.create_server(("10.9.9.1", 8000))
client = socket.create_connection(("10.9.9.1", 8000))
server, _ = listener.accept()
look()                              # nothing was sent
client.sendall(b"GET / HTTP/1.0\r\n\r\n")
look()                              # no answer yet
server.sendall(b"HTTP/1.0 200 OK\r\n\r\n")
server.close()
look()
lost = socket.socket()
lost.setblocking(False)
lost.connect_ex(("10.7.7.2", 80))   # nobody is there: its SYN is lost
look()
print(said)
"""


@pytest.mark.root
def test_the_kernel_tells_of_requests_without_an_answer_and_of_lost_syns() -> None:
    """In a network namespace of its own. Its address on lo is no loopback address, so it counts."""
    done = ran("unshare", "--net", sys.executable, "-c", PROBE, cwd=ROOT)
    assert done.stdout == "[False, False, True, False, True]\n", done.stderr


def test_open_connections_are_counted() -> None:
    """A listener and both ends of its connection, whatever else there is on this machine."""
    with socket.create_server(("127.0.0.1", 0)) as listener, \
            socket.create_connection(listener.getsockname()), listener.accept()[0]:
        assert open_sockets([os.getpid()]) >= 3
        assert open_sockets([os.getpid()] * 2) >= 6
    assert open_sockets([]) == 0


def test_it_waits_until_no_more_are_open_than_before_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    counts, seconds = iter((5, 4, 3, 2, 2)), itertools.count()
    monkeypatch.setattr("harness.system.tcp.time",
                        SimpleNamespace(monotonic=lambda: next(seconds), sleep=lambda _s: None))
    assert wait_for_close(lambda: next(counts), 2, rtt_ms=1000)
    assert (list(counts), next(seconds)) == ([2], 4), "it asks no more than it must"
    assert not wait_for_close(lambda: 3, 2, rtt_ms=1000)
    assert next(seconds) == 11, "after more than 2 s and 2 RTTs of 1 s: asked at 6, 7, 8, 9 and 10"
