"""The ways to connect that are compared: connie's and the standard library's; other people's are in peers.py."""

import socket
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import perf_counter

from connie import CACHE, DnsCache, cached_dns_connect, connie_connect
from connie.bench.sample import Sample, Strategy

Connect = Callable[[str, int, float | None], socket.socket]


@dataclass(frozen=True)
class Blocking:
    """A function that returns a connected blocking socket."""

    name: str
    connect: Connect

    def measure(self, host: str, port: int, timeout_s: float | None, request: bytes = b"") -> Sample:
        """See Strategy."""
        began = perf_counter()
        with self.connect(host, port, timeout_s) as sock:
            connect_s = perf_counter() - began
            address = sock.getpeername()[0]
            if not request:
                return Sample(connect_s, None, address)
            sock.sendall(request)
            wait_for_answer(sock)
            return Sample(connect_s, perf_counter() - began, address)


@dataclass(frozen=True)
class FastOpenStrategy:
    """connie_connect with the request as its `tfo`: in the SYN where the kernel has a cookie of the server."""

    name: str
    max_attempts: int | None = None

    def measure(self, host: str, port: int, timeout_s: float | None, request: bytes = b"") -> Sample:
        """See Strategy."""
        began = perf_counter()
        with connie_connect(host, port, timeout_s, tfo=request, max_attempts=self.max_attempts) as sock:
            connect_s = perf_counter() - began
            wait_for_answer(sock)
            # The peer's name is known only now: with data in its SYN a socket may be handed out before the handshake.
            return Sample(connect_s, perf_counter() - began, sock.getpeername()[0])


def wait_for_answer(sock: socket.socket) -> None:
    """Wait for one byte. Raises ConnectionError when the peer closes instead, TimeoutError after the socket's time."""
    if not sock.recv(1):
        raise ConnectionError("the server closed the connection without an answer")


RACE_CACHE, ONE_ADDRESS_CACHE = DnsCache(), DnsCache()
"""A cache for each of OWN that remembers names: from a common one each gets answers that the other waited for."""

CACHES = (RACE_CACHE, ONE_ADDRESS_CACHE, CACHE)
"""Whatever remembers names here; CACHE is that of FAST_OPEN."""

CONNIE = Blocking("connie_connect", partial(connie_connect, cache=RACE_CACHE))
CACHED_DNS = Blocking("cached_dns_connect", partial(cached_dns_connect, cache=ONE_ADDRESS_CACHE))
PLAIN = Blocking("create_connection", lambda host, port, timeout_s: socket.create_connection((host, port), timeout_s))
OWN: tuple[Strategy, ...] = (CONNIE, CACHED_DNS, PLAIN)
"""The three rungs of 2013: race; cached names and one address; names asked for each time and addresses in turn."""

FAST_OPEN: tuple[Strategy, ...] = (
    Blocking("one address", lambda host, port, timeout_s: connie_connect(host, port, timeout_s, max_attempts=1)),
    Blocking(CONNIE.name, connie_connect),
    FastOpenStrategy("one address, TFO", max_attempts=1),
    FastOpenStrategy("connie_connect, TFO"),
)
"""For the first byte: racing or not, request after the handshake or in the SYN. All four have one cache, CACHE: one
address is the same with TFO and without, and whose turn it is to wait for a lookup is drawn anew in each round."""
