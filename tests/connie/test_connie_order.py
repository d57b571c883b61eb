"""In which order connie tries addresses, and when."""

import math
import socket
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connie import Address, RaceOptions
from connie.addresses import interleave, is_numeric, unique_addresses
from connie.schedule import Schedule

V4, V6 = socket.AF_INET, socket.AF_INET6


def address(family: int, number: int) -> Address:
    host = f"192.0.2.{number}" if family == V4 else f"2001:db8::{number}"
    return Address(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, (host, 80))


addresses = st.lists(st.builds(address, st.sampled_from([V4, V6]), st.integers(1, 50)), unique=True, max_size=12)
preferences = st.sampled_from([None, V4, V6, (V4,), (V6, V4), ()])


@given(addresses, preferences)
def test_families_take_turns(given_order: list[Address], prefer: int | tuple[int, ...] | None) -> None:
    order = interleave(given_order, prefer)
    assert Counter(order) == Counter(given_order)
    for family in (V4, V6):
        assert ([address for address in order if address.family == family]
                == [address for address in given_order if address.family == family])
    # As long as both families have some left, no two neighbours are of one family.
    shorter = min(sum(address.family == family for address in order) for family in (V4, V6))
    assert all(address.family != other.family for address, other in pairwise(order[:2 * shorter]))


@given(addresses, preferences)
def test_the_preferred_family_comes_first(given_order: list[Address], prefer: int | tuple[int, ...] | None) -> None:
    wished = () if prefer is None else (prefer,) if isinstance(prefer, int) else prefer
    there = [address.family for address in given_order]
    expected = [family for family in wished if family in there] or there
    assert [address.family for address in interleave(given_order, prefer)][:1] == expected[:1]


def test_an_order_by_hand() -> None:
    order = interleave([address(V6, 1), address(V6, 2), address(V6, 3), address(V4, 1)], prefer=V4)
    assert [str(address) for address in order] == ["192.0.2.1 port 80", *(f"2001:db8::{n} port 80" for n in (1, 2, 3))]


@given(addresses)
def test_each_address_once(once: list[Address]) -> None:
    answer = [(address.family, address.kind, address.proto, "", address.sockaddr) for address in once]
    assert list(unique_addresses(answer + answer)) == once


@pytest.mark.parametrize(("host", "expected"), [
    ("127.0.0.1", True), ("::1", True), (b"::1", True), (None, True),
    ("localhost", False), ("", False), ("1.2.3", False), ("a\0b", False), ("é", False), (b"\xe9", False),
])
def test_what_is_an_address_already(host: str | bytes | None, expected: bool) -> None:
    assert is_numeric(host) is expected


@given(addresses, st.none() | st.integers(1, 5), st.sampled_from([0.0, 0.1, 0.25]), st.data())
def test_a_schedule_keeps_its_promises(queue: list[Address], at_once: int | None, stagger_s: float,
                                       data: st.DataObject) -> None:
    """Whatever fails when: all in order, never too many at once, never too close together but after a failure."""
    schedule = Schedule(queue, at_once, stagger_s)
    taken: list[Address] = []
    now, running, last_start = 100.0, 0, -math.inf
    while len(taken) < len(queue):
        address = schedule.take(now)
        if address is not None:
            taken.append(address)
            running += 1
            assert running <= (at_once or len(queue))
            assert now >= last_start + stagger_s
            last_start = now
        elif running and data.draw(st.booleans()):
            schedule.failed()
            running, last_start = running - 1, -math.inf
        else:
            wait_s = schedule.wait_s(now)
            assert (wait_s is None) == (running == at_once)
            now += data.draw(st.floats(0, 1)) if wait_s is None else wait_s
    assert taken == queue
    assert schedule.take(now + 1e9) is None


@pytest.mark.parametrize("options", [{"max_attempts": 0}, {"max_attempts": -1}, {"stagger": -0.1},
                                     {"stagger": math.nan}, {"stagger": math.inf}])
def test_options_that_make_no_race(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        RaceOptions(**options)
