"""The round-trip time as TCP sees it: how long connect() takes.

And that of servers on this machine's loopback (harness.network.star), where no packet takes any time: the delay is the
servers' own doing (harness.replay.connection), and is measured by their first answers.
"""

import asyncio
import errno
import os
import selectors
import socket
import ssl
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack

from harness.errors import ExperimentError
from harness.network.star import Star
from harness.system.namespaces import inside

TOLERANCE_RATIO = 0.02
TOLERANCE_MS = 1.0
TOLERANCE_LIMIT_RATIO = 0.4
"""How far a measured RTT may be off the nominal one: 2% + 1 ms, but not over 40% of it: 3 ms for 2 ms would be another
experiment. The delay line is 0.1 to 0.2 ms late, up to 0.6 ms with the first packets of many at once."""

SAMPLES = 3
"""The shortest of them counts: another program's work for a moment makes one late, or two, and nothing makes one early;
a wrong delay stays wrong however often it is measured."""

PACE_S = 0.00125
"""Time from one connect to the next: long enough that they do not queue behind each other on two cores."""

SYN_BITS = 74 * 8
"""Of a SYN on the link. A slow link of user's gets one each twice the time that it takes there."""
HELD_PACE_S = 0.005
"""The same on loopback, where servers answer with work of their own, TLS above all."""

TIMEOUT_S = 10.0
"""How long a server may take to accept a connection."""


Nominal = float | Mapping[str, float]
"""What an RTT should be, in ms: that of all servers, or of each by its name."""


class RttError(ExperimentError):
    """The network is there, but the RTT to a server is not the one that was asked for."""


def measure_rtts(star: Star, port: int, samples: int = SAMPLES, pace_s: float = PACE_S) -> dict[str, float]:
    """Return the shortest TCP connect time from user to each server in ms, by host name.

    Meant for before the servers listen: a refusal takes one round trip too, and leaves no trace in their logs.
    Raises ExperimentError when a server is silent for 10 s.
    """
    addresses = [server.address for server in star.servers.values()]
    with inside(star.user.pid):
        return shortest_ms([*star.servers], lambda: connect_times_ms(addresses, port, pace_s), samples)


def shortest_ms(names: Sequence[str], once: Callable[[], Sequence[float]], samples: int = SAMPLES) -> dict[str, float]:
    """Return the shortest RTT to each of `names`; `once` measures those to all of them, in ms."""
    return dict(zip(names, map(min, zip(*(once() for _ in range(samples)), strict=True)), strict=True))


def connect_times_ms(addresses: Sequence[str], port: int, pace_s: float = PACE_S) -> list[float]:
    """Connect to all `addresses`, to one each `pace_s`; return for each the ms until it accepted or refused.

    Raises ExperimentError when one cannot be reached or does not answer within 10 s.
    """
    times_ms = [0.0] * len(addresses)
    left, due_s = deque(enumerate(addresses)), time.perf_counter()
    with ExitStack() as sockets, selectors.DefaultSelector() as selector:
        while left or selector.get_map():
            if left and time.perf_counter() >= due_s:
                index, address = left.popleft()
                client = sockets.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
                client.setblocking(False)
                began_s = time.perf_counter()
                result = client.connect_ex((address, port))
                if result not in (0, errno.EINPROGRESS, errno.ECONNREFUSED):
                    raise ExperimentError(f"{address}:{port} cannot be reached: {os.strerror(result)}")
                selector.register(client, selectors.EVENT_WRITE, (index, began_s))
                due_s = max(due_s + pace_s, began_s + pace_s / 2)      # no queue of those that a standstill held up
            ready = selector.select(max(0.0, due_s - time.perf_counter()) if left else TIMEOUT_S)
            now_s = time.perf_counter()
            if not ready and not left:
                silent = addresses[min(key.data[0] for key in selector.get_map().values())]
                raise ExperimentError(f"{silent}:{port} did not answer within {TIMEOUT_S:g} s; "
                                      "the simulated network does not pass packets")
            for key, _ in ready:
                index, began_s = key.data
                times_ms[index] = (now_s - began_s) * 1000
                selector.unregister(key.fileobj)
    return times_ms


def rtt_tolerance_ms(nominal_ms: float) -> float:
    """Return by how much a measured RTT may be off a nominal one; 1 ms where no delay was asked for."""
    tolerance_ms = TOLERANCE_RATIO * nominal_ms + TOLERANCE_MS
    return min(tolerance_ms, TOLERANCE_LIMIT_RATIO * nominal_ms) if nominal_ms else tolerance_ms


def check_rtts(measured_ms: dict[str, float], nominal_ms: Nominal) -> None:
    """Raise RttError when any measured RTT is off the nominal one by more than `rtt_tolerance_ms`."""
    for name, rtt_ms in measured_ms.items():
        wanted_ms = nominal_ms if isinstance(nominal_ms, int | float) else nominal_ms[name]
        tolerance_ms = rtt_tolerance_ms(wanted_ms)
        if abs(rtt_ms - wanted_ms) > tolerance_ms:
            raise RttError(f"RTT to {name} is {rtt_ms:.1f} ms, not {wanted_ms:g} +- {tolerance_ms:.1f} ms: "
                           "nothing was measured; end other programs and try again")


ANSWER_S = 130.0
"""Two round trips of a minute, and some more."""
ASKED = b"HEAD /.tfo-lab-round-trip HTTP/1.0\r\n\r\n"
"""What no recording has an answer to."""


def measure_held_rtts(servers: Mapping[str, tuple[str, int, bool]]) -> dict[str, float]:
    """Return the RTT that each server simulates, in ms: half of what the first answer on a connection takes.

    `servers` are by name: each one's address, its port, and whether it speaks TLS there: then that answer is the one to
    the ClientHello. The shortest of several (`shortest_ms`). Raises ExperimentError when a server does not answer.
    """
    async def once() -> list[float]:
        return await asyncio.gather(*(_first_answer_ms(*server, number * HELD_PACE_S)
                                      for number, server in enumerate(servers.values())))

    return {name: time_ms / 2 for name, time_ms in shortest_ms([*servers], lambda: asyncio.run(once())).items()}


async def _first_answer_ms(address: str, port: int, secure: bool, begin_s: float) -> float:
    await asyncio.sleep(begin_s)
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if secure else None
    if trust:
        trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
    began_s = time.perf_counter()
    try:
        await asyncio.wait_for(_answered(address, port, trust), ANSWER_S)
    except (OSError, EOFError, asyncio.TimeoutError) as error:
        raise ExperimentError(f"{address}:{port}: its server does not answer ({error!r})") from None
    return (time.perf_counter() - began_s) * 1000


async def _answered(address: str, port: int, trust: ssl.SSLContext | None) -> None:
    reader, writer = await asyncio.open_connection(address, port, ssl=trust)
    if not trust:
        writer.write(ASKED)
        await reader.readexactly(1)
    writer.close()
