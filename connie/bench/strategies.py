"""What is measured of one connection, and the ways to connect and to fetch: connie's and the standard library's.

Each way is given the same name, and finds its addresses itself. A time begins before the name is looked up and ends
with the connection, or with the first byte of the answer where a request is sent. Whoever fetches / from a host follows
no redirects, and any status counts.
"""

import http.client
import socket
import ssl
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple, Protocol

import connie.http
from connie import DnsCache, RaceOptions, cached_dns_connect, connie_connect
from connie.bench.rounds import Call


class Sample(NamedTuple):
    """One connection: seconds until it stood, until the first byte of the answer (None: no request), and to whom."""

    connect_s: float
    first_byte_s: float | None
    address: str


class Measure(Protocol):
    """Connects, sends `request` if there is one and waits for one byte, closes. Raises OSError."""

    def __call__(self, host: str, port: int, timeout_s: float, request: bytes = b"") -> Sample:
        """Return what was measured."""


def blocking(connect: Callable[[str, int, float], socket.socket]) -> Measure:
    """Return what measures a function that returns a connected socket."""
    def measure(host: str, port: int, timeout_s: float, request: bytes = b"") -> Sample:
        began = perf_counter()
        with connect(host, port, timeout_s) as sock:
            return exchanged(sock, perf_counter() - began, request)
    return measure


def exchanged(sock: socket.socket, connect_s: float, request: bytes) -> Sample:
    """Send a request if there is one, wait for one byte, and return the sample of a connect that took so long."""
    began, address = perf_counter(), sock.getpeername()[0]
    if request:
        sock.sendall(request)
        wait_for_answer(sock)
    return Sample(connect_s, connect_s + perf_counter() - began if request else None, address)


def wait_for_answer(sock: socket.socket) -> None:
    """Wait for one byte. Raises ConnectionError when the peer closes instead, TimeoutError after the socket's time."""
    if not sock.recv(1):
        raise ConnectionError("the server closed the connection without an answer")


def _measure_fast_open(host: str, port: int, timeout_s: float, request: bytes = b"") -> Sample:
    began = perf_counter()
    with connie_connect(host, port, timeout_s, tfo=request, cache=TFO_CACHE) as sock:
        connect_s = perf_counter() - began
        wait_for_answer(sock)
        # The peer's name is known only now: with data in its SYN a socket may be handed out before the handshake.
        return Sample(connect_s, perf_counter() - began, sock.getpeername()[0])


RACE_CACHE, ONE_ADDRESS_CACHE, TFO_CACHE = DnsCache(), DnsCache(), DnsCache()
"""A cache for each strategy that remembers names: from a common one each gets answers that another waited for."""

OWN: dict[str, Measure] = {
    "connie_connect": blocking(partial(connie_connect, cache=RACE_CACHE)),
    "cached_dns_connect": blocking(partial(cached_dns_connect, cache=ONE_ADDRESS_CACHE)),
    "create_connection": blocking(lambda host, port, timeout_s: socket.create_connection((host, port), timeout_s))}
"""The three rungs of 2013: race; cached names and one address; names asked for each time and addresses in turn."""

RACE_TFO: dict[str, Measure] = {"connie_connect, TFO": _measure_fast_open}
"""The race with the request in the SYNs, where the kernel has a cookie of the server. It needs a request."""


def fetches(port: int, timeout_s: float, secure: bool) -> dict[str, Call]:
    """Return what fetches / by each class of connection, by the names of these. secure: over TLS."""
    common: dict[str, Any] = {"port": port, "timeout": timeout_s}
    ending = "HTTPSConnection" if secure else "HTTPConnection"
    if secure:
        # Without a context each connection reads the machine's certificate authorities anew: some 20 ms, in every time.
        common["context"] = ssl.create_default_context()
        common["context"].set_alpn_protocols(["http/1.1"])      # as http.client's own context
    kinds: tuple[tuple[Any, str, dict[str, Any]], ...] = (
        (connie.http, "Connie", {"race": RaceOptions(cache=RACE_CACHE)}),
        (connie.http, "CachedDNS", {"cache": ONE_ADDRESS_CACHE}), (http.client, "", {}))
    return {f"{beginning}{ending}": partial(fetch_s, partial(getattr(module, beginning + ending), **common, **options))
            for module, beginning, options in kinds}


def fetch_s(connection_to: "partial[http.client.HTTPConnection]", host: str) -> float:
    """Fetch / from a host over a new connection; return the seconds it took."""
    began = perf_counter()
    connection = connection_to(host)
    try:
        connection.request("GET", "/", headers={"Connection": "close"})
        connection.getresponse().read()
    except http.client.HTTPException as error:
        raise ConnectionError(f"{type(error).__name__}: {error}") from None
    finally:
        connection.close()
    return perf_counter() - began
