"""--cookies domain: what ends the sharing of cookies fails the load; which servers share theirs.

That a site's first cookie is shared with its other servers: tests/programs/test_experiment.py.
"""

import socket
import threading
from contextlib import suppress

import pytest

from harness.network import cookies
from harness.network.cookies import sites_of_servers
from harness.network.star import Host, Star
from harness.system.namespaces import inside
from tests.support.namespaces import host_with


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
