"""Whatever mixture of addresses a name has: one that is alive wins, or every failure is told, and no socket is left."""

import asyncio
import errno
import socket
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import connie.aio
from connie import ConnectError, connie_connect
from tests.support.connie_hosts import (
    WAIT_S,
    Names,
    Sockaddr,
    listening,
    look_up,
    names,
    refusing,
    same_descriptors,
    silent,
)

__all__ = ["names"]

ALIVE, REFUSES, SILENT = "alive", "refuses", "silent"
ENOUGH_S = 0.25
"""For all attempts that nobody answers."""
ERRNO = {REFUSES: errno.ECONNREFUSED, SILENT: errno.ETIMEDOUT}


def connect_in_a_loop(*arguments: Any, **keywords: Any) -> socket.socket:
    return asyncio.run(connie.aio.connect(*arguments, **keywords))


@pytest.mark.parametrize("connect", [connie_connect, connect_in_a_loop])
def test_any_mixture(names: Names, connect: Callable[..., socket.socket]) -> None:
    with ExitStack() as stack:
        kinds: dict[Sockaddr, str] = {}
        for n in (2, 3):
            kinds[stack.enter_context(silent(f"127.0.0.{n}"))] = SILENT
            kinds[stack.enter_context(refusing(f"127.0.0.{n}"))] = REFUSES
            kinds[stack.enter_context(listening(f"127.0.0.{n}", backlog=4096)).getsockname()] = ALIVE

        @settings(max_examples=40)
        @given(st.lists(st.sampled_from(list(kinds)), min_size=1, unique=True), st.none() | st.integers(1, 3),
               st.sampled_from([0.0, 0.001]))
        def mixture(addresses: list[Sockaddr], max_attempts: int | None, stagger: float) -> None:
            connie.CACHE.clear()
            names.hosts["mixed.test"] = addresses
            look_up("mixed.test")
            order = [kinds[address] for address in addresses]
            options = {"max_attempts": max_attempts, "stagger": stagger}
            # An address that never answers keeps its place, so a live one behind too many of them has no turn.
            has_turn = ALIVE in order and order[:order.index(ALIVE)].count(SILENT) < (max_attempts or len(order))
            with same_descriptors():
                if has_turn:
                    with connect("mixed.test", 80, WAIT_S, **options) as sock:
                        assert kinds[sock.getpeername()] == ALIVE
                    return
                with pytest.raises(ConnectError) as caught:
                    connect("mixed.test", 80, ENOUGH_S if SILENT in order else WAIT_S, **options)
            assert [attempt.address.sockaddr for attempt in caught.value.attempts] == addresses
            assert caught.value.timed_out == isinstance(caught.value, TimeoutError) == (SILENT in order)
            for attempt, kind in zip(caught.value.attempts, order, strict=True):
                assert attempt.errno in {ERRNO.get(kind), errno.ETIMEDOUT}

        mixture()
