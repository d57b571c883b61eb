"""Which servers get the bytes that connie sends in the SYN, in a network namespace of its own where TFO is on."""

import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from connie import connie_connect
from connie.http import ConnieHTTPConnection
from harness.system.fastopen import OFF, ON, read_counters, set_fastopen
from harness.system.namespaces import inside
from tests.support.connie_hosts import WAIT_S, Connect, Names, connect_in_a_loop, listening, names, same_descriptors

__all__ = ["names"]

pytestmark = [pytest.mark.root]

REQUEST = b"GET / HTTP/1.0\r\n\r\n"


class Servers:
    """Two servers of one name, which accept TFO, in a namespace of which this thread is part."""

    def __init__(self, pid: int, listeners: list[socket.socket]) -> None:
        self.pid = pid
        self.listeners = listeners

    def got(self) -> list[bytes]:
        """Return what each was sent in the connection waiting to be accepted, until its client closed it.

        Nothing where no connection came: a race that another server has won at once need not ask this one.
        """
        answers = []
        for listener in self.listeners:
            try:
                peer, _ = listener.accept()
            except TimeoutError:
                answers.append(b"")
                continue
            with peer:
                peer.settimeout(WAIT_S)
                answers.append(b"".join(iter(lambda peer=peer: peer.recv(1 << 16), b"")))  # type: ignore[misc]
        return answers

    def data_syns(self) -> int:
        """Return how many SYNs with data were sent and acknowledged so far."""
        return read_counters(self.pid)["TCPFastOpenActive"]


@pytest.fixture
def servers(names: Names) -> Iterator[Servers]:
    with ExitStack() as stack:
        process = stack.enter_context(subprocess.Popen(
            ["unshare", "--net", "sh", "-ec", "ip link set lo up; echo; exec sleep 60"], stdout=subprocess.PIPE))
        stack.callback(process.kill)
        assert process.stdout is not None
        assert process.stdout.readline() == b"\n"
        set_fastopen([process.pid], ON)
        stack.enter_context(inside(process.pid))
        listeners = [stack.enter_context(listening(f"127.0.0.{n}")) for n in (2, 3)]
        for listener in listeners:
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, 16)
        names.hosts["two.test"] = [listener.getsockname() for listener in listeners]
        yield Servers(process.pid, listeners)


def race(connect: Connect = connie_connect) -> None:
    connect("two.test", 80, WAIT_S, tfo=REQUEST).close()


@pytest.mark.parametrize("connect", [connie_connect, connect_in_a_loop])
def test_only_the_winner_gets_the_bytes_without_cookies_and_everybody_with_them(servers: Servers,
                                                                                connect: Connect) -> None:
    with same_descriptors():
        race(connect)
        assert sorted(servers.got()) == [b"", REQUEST]
        assert servers.data_syns() == 0
        race(connect)
        assert servers.got() == [REQUEST, REQUEST]
        assert servers.data_syns() == 2


def test_a_switched_off_tfo_sends_them_after_the_handshake(servers: Servers) -> None:
    race()
    servers.got()
    set_fastopen([servers.pid], OFF)
    for connect in (connie_connect, connect_in_a_loop):
        race(connect)
        assert sorted(servers.got()) == [b"", REQUEST]
    assert servers.data_syns() == 0


def test_what_the_syn_does_not_take_follows(servers: Servers, names: Names) -> None:
    """More than a SYN holds on loopback (MTU 65536), to a server that takes its time."""
    race()
    servers.got()
    names.hosts["one.test"] = names.hosts["two.test"][:1]
    servers.listeners.pop()
    data = bytes(range(256)) * 40_000
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.extend(servers.got() + servers.got()))
    reader.start()
    with connie_connect("one.test", 80, WAIT_S, tfo=data) as sock:
        assert sock.gettimeout() == WAIT_S
    connect_in_a_loop("one.test", 80, WAIT_S, tfo=data).close()
    reader.join()
    assert got == [data, data]
    assert servers.data_syns() == 2


@pytest.mark.parametrize(("method", "recipients"), [("GET", 2), ("HEAD", 2), ("POST", 1), ("PUT", 1), ("DELETE", 1)])
def test_only_safe_requests_go_to_several_servers(servers: Servers, method: str, recipients: int) -> None:
    race()
    servers.got()                                       # now there is a cookie of each
    connection = ConnieHTTPConnection("two.test", timeout=WAIT_S, tfo=True)
    connection.request(method, "/order")
    connection.close()
    got = servers.got()
    assert len([data_of_syn for data_of_syn in got if data_of_syn.startswith(method.encode())]) == recipients
    assert got.count(b"") == 2 - recipients
