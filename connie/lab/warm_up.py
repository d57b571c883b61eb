"""Before anything is measured: does every name resolve, and is every address as far away as it is meant to be?"""

import socket
from contextlib import suppress

from connie import connie_connect
from connie.bench.strategies import blocking, wait_for_answer
from connie.lab.task import PORT, REQUEST, Endpoint, Scenario
from harness.errors import ExperimentError

SAMPLES = 5
TOLERANCE_RATIO, TOLERANCE_MS = 0.02, 1.0
"""harness.network.rtt's own, to which the jitter is added."""
JITTERS = 5

to_address = blocking(lambda address, port, timeout_s: socket.create_connection((address, port), timeout_s))


def warm_up(scenario: Scenario, jitter_ms: float, timeout_s: float) -> None:
    """Look the name up, and connect to every address that is alive; what is learned on the way stays learned.

    The kernel learns the TFO cookie of every server, too. Raises ExperimentError when the name does not resolve, or an
    RTT is not what the profile says.
    """
    _look_up(scenario)
    try:
        for point in scenario.alive:
            check_rtt(point, jitter_ms, timeout_s)
            with connie_connect(point.address, PORT, timeout_s, tfo=REQUEST) as sock:
                wait_for_answer(sock)
    except OSError as error:
        raise ExperimentError(f"an address of {scenario.name} cannot be reached: {error}") from None


def _look_up(scenario: Scenario) -> None:
    """The very first question of a new star may be lost, and is asked again."""
    for _ in range(SAMPLES):
        with suppress(socket.gaierror):
            found = {entry[4][0] for entry in socket.getaddrinfo(scenario.name, PORT, type=socket.SOCK_STREAM)}
            if found == {point.address for point in scenario.endpoints}:
                return
    raise ExperimentError(f"the star's name server does not give the addresses of {scenario.name}")


def check_rtt(point: Endpoint, jitter_ms: float, timeout_s: float) -> None:
    """Raise ExperimentError unless a connect to an address takes as long as its RTT says, jitter aside."""
    limit_ms = TOLERANCE_RATIO * point.rtt_ms + TOLERANCE_MS + JITTERS * jitter_ms
    # Dozens of addresses are checked, and one hiccup of the machine is no reason to give up: the best of a few counts.
    rtts_ms = []
    for _ in range(SAMPLES):
        rtts_ms.append(1000 * to_address(point.address, PORT, timeout_s).connect_s)
        if -TOLERANCE_MS < rtts_ms[-1] - point.rtt_ms < limit_ms:
            return
    raise ExperimentError(f"RTT to {point.address} is {min(rtts_ms):.1f} ms, not {point.rtt_ms:g}: "
                          "nothing was measured; end other programs and try again")
