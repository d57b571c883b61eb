"""connie.aio: the race for asyncio."""

import asyncio
import errno
import logging
import socket
import threading
from contextlib import ExitStack

import pytest

import connie.aio
from connie import ConnectError, connie_connect
from connie.addresses import Address
from connie.attempt import Setup, open_socket
from tests.support.connie_hosts import (
    WAIT_S,
    Names,
    assert_closed,
    listening,
    names,
    refusing,
    same_descriptors,
    silent,
)

__all__ = ["names"]


def test_the_winner_among_dead_and_refusing_addresses(names: Names) -> None:
    async def talk() -> bytes:
        reader, writer = await connie.aio.open_connection("half-dead.test", 80, WAIT_S, stagger=0.01)
        try:
            return await reader.readexactly(5)
        finally:
            writer.close()
            await writer.wait_closed()

    with same_descriptors(), ExitStack() as stack:
        alive = stack.enter_context(listening("127.0.0.9"))
        names.hosts["half-dead.test"] = [stack.enter_context(refusing()), stack.enter_context(silent("127.0.0.2")),
                                         alive.getsockname()]
        greeter = threading.Thread(target=lambda: greet(alive))
        greeter.start()
        assert asyncio.run(talk()) == b"hello"
        greeter.join()


def greet(server: socket.socket) -> None:
    peer = server.accept()[0]
    peer.sendall(b"hello")
    peer.close()


def test_losers_are_closed_before_the_winner_is_given(names: Names) -> None:
    async def connect() -> None:
        with same_descriptors():
            sock = await connie.aio.connect("two.test", 80)
            assert sock.gettimeout() == 0
            assert_closed(second if sock.getpeername() == first.getsockname() else first)
            sock.close()

    with listening("127.0.0.1") as first, listening("127.0.0.2") as second:
        names.hosts["two.test"] = [first.getsockname(), second.getsockname()]
        asyncio.run(connect())


@pytest.mark.parametrize("dead", [False, True])
def test_errors_are_those_of_connie_connect(names: Names, dead: bool) -> None:
    with refusing() as closed, refusing("127.0.0.2") as closed2, silent() as never:
        names.hosts["dead.test"] = [closed, never, closed2] if dead else [closed, closed2]
        timeout = 1.0 if dead else None       # others may keep the processor: a refusal has to come before
        with pytest.raises(ConnectError) as expected:
            connie_connect("dead.test", 80, timeout)
        with same_descriptors(), pytest.raises(type(expected.value)) as caught:
            asyncio.run(connie.aio.connect("dead.test", 80, timeout))
    assert (caught.value.args, str(caught.value)) == (expected.value.args, str(expected.value))
    assert caught.value.attempts[0].errno == errno.ECONNREFUSED


@pytest.mark.parametrize(("arguments", "kind"), [
    (("127.0.0.1", -1), socket.gaierror), (("empty.test", 80), OSError), (("é" * 64, 80), UnicodeError),
    (("127.0.0.1", 80, -1), ValueError), (("127.0.0.1", 80, None, ("192.0.2.9", 0)), ConnectError),
    (("127.0.0.1", 80, None, ("127.0.0.1", 70000)), OverflowError),
])
def test_bad_arguments(names: Names, arguments: tuple[str, int], kind: type[Exception]) -> None:
    names.hosts["empty.test"] = []
    with same_descriptors(), pytest.raises(kind):
        asyncio.run(connie.aio.connect(*arguments))


def test_the_loop_goes_on_while_a_name_is_looked_up(names: Names, caplog: pytest.LogCaptureFixture) -> None:
    answered = threading.Event()
    names.hosts["slow.test"] = [("127.0.0.1", 1)]
    names.before = lambda: answered.wait(WAIT_S)

    async def wait() -> None:
        with pytest.raises(TimeoutError, match=r"slow\.test"):
            await connie.aio.connect("slow.test", 80, 0.05)
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
    assert names.asked == ["slow.test"]
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []


@pytest.mark.parametrize("twice", [False, True])
def test_cancelled_at_any_step_it_leaves_no_socket(names: Names, twice: bool, caplog: pytest.LogCaptureFixture,
                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[socket.socket] = []                # kept, so that none is closed only because it is forgotten

    def open_and_keep(address: Address, setup: Setup) -> socket.socket:
        opened.append(open_socket(address, setup))
        return opened[-1]

    monkeypatch.setattr(connie.aio, "open_socket", open_and_keep)

    async def cancel_after(steps: int) -> bool:
        task = asyncio.ensure_future(connie.aio.connect("mixed.test", 80, WAIT_S))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        if twice:
            await asyncio.sleep(0)
            task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            task.result().close()
        await asyncio.sleep(0)                      # after a second cancellation the attempts end on their own
        await asyncio.sleep(0)
        return task.cancelled()

    async def cancel() -> None:
        (await connie.aio.connect("mixed.test", 80)).close()        # from here on the name is in the cache
        with same_descriptors():
            outcomes = [await cancel_after(steps) for steps in range(30)]
        assert outcomes[0]                          # the later ones may have won before they were cancelled

    with refusing() as closed, silent() as dead, listening() as alive, listening("127.0.0.2") as alive2:
        names.hosts["mixed.test"] = [closed, dead, alive.getsockname(), alive2.getsockname()]
        asyncio.run(cancel(), debug=True)
    assert {sock.fileno() for sock in opened} == {-1}
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []


def test_many_at_once(names: Names) -> None:
    async def connect_all() -> int:
        with same_descriptors():
            socks = await asyncio.gather(*(connie.aio.connect("two.test", 80, WAIT_S) for _ in range(200)))
            for sock in socks:
                sock.close()
            return len(socks)

    with listening("127.0.0.1", backlog=1000) as first, listening("127.0.0.2", backlog=1000) as second:
        names.hosts["two.test"] = [first.getsockname(), second.getsockname()]
        assert asyncio.run(connect_all()) == 200
    assert names.asked == ["two.test"]
