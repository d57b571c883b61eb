"""Connect plus first byte, racing or not, with the request after the handshake or in the SYN."""

import random
import socket
from collections.abc import Sequence

from connie.bench.strategies import FAST_OPEN, wait_for_answer
from connie.lab.costs import measure_cost
from connie.lab.scenarios import PORT, Endpoint, Scenario
from connie.lab.task import REQUEST, ClientTask
from connie.lab.timing import one_time

FAULTS = ("none", "dead")
TCP_FASTOPEN_CONNECT = 30                   # linux/tcp.h; Python has no name for it before 3.13
CONNECTS = 10


def measure_fast_open(task: ClientTask, scenarios: Sequence[Scenario]) -> dict[str, object]:
    """Return times and costs of the four ways, in scenarios where TCP Fast Open has something to do."""
    draw = random.Random(task.seed)
    times, costs = [], []
    for scenario in scenarios:
        if scenario.fault not in FAULTS:
            continue
        for point in scenario.endpoints:
            if point.is_alive:
                fetch_cookie(point, task.timeout_s)
        ways = list(FAST_OPEN)
        spent_ms = dict.fromkeys([way.name for way in ways], 0.0)
        for _ in range(task.rounds):
            draw.shuffle(ways)
            for way in ways:
                if spent_ms[way.name] < task.budget_s * 1000:
                    times.append(one_time(way, scenario, task.timeout_s))
                    spent_ms[way.name] += times[-1]["first_byte_ms"] or task.timeout_s * 1000
        costs += [measure_cost(task, scenario, way, CONNECTS) for way in FAST_OPEN if spent_ms[way.name] <
                  task.budget_s * 1000]
    return {"times": times, "costs": costs}


def fetch_cookie(point: Endpoint, timeout_s: float) -> None:
    """Have the kernel learn the TFO cookie of a server, as any earlier connection with TFO would."""
    with socket.socket(socket.AF_INET6 if point.is_ipv6 else socket.AF_INET, socket.SOCK_STREAM) as sock:
        sock.settimeout(timeout_s)
        sock.setsockopt(socket.IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 1)
        sock.connect((point.address, PORT))
        sock.sendall(REQUEST)
        wait_for_answer(sock)
