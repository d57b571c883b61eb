"""Made-up names with addresses to order, all on loopback, for connie's tests."""

import asyncio
import os
import resource
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

import connie.aio
from tests.support.leaks import open_descriptors
from tests.support.waiting import wait_until

Sockaddr = tuple[str, int]
Connect = Callable[..., socket.socket]

WAIT_S = 60.0
"""Longer than anything here takes on any machine; what waits so long is stuck."""


class Names:
    """A getaddrinfo for made-up names. Other names get the real one's answer."""

    def __init__(self) -> None:
        self.hosts: dict[str, list[Sockaddr]] = {}
        self.asked: list[str] = []
        self.before: Callable[[], object] = lambda: None
        self._real = socket.getaddrinfo

    def __call__(self, host: str, *arguments: int, **keywords: int) -> list[tuple[object, ...]]:
        if host not in self.hosts:
            return list(self._real(host, *arguments, **keywords))
        self.asked.append(host)
        self.before()
        return [(socket.AF_INET6 if ":" in sockaddr[0] else socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "",
                 sockaddr) for sockaddr in self.hosts[host]]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Iterator[Names]:
    """Give the names, which every call of socket.getaddrinfo now knows; connie's cache begins and ends empty."""
    names = Names()
    monkeypatch.setattr(socket, "getaddrinfo", names)
    connie.CACHE.clear()
    yield names
    connie.CACHE.clear()


def connect_in_a_loop(*arguments: Any, **keywords: Any) -> socket.socket:
    """Return the socket of connie.aio.connect, whose arguments these are, out of an event loop of its own."""
    return asyncio.run(connie.aio.connect(*arguments, **keywords))


def look_up(host: str) -> None:
    """Put a name into connie's cache: a short timeout is the race's alone then, not its look-up's as well."""
    assert connie.CACHE.lookup(host, 80).result()


@contextmanager
def listening(host: str = "127.0.0.1", port: int = 0, backlog: int = 128) -> Iterator[socket.socket]:
    """Give a socket that listens; the kernel completes handshakes whether or not anybody accepts."""
    with socket.socket() as server:
        server.bind((host, port))
        server.listen(backlog)
        server.settimeout(WAIT_S)
        yield server


@contextmanager
def refusing(host: str = "127.0.0.1") -> Iterator[Sockaddr]:
    """Give an address that refuses: bound, so that nobody else gets it, and not listening."""
    with socket.socket() as server:
        server.bind((host, 0))
        yield server.getsockname()


@contextmanager
def silent(host: str = "127.0.0.1") -> Iterator[Sockaddr]:
    """Give an address that drops every SYN: the kernel does so while a queue of unaccepted connections is full."""
    with listening(host, backlog=0) as server, socket.create_connection(server.getsockname(), WAIT_S):
        wait_until(lambda: _queue_is_full(server))
        yield server.getsockname()


def _queue_is_full(server: socket.socket) -> bool:
    """Compare tcpi_unacked with tcpi_sacked (linux/tcp.h): connections not accepted yet, and how many may wait."""
    waiting, backlog = struct.unpack_from("II", server.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 32), 24)
    return bool(waiting > backlog)                  # the kernel takes one more than the backlog


@contextmanager
def same_descriptors() -> Iterator[None]:
    """Fail when the descriptors open at the end are not those open at the beginning.

    Threads of this process that are servers must have none at the beginning, and are given time to close theirs.
    """
    before = dict(open_descriptors())
    yield
    deadline_s = time.monotonic() + WAIT_S
    while (after := dict(open_descriptors())) != before and time.monotonic() < deadline_s:
        time.sleep(0.01)
    assert after == before


@contextmanager
def few_descriptors(free: int | None) -> Iterator[None]:
    """Leave this process so many descriptors that it can open; None: as many as there are."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken: list[int] = []
    try:
        if free is not None:
            highest = max(number for number, _ in open_descriptors())
            resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 2 + free, before[1]))
            with suppress(OSError):
                while True:
                    taken.append(os.open(os.devnull, os.O_RDONLY))
            for _ in range(free):
                os.close(taken.pop())
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        for descriptor in taken:
            os.close(descriptor)
