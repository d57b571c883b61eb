"""Made-up names with addresses to order, all on loopback, for connie's tests."""

import asyncio
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import connie.aio
from tests.support.waiting import wait_until

Sockaddr = tuple[str, int]
Connect = Callable[..., socket.socket]

WAIT_S = 60.0
"""Longer than anything here takes on any machine; what waits so long is stuck."""


class Names:
    """A getaddrinfo for made-up names, some of them unknown. Other names get the real one's answer."""

    def __init__(self) -> None:
        self.hosts: dict[str, list[Sockaddr]] = {}
        self.unknown = {"unknown.test"}
        self.asked: list[str] = []
        self.before: Callable[[], object] = lambda: None
        self._real = socket.getaddrinfo

    def __call__(self, host: str, *arguments: int, **keywords: int) -> list[tuple[object, ...]]:
        if host in self.unknown:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
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
