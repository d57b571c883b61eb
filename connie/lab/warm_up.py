"""Before anything is measured: does every name resolve, and is every address as far away as it is meant to be?"""

import socket
import time
from contextlib import suppress

from connie.lab.scenarios import PORT, Endpoint, Scenario
from connie.lab.task import ClientTask
from harness.errors import ExperimentError

SAMPLES = 5
TOLERANCE_RATIO, TOLERANCE_MS = 0.02, 1.0
"""harness.network.rtt's own, to which the jitter is added."""
JITTERS = 5


def warm_up(task: ClientTask) -> None:
    """Look up every name, and connect to every address that is alive; what is learned on the way stays learned.

    Raises ExperimentError when a name does not resolve, or an RTT is not what the profile says.
    """
    for scenario in task.scenarios:
        _look_up(scenario)
        for point in (*scenario.endpoints, *scenario.later):
            if point.is_alive:
                check_rtt(point, task)


def _look_up(scenario: Scenario) -> None:
    """The very first question of a new star may be lost, and is asked again."""
    for _ in range(SAMPLES):
        with suppress(socket.gaierror):
            found = {entry[4][0] for entry in socket.getaddrinfo(scenario.name, PORT, type=socket.SOCK_STREAM)}
            if found == {point.address for point in scenario.endpoints}:
                return
    raise ExperimentError(f"the star's name server does not give the addresses of {scenario.name}")


def check_rtt(point: Endpoint, task: ClientTask) -> None:
    """Raise ExperimentError unless a connect to an address takes as long as its RTT says, jitter aside."""
    limit_ms = TOLERANCE_RATIO * point.rtt_ms + TOLERANCE_MS + JITTERS * task.jitter_ms
    rtts_ms: list[float] = []
    # Dozens of addresses are checked, and one hiccup of the machine is no reason to give up: the best of a few counts.
    while len(rtts_ms) < SAMPLES:
        rtts_ms.append(_connect_ms(point, task.timeout_s))
        if -TOLERANCE_MS < rtts_ms[-1] - point.rtt_ms < limit_ms:
            return
    raise ExperimentError(f"RTT to {point.address} is {min(rtts_ms):.1f} ms, not {point.rtt_ms:g}: "
                          "nothing was measured; end other programs and try again")


def _connect_ms(point: Endpoint, timeout_s: float) -> float:
    began_s = time.perf_counter()
    with socket.socket(socket.AF_INET6 if point.is_ipv6 else socket.AF_INET, socket.SOCK_STREAM) as sock:
        sock.settimeout(timeout_s)
        try:
            sock.connect((point.address, PORT))
        except OSError as error:
            raise ExperimentError(f"{point.address} cannot be reached: {error}") from None
        return (time.perf_counter() - began_s) * 1000
