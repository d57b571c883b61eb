"""client.py and server.py, the smallest TFO pair, between two network namespaces of their own."""

import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.system.netns import inside
from tests.support.ran import ran

PAIR = Path(__file__).resolve().parent.parent.parent / "tfo-test"
CLIENT_ADDRESS, SERVER_ADDRESS = "10.99.0.1", "10.99.0.2"
LINE = re.compile(r"connection (\d+)(?: from \S+)?: SYN data accepted: (yes|no), first byte after (\d+\.\d+) ms")


@dataclass(frozen=True)
class Wire:
    """Two namespaces joined by a veth pair, each held open by a process that waits for the end of its input."""

    client_pid: int
    server_pid: int


def _namespace(stack: ExitStack) -> int:
    """Return the process id of a new network namespace, which ends with `stack`."""
    holder = stack.enter_context(subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; exec cat"],
                                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE))
    assert holder.stdout
    holder.stdout.readline()                                # the namespace is there
    return holder.pid


def _ip(*words: str) -> None:
    ran("ip", *words, status=0)


@pytest.fixture
def wire() -> Iterator[Wire]:
    """Join two fresh namespaces; 10.99.0.1 is the client's address, 10.99.0.2 the server's."""
    with ExitStack() as stack:
        ends = Wire(_namespace(stack), _namespace(stack))
        with inside(ends.client_pid):
            _ip("link", "add", "wire", "type", "veth", "peer", "name", "wire", "netns", str(ends.server_pid))
        for pid, address in ((ends.client_pid, CLIENT_ADDRESS), (ends.server_pid, SERVER_ADDRESS)):
            with inside(pid):
                _ip("address", "add", f"{address}/24", "dev", "wire")
                _ip("link", "set", "wire", "up")
                _ip("link", "set", "lo", "up")
        yield ends


def _set_fastopen(wire: Wire, value: int) -> None:
    for pid in (wire.client_pid, wire.server_pid):
        with inside(pid):
            Path("/proc/sys/net/ipv4/tcp_fastopen").write_text(str(value))


@contextmanager
def _server(wire: Wire, connections: int) -> Iterator[subprocess.Popen[str]]:
    with inside(wire.server_pid):
        server = subprocess.Popen([sys.executable, PAIR / "server.py", "--address", SERVER_ADDRESS,
                                   "--connections", str(connections)], stdout=subprocess.PIPE, text=True)
    with server:
        try:
            assert server.stdout
            assert server.stdout.readline() == f"listening on {SERVER_ADDRESS}:8000\n"
            yield server
        finally:
            server.kill()


def _talk(wire: Wire, connections: int) -> tuple[list[bool], list[bool]]:
    """Run server and client; return for each connection whether the client, and the server, saw data in the SYN."""
    with _server(wire, connections) as server:
        with inside(wire.client_pid):
            client = subprocess.run([sys.executable, PAIR / "client.py", "--address", SERVER_ADDRESS,
                                     "--connections", str(connections)],
                                    stdout=subprocess.PIPE, text=True, check=True)
        said, _ = server.communicate()
        assert server.returncode == 0
    return _syn_data(client.stdout), _syn_data(said)


def _syn_data(text: str) -> list[bool]:
    matches = [LINE.fullmatch(line) for line in text.splitlines()]
    assert all(matches), text
    numbers = [int(match[1]) for match in matches if match]
    assert numbers == list(range(1, len(numbers) + 1))
    return [match[2] == "yes" for match in matches if match]


@pytest.mark.root
def test_second_connection_sends_its_request_in_the_syn(wire: Wire) -> None:
    _set_fastopen(wire, 3)
    client, server = _talk(wire, 3)
    assert client == [False, True, True]
    assert server == [False, True, True]


@pytest.mark.root
def test_no_connection_does_with_tfo_off(wire: Wire) -> None:
    _set_fastopen(wire, 0)
    client, server = _talk(wire, 2)
    assert client == [False, False]
    assert server == [False, False]


@pytest.mark.root
@pytest.mark.parametrize("value", [1, 2])
def test_both_ends_must_be_willing(wire: Wire, value: int) -> None:
    _set_fastopen(wire, value)
    client, server = _talk(wire, 2)
    assert client == [False, False]
    assert server == [False, False]


def test_client_without_a_server_says_so_in_one_line() -> None:
    # Port 1 (tcpmux) has no server on any machine of today.
    answer = ran(sys.executable, PAIR / "client.py", "--port", "1", status=1)
    assert answer.stderr.startswith("127.0.0.1:1: ")
    assert answer.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [["--address", "192.0.2.1"], ["--port", "99999"]])
def test_server_that_cannot_listen_says_so_in_one_line(arguments: list[str]) -> None:
    answer = ran(sys.executable, PAIR / "server.py", *arguments, status=2)
    assert answer.stderr.count("\n") == 1
    assert arguments[1] in answer.stderr


@pytest.mark.root
def test_server_survives_a_client_that_says_nothing(wire: Wire) -> None:
    with _server(wire, 2) as server:
        with inside(wire.client_pid):
            socket.create_connection((SERVER_ADDRESS, 8000)).close()
            ran(sys.executable, PAIR / "client.py", "--address", SERVER_ADDRESS, "--connections", "1", status=0)
        said, _ = server.communicate()
    first, second = said.splitlines()
    assert first.endswith("the client closed the connection without a request")
    assert LINE.fullmatch(second)
