"""The ways to connect and to fetch, connie's and the standard library's; rounds of them, and the line of each.

Each way is given the same name, and finds its addresses itself. A time begins before the name is looked up and ends
with the connection, or with the first byte of the answer where a request is sent. Whoever fetches / from a host follows
no redirects, and any status counts.
"""

import http.client
import math
import random
import socket
import ssl
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple, Protocol

import connie.http
from connie import DnsCache, RaceOptions, cached_dns_connect, connie_connect

Call = Callable[[str], float]
"""Does what is measured with the host of that name; returns the seconds it took. Raises OSError when it fails."""


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


@dataclass
class CallTimes:
    """The calls of one strategy: seconds of those that succeeded, in their order, and what the others failed with."""

    times_s: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def run_rounds(calls: Mapping[str, Call], hosts: Sequence[str], rounds: int) -> dict[str, CallTimes]:
    """Call everything in `calls` once in each of so many rounds; return what came of it, by the same names.

    The order is drawn anew for each round, so that none profits from its place; it is the same each time.
    The hosts take turns: round i is for hosts[i % len(hosts)].
    """
    order, draw = list(calls), random.Random(1)
    found = {name: CallTimes() for name in calls}
    for number in range(rounds):
        host = hosts[number % len(hosts)]
        draw.shuffle(order)
        for name in order:
            try:
                found[name].times_s.append(calls[name](host))
            except (OSError, UnicodeError) as error:  # noqa: PERF203 - UnicodeError: a name that cannot be one
                found[name].errors.append(f"{host}: {error}")
    return found


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the smallest of `values` that at least `percent` percent of them do not exceed (nearest rank).

    It is one of the values, so infinite ones, for calls that failed, may be among them.
    """
    return sorted(values)[max(0, math.ceil(len(values) * percent / 100) - 1)]


def format_line(name: str, series: CallTimes) -> str:
    """Return the line of 2013 with what it lacked behind it. All times in seconds.

        connie_connect: count 300, total 18.6567, per call: 0.0622, std dev: 0.0030, median: 0.061812, ...

    2013's figures are about the calls that succeeded. Median and percentiles are of all calls, failed ones counted as
    slower than all others, or who gives up would look quick: `failed` stands for one that lies among these. The
    deviation is that of a sample, sqrt(sum((x - mean)**2) / (n - 1)); the tool of 2013 divided by n outside the root,
    and so printed a value that is sqrt(n) times too small. What 2013 had has 2013's four decimals, the rest six: on
    loopback a connect takes some 0.00005 s. `-` stands for what so few calls do not tell.
    """
    times_s = series.times_s
    mean = statistics.fmean(times_s) if times_s else None
    deviation = statistics.stdev(times_s) if len(times_s) > 1 else None
    all_s = [*times_s, *[math.inf] * len(series.errors)]
    middle, p95, p99 = (_seconds(percentile(all_s, percent) if times_s else None, 6) for percent in (50, 95, 99))
    return (f"{name}: count {len(times_s)}, total {sum(times_s):.4f}, per call: {_seconds(mean)}, "
            f"std dev: {_seconds(deviation)}, median: {middle}, p95: {p95}, p99: {p99}, errors: {len(series.errors)}")


def _seconds(value: float | None, digits: int = 4) -> str:
    if value is None:
        return "-"
    return "failed" if math.isinf(value) else f"{value:.{digits}f}"
