"""Which servers get the bytes that connie sends in the SYN, in a network namespace of its own where TFO is on."""

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from connie import connie_connect
from connie.http import ConnieHTTPConnection
from harness.system.fastopen import OFF, ON, read_counters, set_fastopen
from harness.system.namespaces import inside
from tests.support.connie_hosts import WAIT_S, Connect, Names, connect_in_a_loop, listening
from tests.support.namespaces import own_namespace

pytestmark = [pytest.mark.root]

REQUEST = b"GET / HTTP/1.0\r\n\r\n"


@dataclass
class Servers:
    """Two servers of one name, which accept TFO, in a namespace of which this thread is part."""

    pid: int
    listeners: list[socket.socket]

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
        pid = stack.enter_context(own_namespace())
        set_fastopen([pid], ON)
        stack.enter_context(inside(pid))
        listeners = [stack.enter_context(listening(f"127.0.0.{n}")) for n in (2, 3)]
        for listener in listeners:
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, 16)
        names.hosts["two.test"] = [listener.getsockname() for listener in listeners]
        yield Servers(pid, listeners)


def get_cookies(servers: Servers) -> None:
    connie_connect("two.test", 80, WAIT_S, tfo=REQUEST).close()
    servers.got()


@pytest.mark.parametrize("connect", [connie_connect, connect_in_a_loop])
def test_only_the_winner_gets_the_bytes_without_cookies_and_everybody_with_them(servers: Servers,
                                                                                connect: Connect) -> None:
    """And where TFO is switched off, the winner gets them after the handshake."""
    for setting, got, data_syns in ((ON, [b"", REQUEST], 0), (ON, [REQUEST, REQUEST], 2), (OFF, [b"", REQUEST], 2)):
        set_fastopen([servers.pid], setting)
        connect("two.test", 80, WAIT_S, tfo=REQUEST).close()
        assert (sorted(servers.got()), servers.data_syns()) == (got, data_syns)


def test_what_the_syn_does_not_take_follows(servers: Servers, names: Names) -> None:
    """More than a SYN holds on loopback (MTU 65536), to a server that takes its time."""
    get_cookies(servers)
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


def test_only_safe_requests_go_to_several_servers(servers: Servers) -> None:
    get_cookies(servers)
    for method, recipients in (("GET", 2), ("HEAD", 2), ("POST", 1), ("PUT", 1), ("DELETE", 1)):
        connection = ConnieHTTPConnection("two.test", timeout=WAIT_S, tfo=True)
        connection.request(method, "/order")
        connection.close()
        assert sorted(got.split(b" ")[0] for got in servers.got()) == sorted(
            [method.encode()] * recipients + [b""] * (2 - recipients))
