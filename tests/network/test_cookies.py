"""--cookies domain: a cookie is shared for one load; what ends the sharing fails the load; which servers share theirs.

What that does to a page's connections: tests/programs/test_experiment.py.
"""

import socket
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from harness.network import cookies
from harness.network.cookies import sites_of_servers
from harness.network.star import Host, Star
from harness.system.fastopen import NO_COOKIE_NEEDED, SYSCTL
from harness.system.namespaces import inside
from tests.network.packets import ACK, COOKIE, SYN, packet
from tests.support.namespaces import host_with
from tests.support.ran import ran
from tests.support.waiting import wait_until


@pytest.mark.root
def test_a_cookie_is_shared_for_one_load() -> None:
    with host_with("ip link set lo up") as user:
        servers = {f"{number}.one.test": replace(user, address=f"127.0.0.{number}") for number in (2, 3)}

        def is_shared() -> tuple[bool, bool]:
            with inside(user.pid):
                route = ran("ip", "route", "show", "127.0.0.3/32", status=0).stdout
                return bool(int(Path(SYSCTL).read_text()) & NO_COOKIE_NEEDED), "fastopen_no_cookie" in route

        silent_ms = {host.address: 0.0 for host in servers.values()}
        with cookies.cookies_for_a_load(cookies.DOMAIN, Star(user, user.pid, servers), silent_ms,
                                        {name: [name] for name in servers}):
            with inside(user.pid), socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP) as raw:
                raw.bind(("127.0.0.2", 0))
                raw.sendto(packet(flags=SYN | ACK, options=COOKIE)[20:], (user.address, 0))
            wait_until(lambda: is_shared() == (True, True))
        assert is_shared() == (False, False)


@pytest.mark.root
def test_whatever_ends_the_sharing_fails_the_load(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = threading.Event()

    def read_nothing(headers: bytes) -> None:
        asked.set()
        raise ValueError("no packet")

    def load(user: Host) -> None:
        with cookies.cookies_for_a_load(cookies.DOMAIN, Star(user, user.pid), {}, {}):
            with inside(user.pid), suppress(ConnectionRefusedError):
                socket.create_connection((user.address, 9))
            assert asked.wait(10)

    monkeypatch.setattr(cookies, "read_packet", read_nothing)
    with host_with("ip link set lo up") as user, pytest.raises(ValueError):
        load(user)


def test_sites_that_share_a_server_are_one() -> None:
    """So one.test and three.test are, which share none with each other but both one with two.test."""
    names = {name: [name] for name in ("www.one.test", "a.one.test", "two.test")}
    assert sites_of_servers(names) == {"www.one.test": "one.test", "a.one.test": "one.test", "two.test": "two.test"}
    names = {"x": ["www.one.test", "two.test"], "y": ["a.two.test", "three.test"], "z": ["img.three.test"]}
    assert sites_of_servers(names) == dict.fromkeys("xyz", "one.test")
