"""--cookies domain: a site's first cookie is shared with its other servers, or the load fails; which of them are."""

import os
import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from harness.network import cookies
from harness.network.cookies import sites_of_servers
from harness.network.star import Host, Star
from harness.system import fastopen
from harness.system.namespaces import inside
from tests.support.namespaces import own_namespace
from tests.support.waiting import wait_until

NAMES = ("a.one.test", "b.one.test")
SYN_ACK_WITH_COOKIE = bytes(12) + bytes([8 << 4, 0x12]) + bytes(6) + bytes([1, 1, 34, 10]) + bytes(8)
"""A TCP header (RFC 9293) with the option of RFC 7413."""


@pytest.fixture
def star() -> Iterator[Star]:
    """Two servers of one site, all of them and `user` in one namespace, whose addresses are its loopback's."""
    with own_namespace() as holder:
        fastopen.set_fastopen([holder], fastopen.ON)
        yield Star(Host("user", "127.0.0.9", "", "lo", holder), holder,
                   {name: Host(name, f"127.0.0.{number}", "", "lo", holder) for number, name in enumerate(NAMES, 1)})


def load_with_a_cookie(star: Star, until: Callable[[int], bool]) -> None:
    """Let the first server give a cookie while a load lasts, until `until` holds of the servers' TFO setting."""
    held_ms = {host.address: 0.0 for host in star.servers.values()}
    with cookies.cookies_for_a_load(cookies.DOMAIN, star, held_ms, {name: [name] for name in NAMES}):
        with inside(star.user.pid):
            raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP)
            switch = os.open(fastopen.SYSCTL, os.O_RDONLY)
        with raw:
            raw.bind((star.servers[NAMES[0]].address, 0))
            raw.sendto(SYN_ACK_WITH_COOKIE, (star.user.address, 0))
        try:
            wait_until(lambda: until(int(os.pread(switch, 9, 0))))
        finally:
            os.close(switch)


@pytest.mark.root
def test_a_cookie_is_shared(star: Star) -> None:
    load_with_a_cookie(star, lambda setting: setting == fastopen.ON | fastopen.NO_COOKIE_NEEDED)


@pytest.mark.root
def test_whatever_ends_the_sharing_fails_the_load(star: Star, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = threading.Event()

    def read_nothing(headers: bytes) -> None:
        asked.set()
        raise ValueError("no packet")

    monkeypatch.setattr(cookies, "read_packet", read_nothing)
    with pytest.raises(ValueError):
        load_with_a_cookie(star, lambda _: asked.is_set())


def test_sites_that_share_a_server_are_one() -> None:
    """So one.test and three.test are, which share none with each other but both one with two.test."""
    names = {name: [name] for name in ("www.one.test", "a.one.test", "two.test")}
    assert sites_of_servers(names) == {"www.one.test": "one.test", "a.one.test": "one.test", "two.test": "two.test"}
    names = {"x": ["www.one.test", "two.test"], "y": ["a.two.test", "three.test"], "z": ["img.three.test"],
             "four.test": ["four.test"]}
    assert sites_of_servers(names) == {"x": "one.test", "y": "one.test", "z": "one.test", "four.test": "four.test"}
