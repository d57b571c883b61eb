"""connie_connect, cached_dns_connect and connie.aio over loopback; and what they raise, beside create_connection."""

import asyncio
import errno
import logging
import os
import pickle
import signal
import socket
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import connie.aio
from connie import ConnectError, cached_dns_connect, connie_connect
from tests.support.connie_hosts import (
    WAIT_S,
    Connect,
    Names,
    connect_in_a_loop,
    listening,
    refusing,
    silent,
)

both = pytest.mark.parametrize("connect", [connie_connect, connect_in_a_loop])
connects = pytest.mark.parametrize("connect", [connie_connect, cached_dns_connect, connect_in_a_loop])


def took_s(wait: Callable[[], object]) -> float:
    begin_s = time.monotonic()
    wait()
    return time.monotonic() - begin_s


@both
def test_a_stagger_is_kept_while_nothing_fails_and_ends_with_a_failure(names: Names, connect: Connect) -> None:
    with refusing() as closed, listening() as server, listening("127.0.0.2") as spared:
        names.hosts["spared.test"] = [server.getsockname(), spared.getsockname()]
        connect("spared.test", 80, stagger=WAIT_S).close()
        spared.setblocking(False)
        with pytest.raises(BlockingIOError):
            spared.accept()
        names.hosts["quick.test"] = [closed, server.getsockname()]
        assert took_s(lambda: connect("quick.test", 80, stagger=WAIT_S).close()) < WAIT_S


@pytest.mark.timing
def test_timeouts_are_honoured_to_10_ms(names: Names) -> None:
    """Never early, and 10 ms later than a sleep as long; the least of 9, as others may have waited for a CPU."""
    def time_out() -> None:
        with pytest.raises(TimeoutError):
            connie_connect("dead.test", 80, 0.05, stagger=0.03)

    with silent() as dead, silent("127.0.0.2") as dead2:
        names.hosts["dead.test"] = [dead, dead2]
        seconds = [(took_s(time_out), took_s(lambda: time.sleep(0.05))) for _ in range(9)]
    ours_s, sleeps_s = map(min, zip(*seconds, strict=True))
    assert 0.05 <= ours_s <= sleeps_s + 0.01, seconds


@connects
def test_a_name_server_that_does_not_answer_is_part_of_the_timeout(names: Names, connect: Connect) -> None:
    answered = threading.Event()
    names.hosts["slow.test"] = [("127.0.0.1", 1)]
    names.before = lambda: answered.wait(WAIT_S)
    try:
        begin_s = time.monotonic()
        with pytest.raises(TimeoutError, match=r"slow\.test"):
            connect("slow.test", 80, 0.05)
        assert 0.05 <= time.monotonic() - begin_s < WAIT_S
    finally:
        answered.set()


@both
def test_a_source_address_and_socket_options(names: Names, connect: Connect) -> None:
    with listening("127.0.0.1") as first, listening("127.0.0.2") as second, refusing() as free:
        names.hosts["two.test"] = [first.getsockname(), second.getsockname()]
        option = (socket.IPPROTO_TCP, socket.TCP_MAXSEG, 600)       # has no effect on an established connection
        with connect("two.test", 80, source_addr=("127.0.0.5", 0), socket_options=[option]) as sock:
            assert sock.getsockname()[0] == "127.0.0.5"
            assert 0 < sock.getsockopt(*option[:2]) <= 600
        # A port free at 127.0.0.5, because its number is taken at 127.0.0.1. Both sockets have to share it.
        with connect("two.test", 80, source_addr=("127.0.0.5", free[1])) as sock:
            assert sock.getsockname() == ("127.0.0.5", free[1])


@both
def test_ctrl_c_leaves_no_socket(names: Names, connect: Connect) -> None:
    def interrupted() -> None:
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        connect("dead.test", 80)

    with silent() as dead, silent("127.0.0.2") as dead2:
        names.hosts["dead.test"] = [dead, dead2]
        with pytest.raises(KeyboardInterrupt):
            interrupted()


@both
def test_a_changed_answer_is_found_when_the_old_addresses_are_dead(names: Names, connect: Connect) -> None:
    with listening() as old, listening() as new, refusing() as last:
        names.hosts["moving.test"] = [old.getsockname()]
        connect("moving.test", 80).close()
        names.hosts["moving.test"] = [new.getsockname()]
        connect("moving.test", 80).close()
        assert names.asked == ["moving.test"]                   # the cached answer was good enough
        old.shutdown(socket.SHUT_RDWR)                          # refuses from now on, and nobody else gets its port
        with connect("moving.test", 80) as sock:
            assert sock.getpeername() == new.getsockname()
        names.hosts["moving.test"] = [last]
        new.shutdown(socket.SHUT_RDWR)
        with pytest.raises(ConnectError) as caught:
            connect("moving.test", 80)
        assert [attempt.address.sockaddr for attempt in caught.value.attempts] == [new.getsockname(), last]


def test_cached_dns_connect_draws_an_address(names: Names) -> None:
    with listening("127.0.0.1") as first, listening("127.0.0.2") as second:
        names.hosts["two.test"] = [first.getsockname(), second.getsockname()]
        peers = set()
        for _ in range(20):
            with cached_dns_connect("two.test", 80, 5) as sock:
                peers.add(sock.getpeername())
                assert sock.gettimeout() == 5
    assert len(peers) == 2
    assert names.asked == ["two.test"]


def test_the_loop_goes_on_while_a_name_is_looked_up(names: Names, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    answered = threading.Event()
    names.hosts["slow.test"] = [("127.0.0.1", 1)]
    names.before = lambda: answered.wait(WAIT_S)

    async def wait() -> None:
        waiting = asyncio.ensure_future(connie.aio.connect("slow.test", 80))
        await asyncio.sleep(0.01)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        waiting = asyncio.ensure_future(connie.aio.connect("slow.test", 80))
        asyncio.get_running_loop().call_later(0.01, answered.set)
        with pytest.raises(ConnectionRefusedError):
            await waiting

    try:
        asyncio.run(wait(), debug=True)
    finally:
        answered.set()
    assert names.asked == ["slow.test"] * 2, "both waited for one answer; refused, the second asked anew"
    assert caplog.messages == []


def test_cancelled_at_any_step_it_leaves_no_socket(names: Names, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)

    async def cancel_after(steps: int) -> bool:
        task = asyncio.ensure_future(connie.aio.connect("mixed.test", 80, WAIT_S))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            task.result().close()
        return task.cancelled()

    async def cancel() -> None:
        (await connie.aio.connect("mixed.test", 80)).close()        # from here on the name is in the cache
        outcomes = [await cancel_after(steps) for steps in range(10)]
        assert outcomes[0]                          # the later ones may have won before they were cancelled

    with refusing() as closed, silent() as dead, listening() as alive, listening("127.0.0.2") as alive2:
        names.hosts["mixed.test"] = [closed, dead, alive.getsockname(), alive2.getsockname()]
        asyncio.run(cancel(), debug=True)
    assert caplog.messages == []


def test_the_error_has_every_address(names: Names) -> None:
    with refusing("127.0.0.2") as first, refusing("127.0.0.3") as second:
        names.hosts["dead.test"] = [first, ("127.0.0.4", 0), second, first]
        with pytest.raises(ConnectionRefusedError) as caught:
            connie_connect("dead.test", 80)
    error = caught.value
    assert isinstance(error, ConnectError)
    assert [(attempt.address.sockaddr, attempt.errno) for attempt in error.attempts] == [
        (first, errno.ECONNREFUSED), (("127.0.0.4", 0), errno.ECONNREFUSED), (second, errno.ECONNREFUSED)]
    assert error.errno == errno.ECONNREFUSED
    for address in (first, second):
        assert f"{address[0]} port {address[1]}: Connection refused" in str(error)
    twin = pickle.loads(pickle.dumps(error))
    assert (type(twin), twin.args, twin.message, str(twin)) == (type(error), error.args, error.message, str(error))


@pytest.mark.parametrize("address", [
    ("127.0.0.1", 65537), ("127.0.0.1", "no-such-service"), (5, 80), ("é" * 64, 80), ("empty.test", 80),
   ("unknown.test", 80), ("127.0.0.1", None)], ids=str)
@connects
def test_bad_addresses_give_the_error_of_create_connection(names: Names, address: tuple[Any, Any], connect: Connect
                                                           ) -> None:
    names.hosts["empty.test"] = []
    assert_same_error(lambda: socket.create_connection(address), lambda: connect(*address))


@connects
def test_bad_sources_give_the_error_of_bind(connect: Connect) -> None:
    with listening() as server, listening() as other, socket.socket() as sock:
        taken = other.getsockname()
        for source in (("192.0.2.9", 0), ("127.0.0.1", 70000), ("::1", 0), "127.0.0.1", (1, 2), ("127.0.0.1",), taken):
            assert_same_error(partial(sock.bind, source), partial(connect, *server.getsockname(), source_addr=source))


@connects
@pytest.mark.parametrize("timeout", [-1, float("nan"), "5"])
def test_bad_timeouts_give_the_class_of_error_of_settimeout(timeout: Any, connect: Connect) -> None:
    with listening() as server, pytest.raises((ValueError, TypeError)) as caught:
        connect(*server.getsockname(), timeout)
    with socket.socket() as sock, pytest.raises(caught.type):
        sock.settimeout(timeout)


def assert_same_error(theirs: Callable[[], object], ours: Callable[[], object]) -> None:
    """Fail unless both raise errors that no caller can tell apart by class and arguments."""
    with pytest.raises((OSError, ValueError, TypeError, OverflowError)) as expected:
        theirs()
    with pytest.raises(type(expected.value)) as caught:
        ours()
    assert caught.value.args == expected.value.args
    assert isinstance(caught.value, ConnectError) or type(caught.value) is type(expected.value)
