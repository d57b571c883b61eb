"""Waiting for servers to close what a load left open: until then their logs do not tell all of it."""

import itertools
import os
import socket
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from harness.system.tcp_sockets import open_sockets, wait_for_close


@pytest.fixture
def connection() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener, \
            socket.create_connection(listener.getsockname()) as client, listener.accept()[0]:
        yield client


def test_open_connections_are_counted(connection: socket.socket) -> None:
    """A listener and both ends of its connection, whatever else there is on this machine."""
    assert open_sockets([os.getpid()]) >= 3
    assert open_sockets([os.getpid()] * 2) >= 6
    assert open_sockets([]) == 0


def test_it_waits_until_no_more_are_open_than_before() -> None:
    counts = iter((5, 4, 3, 2, 2))
    assert wait_for_close(lambda: next(counts), 2, rtt_ms=0)
    assert list(counts) == [2], "it asks no more than it must"


def test_servers_that_hang_are_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = itertools.count()
    clock = SimpleNamespace(monotonic=lambda: next(seconds), sleep=lambda _s: None)
    monkeypatch.setattr("harness.system.tcp_sockets.time", clock)
    assert not wait_for_close(lambda: 3, 2, rtt_ms=1000)
    assert next(seconds) == 6, "after more than 2 s and 2 RTTs of 1 s: asked at 1, 2, 3, 4 and 5"
