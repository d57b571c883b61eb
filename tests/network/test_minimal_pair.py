"""client.py and server.py, the smallest TFO pair, between two network namespaces of their own."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from harness.bootstrap import ROOT
from harness.system.fastopen import set_fastopen
from harness.system.namespaces import inside
from tests.support.cable import joined_namespaces
from tests.support.ran import assert_refused, ran

PAIR = ROOT / "tfo-test"
SERVER_ADDRESS = "10.9.0.2"
LINE = re.compile(r"connection (\d+)(?: from \S+)?: SYN data accepted: (yes|no), first byte after (\d+\.\d+) ms")


Wire = tuple[int, int]
"""Processes in the client's and in the server's namespace."""


@pytest.fixture
def wire() -> Iterator[Wire]:
    with joined_namespaces() as ends:
        yield ends


@contextmanager
def _server(wire: Wire, connections: int) -> Iterator[subprocess.Popen[str]]:
    with inside(wire[1]):
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
        with inside(wire[0]):
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
@pytest.mark.parametrize(("value", "later"), [(3, True), (0, False), (1, False), (2, False)])
def test_with_both_ends_willing_the_second_connection_sends_its_request_in_the_syn(wire: Wire, value: int, *,
                                                                                   later: bool) -> None:
    set_fastopen(wire, value)
    assert _talk(wire, 3) == ([False, later, later],) * 2


@pytest.mark.parametrize(("words", "status", "says"), [
    (["client.py", "--port", "1"], 1, "127.0.0.1:1: "),       # tcpmux: no machine of today has that server
    (["server.py", "--address", "192.0.2.1"], 2, "192.0.2.1"), (["server.py", "--port", "99999"], 2, "99999")])
def test_what_cannot_be_done_is_said_in_one_line(words: list[str], status: int, says: str) -> None:
    answer = ran(sys.executable, PAIR / words[0], *words[1:])
    assert_refused(answer, status)
    assert says in answer.stderr
