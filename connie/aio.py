"""The race for asyncio."""

import asyncio
import errno
import os
import socket
import time
from collections.abc import Iterable, Sequence
from typing import Any

from connie.addresses import Address, Host, Port, Preference, SourceAddress
from connie.attempt import Attempt, Setup, SocketOption, open_socket, places, send_fast_open
from connie.cache import CACHE, DnsCache, Lookup, Question, cache_or_none, lookup_timeout
from connie.connect import deadline_in, left, nonempty, order, set_apart
from connie.errors import ConnectError, all_failed, failed_again
from connie.options import RaceOptions
from connie.schedule import Schedule


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
    deadline = deadline_in(timeout)
    names = cache_or_none(options.cache)
    question = Question(host, port)
    answer = await _lookup(names, question, deadline)
    addresses = order(answer.addresses, options)
    try:
        attempt = await _Race(addresses, setup, options, deadline).run(str(question))
    except ConnectError as error:
        names.forget(question)
        if error.timed_out or not answer.cached:
            raise
        untried = order(set_apart((await _lookup(names, question, deadline)).addresses, addresses), options)
        if not untried:
            raise
        try:
            attempt = await _Race(untried, setup, options, deadline).run(str(question))
        except ConnectError as again:
            raise failed_again(error, again) from None
    return await _finish(attempt, setup, deadline)


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


async def _lookup(names: DnsCache, question: Question, deadline: float | None) -> Lookup:
    """Return the addresses, as DnsCache.lookup does."""
    answer = names.known(question)
    if answer is not None:
        return answer
    future = asyncio.wrap_future(names.ask(question))
    try:
        await asyncio.wait([future], timeout=left(deadline))
        if not future.done():
            raise lookup_timeout(question)
        return Lookup(future.result(), cached=False)
    finally:
        future.cancel()                             # nobody waits for it any more; the lookup itself goes on


class _Race:
    """Attempts to connect to the addresses of one host, each in a task that owns its socket until it has connected."""

    def __init__(self, addresses: Sequence[Address], setup: Setup, options: RaceOptions,
                 deadline: float | None) -> None:
        self._addresses = nonempty(addresses)
        self._setup = setup
        self._schedule = Schedule(addresses, places(setup, options.max_attempts), options.stagger)
        self._deadline = deadline
        self._running: dict[asyncio.Task[Attempt], Address] = {}
        self._failed: dict[Address, OSError] = {}

    async def run(self, name: str) -> Attempt:
        """Return the first attempt whose handshake completes; every other socket is closed. Raises ConnectError."""
        winner = None
        try:
            while winner is None:
                self._start_due()
                if not self._running:
                    raise all_failed(name, self._addresses, self._failed)
                await asyncio.wait(self._running, timeout=self._wait_s(), return_when=asyncio.FIRST_COMPLETED)
                winner = self._first_done()
                if winner is None and self._deadline is not None and time.monotonic() >= self._deadline:
                    raise all_failed(name, self._addresses, self._failed, timed_out=True)
        finally:
            await self._end(winner)
        return winner

    def _start_due(self) -> None:
        while (address := self._schedule.take(time.monotonic())) is not None:
            self._running[asyncio.ensure_future(_attempt(address, self._setup))] = address

    def _wait_s(self) -> float | None:
        """Return how long to wait for the attempts under way; None for as long as they take."""
        waits = (self._schedule.wait_s(time.monotonic()), left(self._deadline))
        return min((wait for wait in waits if wait is not None), default=None)

    def _first_done(self) -> Attempt | None:
        """Return the first attempt that completed its handshake, and drop those that failed."""
        for task, address in [(task, address) for task, address in self._running.items() if task.done()]:
            error = None if task.cancelled() else task.exception()
            if not isinstance(error, OSError):
                return task.result()                # or what went wrong without being the network's fault
            del self._running[task]
            self._failed[address] = error
            self._schedule.failed()
        return None

    async def _end(self, winner: Attempt | None) -> None:
        """Close every socket but the winner's: those of completed handshakes here, each other by its own task."""
        under_way = [task for task in self._running if task.cancel()]
        for task in self._running.keys() - set(under_way):
            if not task.cancelled() and task.exception() is None and task.result() is not winner:
                task.result().sock.close()
        if under_way:
            try:
                await asyncio.wait(under_way)
            except BaseException:                   # a cancellation ends this wait, but not what it waits for
                if winner is not None:
                    winner.sock.close()             # nobody will get it
                raise


async def _attempt(address: Address, setup: Setup) -> Attempt:
    """Connect to one address. The socket is closed whenever this does not return it. Raises OSError."""
    sock = open_socket(address, setup)
    try:
        sent = send_fast_open(sock, address.sockaddr, setup.data)
        try:
            # When the SYN is on its way already, this waits for the answer to it.
            await asyncio.get_running_loop().sock_connect(sock, address.sockaddr)
        except OSError as error:                    # the same words from every event loop
            raise error if error.errno is None else OSError(error.errno, os.strerror(error.errno)) from None
        return Attempt(address, sock, sent or 0)
    except BaseException:
        sock.close()
        raise


async def _finish(attempt: Attempt, setup: Setup, deadline: float | None) -> socket.socket:
    """Send what the SYN did not take of the first data, and return the socket."""
    rest = setup.data[attempt.sent:]
    if rest:
        try:
            sending = asyncio.get_running_loop().sock_sendall(attempt.sock, rest)
            await asyncio.wait_for(sending, left(deadline))
        except asyncio.TimeoutError:
            attempt.sock.close()
            raise TimeoutError(errno.ETIMEDOUT, "timed out") from None
        except BaseException:
            attempt.sock.close()
            raise
    return attempt.sock
