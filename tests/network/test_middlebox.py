"""Middleboxes do to SYNs what they say, and both kernels answer as theory has it; balancers' cookies fit one in N."""

import os
import select
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.files.transport import Box, Middlebox, read_middlebox
from harness.network.cookies import forget_cookies
from harness.network.links import delaying
from harness.network.nodes import running_star
from harness.network.programs import standing
from harness.network.star import Host, LinkSpeeds
from harness.network.tcp_packet import TcpPacket, checksum
from harness.system import fastopen
from harness.system.namespaces import inside
from harness.system.tcp import carried_data_in_syn, listen
from tests.network.packets import COOKIE, SYN, packet

SPEEDS = LinkSpeeds(bw_net_mbit=1000, delay_net_ms=20)
REQUEST, PORT = b"GET / HTTP/1.0\r\n\r\n", 8000
TRIES = 3
"""A machine that stands still for a second loses SYNs, too."""
OPTIONS = {COOKIE: True, pack("!BBH8s", 254, 12, 0xF989, b"cookie.."): True, pack("!BBH", 2, 4, 1460): False,
           b"\x01": False}
"""What TCP headers have, and whether it is Fast Open's, the second under its number from before RFC 7413."""


@given(st.lists(st.sampled_from([*OPTIONS]), max_size=3), st.binary(max_size=600))
def test_a_syn_is_cleaned_of_what_the_box_cuts_and_of_nothing_else(options: list[bytes], data: bytes) -> None:
    """The option's place is filled, the data's is not. Checksums: a kernel drops what has wrong ones, see below."""
    assert checksum(data) == checksum(data + bytes(len(data) % 2)), "RFC 1071, section 1"
    raw, has_fastopen = packet(data, SYN, options=b"".join(options)), any(map(OPTIONS.get, options))
    syn = TcpPacket(raw)
    for cleaned, *left in ((raw, has_fastopen, len(data)), (syn.without_fastopen(), False, len(data)),
                           (syn.without_data(), has_fastopen, 0)):
        found = TcpPacket(cleaned)
        assert len(cleaned) == len(raw) - len(data) + found.data_bytes
        assert [found.has_fastopen, found.data_bytes, found.destination] == [*left, syn.destination]


@given(st.integers(1, 200), st.floats(0.001, 1), st.integers(0, 2**32 - 1))
def test_the_seed_chooses_the_share_of_the_paths(servers: int, share: float, seed: int) -> None:
    """The same for the same seed, at least one, and the share of them rounded up."""
    names = [f"host{number}" for number in range(servers)]
    chosen = Middlebox(Box.TRIM_DATA, share).on_paths_to(names, seed)
    assert chosen == Middlebox(Box.TRIM_DATA, share).on_paths_to(names[::-1], seed)
    assert share * servers - 1e-6 <= len(chosen) < share * servers + 1
    assert {*chosen} <= {*names}


@contextmanager
def listening(server: Host, keys: list[bytes | None]) -> Iterator[list[socket.socket]]:
    """Give sockets that listen at a server, one for each key of its cookies."""
    with ExitStack() as stack:
        with inside(server.pid):
            sockets = [stack.enter_context(listen(server.address, PORT, cookie_key=key)) for key in keys]
        yield sockets


def ask(user: Host, server: Host, listeners: list[socket.socket]) -> tuple[bool, bool]:
    """Send a request with TFO; return whether a SYN was sent again, which takes a second, and whether it came in it."""
    before = fastopen.read_counters(user.pid)
    with inside(user.pid):
        client = socket.socket()
    with client:
        client.sendto(REQUEST, socket.MSG_FASTOPEN, (server.address, PORT))
        ready, _, _ = select.select(listeners, [], [])
        with ready[0].accept()[0] as connection:
            assert connection.recv(len(REQUEST)) == REQUEST
            in_syn = carried_data_in_syn(connection)
    return fastopen.difference(fastopen.read_counters(user.pid), before)["TCPSynRetrans"] > 0, in_syn


# What further connections to a server see: whether a SYN was sent again, and whether its data came in the SYN.
SEEN = {Box.STRIP_OPTION: (False, False), Box.DROP_OPTION: (True, False), Box.DROP_SYN_DATA: (True, False),
        Box.TRIM_DATA: (False, False)}
UNTOUCHED = False, True


@pytest.mark.root
def test_a_box_costs_what_theory_says() -> None:
    """Whoever drops SYNs costs a second, whoever cleans them nothing but the gain; who is not behind it gains."""
    with running_star(["behind.test", "beside.test"], SPEEDS, netem=False) as star, \
            delaying(star, netem=False) as delay:
        delay.change(SPEEDS)
        fastopen.set_fastopen(star.pids, fastopen.ON)
        for box, seen in SEEN.items():
            half = read_middlebox(f"{box.value}:0.5")
            seed = next(seed for seed in range(99) if half.on_paths_to([*star.servers], seed) == ["behind.test"])
            with standing(star, half, seed) as stands:
                for name, expected in (("beside.test", UNTOUCHED), ("behind.test", seen)):
                    forget_cookies(star.user)
                    with listening(star.servers[name], [None]) as listeners:
                        ask(star.user, star.servers[name], listeners)       # asks for a cookie
                        assert any(ask(star.user, star.servers[name], listeners) == expected
                                   for _ in range(TRIES)), (box, name)
                counts = stands.counts()
            assert stands.servers == ("behind.test",)
            assert 0 < counts["touched"] <= counts["seen"]


@pytest.mark.root
def test_behind_a_balancer_a_cookie_fits_one_time_in_n() -> None:
    """Which server answers is chosen by the connection's ports; each gives cookies that only itself takes."""
    asked, servers = 200, 4
    with running_star(["balanced.test"], SPEEDS, netem=False) as star:
        fastopen.set_fastopen(star.pids, fastopen.ON)
        server = star.servers["balanced.test"]
        before = fastopen.read_counters(server.pid)
        with listening(server, [os.urandom(16) for _ in range(servers)]) as listeners:
            fitted = sum(ask(star.user, server, listeners)[1] for _ in range(asked))
        misfits = fastopen.difference(fastopen.read_counters(server.pid), before)["TCPFastOpenPassiveFail"]
        assert asked - 2 <= fitted + misfits <= asked
        assert fitted / asked == pytest.approx(1 / servers, abs=0.12)       # 4 standard deviations
