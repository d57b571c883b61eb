"""The race: its rules without sockets, and whatever mixture of addresses a name has, by threads and asyncio alike."""

import errno
import math
import socket
from contextlib import ExitStack
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import connie
from connie import Address, ConnectError, RaceOptions, connie_connect
from connie.addresses import interleave, unique_addresses
from connie.attempt import begin
from connie.race import PATIENCE_S, SHORTAGES, Race
from tests.support.connie_hosts import (
    WAIT_S,
    Connect,
    Names,
    Sockaddr,
    connect_in_a_loop,
    listening,
    look_up,
    refusing,
    silent,
)

V4, V6 = socket.AF_INET, socket.AF_INET6
ALIVE, REFUSES, SILENT = "alive", "refuses", "silent"
ENOUGH_S = 0.25
"""For all attempts that nobody answers."""
both = pytest.mark.parametrize("connect", [connie_connect, connect_in_a_loop])

def address(family: int, number: int) -> Address:
    host = f"192.0.2.{number}" if family == V4 else f"2001:db8::{number}"
    return Address(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, (host, 80))


addresses = st.lists(st.builds(address, st.sampled_from([V4, V6]), st.integers(1, 50)), unique=True, max_size=12)


@given(addresses, st.sampled_from([None, V4, V6]))
def test_families_take_turns(given_order: list[Address], prefer: int | None) -> None:
    families = [each.family for each in given_order]
    first = prefer or (families or [V4])[0]
    turns = [families[:place].count(family) for place, family in enumerate(families)]
    expected = sorted(zip(turns, given_order, strict=True), key=lambda each: (each[0], each[1].family != first))
    assert interleave(given_order, prefer) == [each for _, each in expected]
    answer = [(each.family, each.kind, each.proto, "", each.sockaddr) for each in given_order]
    assert list(unique_addresses(answer + answer)) == given_order


@given(addresses, st.none() | st.integers(1, 5), st.sampled_from([0.0, 0.1, 0.25]), st.data())
def test_a_race_keeps_its_rules(queue: list[Address], at_once: int | None, stagger_s: float,
                                data: st.DataObject) -> None:
    """Whatever fails when: in order, never too many at once, never too close but after a failure, none forgotten."""
    race = Race(queue, at_once, stagger_s, None)
    running: list[Address] = []
    tried: dict[Address, int] = {}
    now, last_start, fewer_than = 100.0, -math.inf, math.inf
    while not race.is_lost():
        taken = race.take(now)
        if taken is not None:
            assert taken in tried or len(tried) == queue.index(taken), "in their order"
            assert len(running) < min(at_once or len(queue), fewer_than)
            assert now >= last_start + stagger_s
            running.append(taken)
            last_start, tried[taken] = now, tried.get(taken, 0) + 1
        outcome = data.draw(st.sampled_from(["wait", errno.ECONNREFUSED, errno.EMFILE]))
        if running and (outcome != "wait" or race.wait_s(now) is None):
            ended = running.pop(data.draw(st.integers(0, len(running) - 1)))
            code = errno.ECONNREFUSED if outcome == "wait" or tried[ended] > 3 else outcome
            race.failed(ended, OSError(code, ""), now)
            # In a shortage nothing starts until an attempt has ended; then there is no reason to keep a distance.
            fewer_than = math.inf if code not in SHORTAGES or not running else len(running)
            last_start = -math.inf
        elif (wait_s := race.wait_s(now)) is not None:
            now += wait_s
    assert not running
    if queue:
        error = race.error("a.test")
        assert not error.timed_out
        assert [attempt.address for attempt in error.attempts] == queue
        assert all(attempt.errno in SHORTAGES for attempt in error.attempts if attempt.address not in tried)


@pytest.mark.parametrize("options", [{"max_attempts": 0}, {"stagger": -0.1},
                                     {"stagger": math.nan}, {"stagger": math.inf}])
def test_options_that_make_no_race(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        RaceOptions(**options)


@both
def test_any_mixture(names: Names, connect: Connect) -> None:
    """One that is alive wins, or every failure is told. An address that never answers keeps its place, so a live one
    behind too many has no turn.
    """
    with ExitStack() as stack:
        kinds: dict[Sockaddr, str] = {}
        for n in (2, 3):
            kinds[stack.enter_context(silent(f"127.0.0.{n}"))] = SILENT
            kinds[stack.enter_context(refusing(f"127.0.0.{n}"))] = REFUSES
            kinds[stack.enter_context(listening(f"127.0.0.{n}", backlog=4096)).getsockname()] = ALIVE

        @settings(max_examples=20, deadline=None)
        @given(st.lists(st.sampled_from(list(kinds)), min_size=1, unique=True), st.none() | st.integers(1, 3),
               st.sampled_from([0.0, 0.001]))
        def mixture(addresses: list[Sockaddr], max_attempts: int | None, stagger: float) -> None:
            connie.CACHE.clear()
            names.hosts["mixed.test"] = addresses
            look_up("mixed.test")
            order = [kinds[each] for each in addresses]
            options = {"max_attempts": max_attempts, "stagger": stagger}
            if ALIVE in order and order[:order.index(ALIVE)].count(SILENT) < (max_attempts or len(order)):
                with connect("mixed.test", 80, WAIT_S, **options) as sock:
                    assert kinds[sock.getpeername()] == ALIVE
                    assert sock.gettimeout() == (WAIT_S if connect is connie_connect else 0)
                return
            with pytest.raises(ConnectError) as caught:
                connect("mixed.test", 80, ENOUGH_S if SILENT in order else WAIT_S, **options)
            assert [attempt.address.sockaddr for attempt in caught.value.attempts] == addresses
            assert caught.value.timed_out == isinstance(caught.value, TimeoutError) == (SILENT in order)
            for attempt, kind in zip(caught.value.attempts, order, strict=True):
                own = {REFUSES: errno.ECONNREFUSED, SILENT: errno.ETIMEDOUT}.get(kind)
                assert attempt.errno in {own, errno.ETIMEDOUT}
        mixture()


@both
def test_a_shortage_ends_with_an_attempt(names: Names, connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    shortages = iter([None, OSError(errno.EMFILE, "")])

    def short(*arguments: Any) -> Any:
        if error := next(shortages, None):
            raise error
        return begin(*arguments)

    with refusing() as closed, listening() as server:
        names.hosts["two.test"] = [closed, server.getsockname()]
        monkeypatch.setattr("connie.connect.begin", short)
        connect("two.test", 80, WAIT_S).close()
    assert [*shortages] == [], "it met the shortage"
    assert not hasattr(connie.connect._Selector(), "fileno"), "waiting needs no descriptor"


@both
def test_a_shortage_that_nobody_can_end_is_told_soon(names: Names, connect: Connect,
                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    """With its true errno, and the name's answer is kept: no address is to blame."""
    with listening() as server, listening("127.0.0.2") as other:
        names.hosts["two.test"] = [server.getsockname(), other.getsockname()]
        look_up("two.test")
        for code in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS):
            def refuse(*_: object, code: int = code) -> None:
                raise OSError(code, "shortage")
            with monkeypatch.context() as patched:
                patched.setattr("connie.connect.begin", refuse)
                with pytest.raises(ConnectError) as caught:
                    connect("two.test", 80, 100 * PATIENCE_S)
            assert caught.value.errno == code
            assert not caught.value.timed_out
            assert {attempt.errno for attempt in caught.value.attempts} == {code}
        connect("two.test", 80).close()
    assert names.asked == ["two.test"]
