"""Connect to a host by name: what is done, in one generator for threads and event loops, and how a thread waits."""

import os
import random
import selectors
import socket
import time
from collections.abc import Collection, Generator, Iterable
from concurrent import futures
from contextlib import suppress
from dataclasses import dataclass
from errno import ETIMEDOUT

from connie.addresses import Address, Host, Port, Preference, SourceAddress, interleave
from connie.attempt import Attempt, Setup, SocketOption, begin, close_all
from connie.cache import CACHE, Answer, DnsCache
from connie.errors import ConnectError, connect_error
from connie.race import SHORTAGES, Race, RaceOptions

# A few sockets for a short while: poll() is one system call and no descriptor, where epoll and kqueue need both.
_Selector = getattr(selectors, "PollSelector", selectors.SelectSelector)

Sockets = Collection[socket.socket]


@dataclass(frozen=True)
class Wait:
    """What a connect waits for: an answer of the name server, or that one of `sockets` can be written to.

    It may be sent its next step at any time, by `timeout_s` at the latest (None: no limit): the sockets that are ready.
    """

    timeout_s: float | None
    sockets: Sockets = ()
    answer: Answer | None = None


Connecting = Generator[Wait, Sockets, socket.socket]


def connie_connect(host: Host, port: Port, timeout: float | None = None, source_addr: SourceAddress | None = None, *,
                   max_attempts: int | None = None, stagger: float = 0.0, prefer: Preference = None,
                   tfo: bytes | None = None, cache: DnsCache | None = CACHE,
                   socket_options: Iterable[SocketOption] = ()) -> socket.socket:
    """Connect to all addresses of `host` at once, and return the first socket whose handshake completes.

    timeout: seconds for everything, the name's lookup included, and then the returned socket's own timeout; None: no
        limit. (`socket.create_connection` takes its timeout for each address anew, and none for the lookup.)
    source_addr: (address, port) to connect from, as `socket.create_connection`'s source_address.
    max_attempts, stagger, prefer, cache: see RaceOptions.
    tfo: the first bytes of the conversation. They go in the SYN (TCP Fast Open, RFC 7413) to EVERY address tried of
        whose server the kernel has a cookie; to the others goes an empty SYN, and of those only the winner gets the
        bytes, after its handshake. When connie_connect returns, the winner was sent all of them. Losers may have
        delivered them to their servers too, so pass only what any number of servers may act on any number of times: a
        GET, a DNS query; never an order. max_attempts=1 leaves what TFO itself risks: a server acting twice.
    socket_options: (level, name, value), set on every socket before it connects.

    Raises what `socket.create_connection` raises: gaierror for a name that does not resolve, OverflowError for ports
    that cannot be, ... When every address failed it is a ConnectError, which has each address with its error, and is
    of the class that `create_connection` would raise too (ConnectionRefusedError, TimeoutError, OSError). ValueError
    for options that make no sense. No socket is left but the one returned.
    """
    options = RaceOptions(max_attempts, stagger, prefer, cache)
    return connect_as(host, port, timeout, Setup(source_addr, tfo or b"", tuple(socket_options)), options)


def connect_as(host: Host, port: Port, timeout: float | None, setup: Setup, options: RaceOptions, *,
               only_one: bool = False) -> socket.socket:
    """Do what connie_connect does, with its options in two objects. only_one: what cached_dns_connect does."""
    steps = connecting(host, port, timeout, setup, options, only_one=only_one)
    ready: Sockets | None = None
    try:
        while True:
            wait = next(steps) if ready is None else steps.send(ready)
            if wait.answer is None:
                ready = wait_for_sockets(wait.sockets, wait.timeout_s)
            else:
                futures.wait([wait.answer], wait.timeout_s)
                ready = ()
    except StopIteration as done:
        sock: socket.socket = done.value
        sock.settimeout(timeout)
        return sock
    finally:
        steps.close()


def cached_dns_connect(host: Host, port: Port, timeout: float | None = None, source_addr: SourceAddress | None = None,
                       *, cache: DnsCache | None = CACHE) -> socket.socket:
    """Connect to one address of `host`, drawn at random from the cached answer: the rung between plain and racing.

    timeout: seconds for the lookup and the handshake together, and then the socket's own; None: no limit.
    Raises what `socket.create_connection` raises for a host of that one address.
    """
    return connect_as(host, port, timeout, Setup(source_addr), RaceOptions(cache=cache), only_one=True)


def connecting(host: Host, port: Port, timeout: float | None, setup: Setup, options: RaceOptions,
               *, only_one: bool = False) -> Connecting:
    """Connect step by step: yield what to wait for, return the connected non-blocking socket.

    When it is closed before its end it closes every socket. only_one: to one address, drawn at random.
    """
    deadline = _deadline_in(timeout)
    cache = DnsCache(max_entries=0) if options.cache is None else options.cache
    addresses = yield from _looking_up(cache, host, port, options, deadline)
    if not addresses:
        raise OSError("getaddrinfo returns an empty list")     # in the words of socket.create_connection
    if only_one:
        addresses = [random.choice(addresses)]
    try:
        attempt = yield from _racing(addresses, f"{host!r} port {port}", setup, options, deadline)
    except ConnectError as error:
        if only_one or error.errno in SHORTAGES:
            raise
        cache.forget(host, port)                    # whatever the cause, the next caller asks anew
        if error.timed_out:
            raise
        later = yield from _looking_up(cache, host, port, options, deadline)
        untried = [address for address in later if address not in addresses]
        if not untried:
            raise
        try:
            attempt = yield from _racing(untried, f"{host!r} port {port}", setup, options, deadline)
        except ConnectError as again:
            raise connect_error(again.message, (*error.attempts, *again.attempts), again.timed_out) from None
    return (yield from _sending(attempt, setup.data, deadline))


def wait_for_sockets(sockets: Sockets, timeout_s: float | None) -> Sockets:
    """Return those of `sockets` that can be written to, as soon as there are any or the time is over."""
    with _Selector() as selector:
        for sock in sockets:
            selector.register(sock, selectors.EVENT_WRITE, sock)
        return {key.data for key, _ in selector.select(timeout_s)}


def _looking_up(cache: DnsCache, host: Host, port: Port, options: RaceOptions,
                deadline: float | None) -> Generator[Wait, Sockets, list[Address]]:
    """Return the addresses of a name in the order in which they are tried."""
    answer = cache.lookup(host, port)
    if not answer.done():
        yield Wait(_left(deadline), answer=answer)
    if not answer.done():
        raise TimeoutError(ETIMEDOUT, f"timed out looking up {host!r}")
    return interleave(answer.result(), options.prefer)


def _racing(addresses: list[Address], name: str, setup: Setup, options: RaceOptions,
            deadline: float | None) -> Generator[Wait, Sockets, Attempt]:
    """Return the first attempt whose handshake completes; every other socket is closed. Raises ConnectError."""
    race = Race(addresses, options.max_attempts, options.stagger, deadline)
    running: dict[socket.socket, Attempt] = {}      # in the order started, which decides between several ready at once
    winner = None
    try:
        while winner is None:
            now = time.monotonic()
            while (address := race.take(now)) is not None:
                _start(address, setup, running, race)
            if race.is_lost():
                raise race.error(name)
            ready = yield Wait(race.wait_s(now), running)
            winner = _first_of([attempt for sock, attempt in running.items() if sock in ready], running, race)
            if winner is None and race.is_late(time.monotonic()):
                raise race.error(name)
    finally:
        close_all(sock for sock, attempt in running.items() if attempt is not winner)
    return winner


def _start(address: Address, setup: Setup, running: dict[socket.socket, Attempt], race: Race) -> None:
    try:
        attempt = begin(address, setup)
    except OSError as error:
        race.failed(address, error, time.monotonic())
    else:
        running[attempt.sock] = attempt


def _first_of(ready: list[Attempt], running: dict[socket.socket, Attempt], race: Race) -> Attempt | None:
    """Return the first of the attempts that completed its handshake, and close those that failed before it."""
    for attempt in ready:
        code = attempt.outcome()
        if code == 0:
            return attempt
        del running[attempt.sock]
        attempt.sock.close()
        race.failed(attempt.address, OSError(code, os.strerror(code)), time.monotonic())
    return None


def _sending(attempt: Attempt, data: bytes, deadline: float | None) -> Connecting:
    """Send what the SYN did not take of the first data, and return the socket."""
    sock, rest = attempt.sock, memoryview(data)[attempt.sent:]
    try:
        while rest:
            ready = yield Wait(_left(deadline), [sock])
            if ready:
                with suppress(BlockingIOError):
                    rest = rest[sock.send(rest):]
            elif deadline is not None and time.monotonic() >= deadline:
                raise TimeoutError(ETIMEDOUT, "timed out")
    except BaseException:
        sock.close()
        raise
    return sock


def _deadline_in(timeout: float | None) -> float | None:
    """Return the monotonic time in `timeout` seconds, or None for none. Raises ValueError as settimeout() does."""
    if timeout is None:
        return None
    if not timeout >= 0:                            # also catches NaN
        raise ValueError("Timeout value out of range")
    return time.monotonic() + timeout


def _left(deadline: float | None) -> float | None:
    """Return the seconds until the deadline, at least 0; None when there is none."""
    return None if deadline is None else max(0.0, deadline - time.monotonic())
