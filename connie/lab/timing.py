"""How long connects take: every strategy in every scenario, in an order drawn anew for each round."""

import random
import socket
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence

from connie.bench.sample import Strategy
from connie.bench.strategies import Blocking
from connie.lab.scenarios import PORT, Scenario
from connie.lab.task import REQUEST, ClientTask, Time
from harness.system.progress import duration

FLOOR = "nearest alive, alone"
"""A plain connect to the nearest address that is alive, without any name: the RTT as this machine can measure it."""

PAUSE_S = 0.002
"""Between two connects, for what the last one left to do: threads that end, resets of its losers."""

FEWEST = 3
"""Rounds that a strategy gets even when they take it longer than its budget, unless they take FEWEST times as long."""


def measure_times(task: ClientTask, scenarios: Sequence[Scenario], strategies: Sequence[Strategy]) -> list[Time]:
    """Connect, send a request, wait for one byte, close: `task.rounds` times each, within the task's budget."""
    pairs = [(scenario, strategy) for scenario in scenarios for strategy in [*strategies, *_floor(scenario)]]
    draw = random.Random(task.seed)
    spent_s: defaultdict[tuple[str, str], float] = defaultdict(float)
    times: list[Time] = []
    for number in range(task.rounds):
        draw.shuffle(pairs)
        for scenario, strategy in pairs:
            key = scenario.fault, strategy.name
            if spent_s[key] > (task.budget_s if number >= FEWEST else FEWEST * task.budget_s):
                continue
            began_s = time.perf_counter()
            times.append(one_time(strategy, scenario, task.timeout_s))
            spent_s[key] += time.perf_counter() - began_s
            time.sleep(PAUSE_S)
        show_progress(number + 1, task, spent_s.values())
    return times


def seconds_left(done: int, task: ClientTask, spent_s: Iterable[float]) -> float:
    """Return about how long the rounds after `done` take; `spent_s` is what each strategy took so far with each fault.

    Each goes on as it did, until its budget is spent.
    """
    return sum(max(0.0, min(task.budget_s - spent, spent / done * (task.rounds - done))) for spent in spent_s)


def show_progress(done: int, task: ClientTask, spent_s: Iterable[float]) -> None:
    """Say on standard error how far it is: in one line on a terminal, after every tenth round elsewhere."""
    text = f"round {done} of {task.rounds}, about {duration(seconds_left(done, task, spent_s))} left"
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="" if done < task.rounds else "\n", file=sys.stderr, flush=True)
    elif done % 10 == 0:
        print(text, file=sys.stderr, flush=True)


def one_time(strategy: Strategy, scenario: Scenario, timeout_s: float, label: str = "") -> Time:
    """Measure one connect, and what it failed with if it did."""
    fault, began_s = scenario.fault + label, time.perf_counter()
    try:
        sample = strategy.measure(scenario.name, PORT, timeout_s, REQUEST)
    except OSError as error:
        took_ms = (time.perf_counter() - began_s) * 1000
        return Time(fault=fault, strategy=strategy.name, connect_ms=None, first_byte_ms=None, took_ms=took_ms,
                    address="", error=f"{type(error).__name__}: {error}"[:200])
    first_byte_ms = None if sample.first_byte_s is None else sample.first_byte_s * 1000
    return Time(fault=fault, strategy=strategy.name, connect_ms=sample.connect_s * 1000, first_byte_ms=first_byte_ms,
                took_ms=(time.perf_counter() - began_s) * 1000, address=sample.address, error="")


def _floor(scenario: Scenario) -> list[Strategy]:
    """Return a plain connect to the nearest live address, the least that a strategy can take; none if all are dead."""
    nearest = scenario.fastest_alive
    if nearest is None:
        return []
    family = socket.AF_INET6 if nearest.is_ipv6 else socket.AF_INET

    def connect(_host: str, port: int, timeout_s: float | None) -> socket.socket:
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.settimeout(timeout_s)
            sock.connect((nearest.address, port))
        except BaseException:
            sock.close()
            raise
        return sock
    return [Blocking(FLOOR, connect)]
