"""The round-trip time as TCP sees it: how long connect() takes.

And that of servers on this machine's loopback (harness.network.star), where no packet takes any time: the delay is the
servers' own doing (harness.replay.connection), and is measured by their first answers.
"""

import socket
import ssl
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

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


class RttError(ExperimentError):
    """The network is there, but the RTT to a server is not the one that was asked for."""


def measure_rtts(star: Star, port: int, samples: int = SAMPLES, pace_s: float = PACE_S) -> dict[str, float]:
    """Return the shortest TCP connect time from user to each server in ms, by host name.

    Meant for before the servers listen: a refusal takes one round trip too, and leaves no trace in their logs.
    Raises ExperimentError when a server is silent for 10 s.
    """
    places = {name: (server.address, port) for name, server in star.servers.items()}
    with inside(star.user.pid):
        return shortest_ms(places, connect, pace_s, samples)


Server = TypeVar("Server")


def shortest_ms(servers: Mapping[str, Server], wait: Callable[[Server], object], pace_s: float,
                samples: int = SAMPLES) -> dict[str, float]:
    """Return how long `wait` takes for each of the `servers` at least, in ms, by name.

    Each wait has a thread of its own, in the network that the caller is in, and one begins each `pace_s`.
    """
    def waited_ms(server: Server) -> float:
        began_s = time.perf_counter()
        wait(server)
        return (time.perf_counter() - began_s) * 1000

    rounds, pool = [], ThreadPoolExecutor(len(servers))
    try:
        for _ in range(samples):
            waiting = []
            for server in servers.values():
                waiting.append(pool.submit(waited_ms, server))
                time.sleep(pace_s)
            rounds.append([each.result() for each in waiting])
        pool.shutdown()
    except RuntimeError as error:       # no more threads
        raise ExperimentError(f"the RTTs cannot be measured: {error}; allow more processes (ulimit -u, or the "
                              "container's limit) and try again") from None
    finally:
        pool.shutdown(wait=False)       # Ctrl-C waits for no server that is silent
    return dict(zip(servers, map(min, zip(*rounds, strict=True)), strict=True))


def connect(place: tuple[str, int]) -> None:
    """Connect to an address and port; return when it has accepted or refused. Raises ExperimentError."""
    where = f"{place[0]}:{place[1]}"
    with socket.socket() as client:
        client.settimeout(TIMEOUT_S)
        try:
            client.connect(place)
        except ConnectionRefusedError:
            pass
        except TimeoutError:
            raise ExperimentError(f"{where} did not answer within {TIMEOUT_S:g} s; the simulated network does not pass "
                                  "packets") from None
        except OSError as error:
            raise ExperimentError(f"{where} cannot be reached: {error.strerror}") from None


def rtt_tolerance_ms(nominal_ms: float) -> float:
    """Return by how much a measured RTT may be off a nominal one; 1 ms where no delay was asked for."""
    tolerance_ms = TOLERANCE_RATIO * nominal_ms + TOLERANCE_MS
    return min(tolerance_ms, TOLERANCE_LIMIT_RATIO * nominal_ms) if nominal_ms else tolerance_ms


def check_rtts(measured_ms: Mapping[str, float], nominal_ms: Mapping[str, float]) -> None:
    """Raise RttError when the RTT measured to a server is off its nominal one by more than `rtt_tolerance_ms`."""
    for name, rtt_ms in measured_ms.items():
        wanted_ms = nominal_ms[name]
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
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE

    def first_answer(server: tuple[str, int, bool]) -> None:
        address, port, secure = server
        try:
            with socket.create_connection((address, port), ANSWER_S) as client:
                if secure:
                    trust.wrap_socket(client).close()
                    return
                client.sendall(ASKED)
                if not client.recv(1):
                    raise ConnectionError("it closed the connection")
        except OSError as error:
            raise ExperimentError(f"{address}:{port}: its server does not answer ({error!r})") from None

    return {name: time_ms / 2 for name, time_ms in shortest_ms(servers, first_answer, HELD_PACE_S).items()}
