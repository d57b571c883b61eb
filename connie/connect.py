"""Connect to a host by name, from a thread."""

import random
import socket
import time
from collections.abc import Iterable, Sequence

from connie.addresses import Address, Host, Port, Preference, SourceAddress, interleave
from connie.attempt import Attempt, Setup, SocketOption, places
from connie.cache import CACHE, DnsCache, Question, cache_or_none
from connie.errors import ConnectError, failed_again
from connie.options import RaceOptions
from connie.race import Race
from connie.schedule import Schedule


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
    setup = Setup(source_addr, tfo or b"", tuple(socket_options))
    return connect_as(host, port, timeout, setup, options)


def connect_as(host: Host, port: Port, timeout: float | None, setup: Setup, options: RaceOptions) -> socket.socket:
    """Do what connie_connect does, with its options in two objects. See there."""
    deadline = deadline_in(timeout)
    cache = cache_or_none(options.cache)
    question = Question(host, port)
    answer = cache.lookup(question, left(deadline))
    addresses = order(answer.addresses, options)
    try:
        attempt = _race(addresses, question, setup, options, deadline)
    except ConnectError as error:
        cache.forget(question)                      # whatever the cause, the next caller asks anew
        if error.timed_out or not answer.cached:
            raise
        untried = order(set_apart(cache.lookup(question, left(deadline)).addresses, addresses), options)
        if not untried:
            raise
        try:
            attempt = _race(untried, question, setup, options, deadline)
        except ConnectError as again:
            raise failed_again(error, again) from None
    return _finish(attempt, setup, timeout, deadline)


def cached_dns_connect(host: Host, port: Port, timeout: float | None = None, source_addr: SourceAddress | None = None,
                       *, cache: DnsCache | None = CACHE) -> socket.socket:
    """Connect to one address of `host`, drawn at random from the cached answer: the rung between plain and racing.

    timeout: seconds for the lookup and the handshake together, and then the socket's own; None: no limit.
    Raises what `socket.create_connection` raises for a host of that one address.
    """
    deadline = deadline_in(timeout)
    addresses = cache_or_none(cache).lookup(Question(host, port), left(deadline)).addresses
    address = random.choice(nonempty(addresses))
    sock = socket.socket(address.family, address.kind, address.proto)
    try:
        if source_addr:
            sock.bind(source_addr)
        # 0 would mean "non-blocking"; the least there is means "over at once".
        remaining = left(deadline)
        sock.settimeout(None if remaining is None else max(remaining, 1e-6))
        sock.connect(address.sockaddr)
        sock.settimeout(timeout)
    except BaseException:
        sock.close()
        raise
    return sock


def deadline_in(timeout: float | None) -> float | None:
    """Return the monotonic time in `timeout` seconds, or None for none. Raises ValueError as settimeout() does."""
    if timeout is None:
        return None
    if not timeout >= 0:                            # also catches NaN
        raise ValueError("Timeout value out of range")
    return time.monotonic() + timeout


def left(deadline: float | None) -> float | None:
    """Return the seconds until the deadline, at least 0; None when there is none."""
    return None if deadline is None else max(0.0, deadline - time.monotonic())


def nonempty(addresses: Sequence[Address]) -> Sequence[Address]:
    """Return `addresses`, or raise what `socket.create_connection` raises for an empty answer."""
    if not addresses:
        raise OSError("getaddrinfo returns an empty list")
    return addresses


def order(addresses: Sequence[Address], options: RaceOptions) -> list[Address]:
    """Return the addresses in the order in which they are tried."""
    return interleave(addresses, options.prefer)


def set_apart(addresses: Sequence[Address], tried: Sequence[Address]) -> list[Address]:
    """Return those not tried yet."""
    return [address for address in addresses if address not in tried]


def _race(addresses: list[Address], question: Question, setup: Setup, options: RaceOptions,
          deadline: float | None) -> Attempt:
    schedule = Schedule(nonempty(addresses), places(setup, options.max_attempts), options.stagger)
    return Race(addresses, setup, schedule, deadline).run(str(question))


def _finish(attempt: Attempt, setup: Setup, timeout: float | None, deadline: float | None) -> socket.socket:
    """Send what the SYN did not take of the first data, and give the winner its caller's timeout."""
    sock = attempt.sock
    try:
        if attempt.sent < len(setup.data):
            remaining = left(deadline)
            sock.settimeout(None if remaining is None else max(remaining, 1e-6))
            sock.sendall(setup.data[attempt.sent:])
        sock.settimeout(timeout)
    except BaseException:
        sock.close()
        raise
    return sock
