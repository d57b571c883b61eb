"""The race for asyncio: the steps of connie.connect, and how an event loop waits between them."""

import asyncio
import socket
from collections.abc import Iterable
from typing import Any

from connie.addresses import Host, Port, Preference, SourceAddress
from connie.attempt import Setup, SocketOption
from connie.cache import CACHE, DnsCache
from connie.connect import Sockets, Wait, connecting, wait_for_sockets
from connie.race import RaceOptions


async def connect(host: Host, port: Port, timeout: float | None = None, source_addr: SourceAddress | None = None, *,
                  max_attempts: int | None = None, stagger: float = 0.0, prefer: Preference = None,
                  tfo: bytes | None = None, cache: DnsCache | None = CACHE,
                  socket_options: Iterable[SocketOption] = ()) -> socket.socket:
    """Do what connie_connect does, without blocking the event loop; return a connected non-blocking socket.

    Arguments and errors are connie_connect's. `timeout` is for connecting only: asyncio's sockets have none of their
    own. When the task is cancelled, every socket is closed before CancelledError goes on. Give source_addr as an IP
    address, because bind() would look a name up inside the event loop.
    """
    options = RaceOptions(max_attempts, stagger, prefer, cache)
    return await connect_as(host, port, timeout, Setup(source_addr, tfo or b"", tuple(socket_options)), options)


async def connect_as(host: Host, port: Port, timeout: float | None, setup: Setup,
                     options: RaceOptions) -> socket.socket:
    """Do what `connect` does, with its options in two objects. See there."""
    steps = connecting(host, port, timeout, setup, options)
    try:
        wait = next(steps)
        while True:
            wait = steps.send(await _wait(wait))
    except StopIteration as done:
        sock: socket.socket = done.value
        return sock
    finally:
        steps.close()                               # closes all sockets when this task is cancelled


async def open_connection(host: Host, port: Port, timeout: float | None = None,
                          source_addr: SourceAddress | None = None, **options: Any,
                          ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect as `connect` does, and return asyncio's streams of the connection. `options`: those of `connect`."""
    sock = await connect(host, port, timeout, source_addr, **options)
    try:
        return await asyncio.open_connection(sock=sock)
    except BaseException:
        sock.close()
        raise


async def _wait(wait: Wait) -> Sockets:
    """Return the sockets that can be written to, as soon as there are any, the answer has come or the time is over."""
    loop = asyncio.get_running_loop()
    if wait.answer is not None:
        answer = asyncio.wrap_future(wait.answer)
        try:
            await asyncio.wait([answer], timeout=wait.timeout_s)
        finally:
            if not answer.cancel():                 # it has come
                answer.exception()                  # the next step raises it; asyncio wants that it is asked for
        return ()
    ready = loop.create_future()
    try:
        for sock in wait.sockets:
            loop.add_writer(sock, _wake, ready)
        await asyncio.wait([ready], timeout=wait.timeout_s)
    finally:
        for sock in wait.sockets:
            loop.remove_writer(sock)
    return wait_for_sockets(wait.sockets, 0)


def _wake(ready: "asyncio.Future[None]") -> None:
    if not ready.done():
        ready.set_result(None)
