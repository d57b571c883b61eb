"""What connects cost: the client's sockets, bytes, CPU time and descriptors, and connections that servers see
aborted."""

import os
import resource
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import product

from connie.bench.sample import Strategy
from connie.lab.counters import Counts, read_counts
from connie.lab.scenarios import PORT, Scenario
from connie.lab.task import REQUEST, ClientTask, Cost, Time

BUDGET_MS = 800.0
MOST, FEWEST = 25, 2
NO_COSTS = ("all-dead", "recovering")
"""Their connects take seconds, and cost what each address tried costs."""


def measure_costs(task: ClientTask, scenarios: Sequence[Scenario], strategies: Sequence[Strategy],
                  times: Sequence[Time]) -> list[Cost]:
    """Measure blocks of connects of one strategy at a time, about 0.8 s of them each, by the kernels' counters."""
    costs = []
    for scenario, strategy in product(scenarios, strategies):
        if scenario.fault not in NO_COSTS:
            taken = [time["first_byte_ms"] for time in times
                     if (time["fault"], time["strategy"]) == (scenario.fault, strategy.name)]
            usual_ms = statistics.median(task.timeout_s * 1000 if value is None else value for value in taken)
            connects = max(FEWEST, min(MOST, int(BUDGET_MS / usual_ms)))
            costs.append(measure_cost(task, scenario, strategy, connects))
    return costs


def measure_cost(task: ClientTask, scenario: Scenario, strategy: Strategy, connects: int) -> Cost:
    """Return the cost of so many connects with a request each. Of curl the CPU time is that of its processes, too.

    Aborted are connections that reached a server and were dropped by the client before they carried a request: half
    open ones, and accepted ones beyond the one that each connect is for.
    """
    succeeded = 0
    with counted(task) as counts:
        before_s = _cpu_s()
        for _ in range(connects):
            with suppress(OSError):
                strategy.measure(scenario.name, PORT, task.timeout_s, REQUEST)
                succeeded += 1
        cpu_ms = (_cpu_s() - before_s) * 1000
    seen = counts[0]
    return Cost(fault=scenario.fault, strategy=strategy.name, connects=connects, sockets=seen.sockets,
                sent_bytes=seen.sent_bytes, aborted=seen.half_open + max(0, seen.accepted - succeeded),
                fast_open=seen.fast_open, cpu_ms=cpu_ms, peak_fds=_peak_fds(task, scenario, strategy))


@contextmanager
def counted(task: ClientTask) -> Iterator[list[Counts]]:
    """Give a list that has what was counted meanwhile as its one item, once all packets have arrived."""
    found: list[Counts] = []
    time.sleep(task.settle_s)
    before = read_counts(task.client_pid, task.interface, task.site_pids)
    yield found
    time.sleep(task.settle_s)
    found.append(read_counts(task.client_pid, task.interface, task.site_pids) - before)


def _cpu_s() -> float:
    return sum(usage.ru_utime + usage.ru_stime for usage in
               (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)))


class DescriptorPeak:
    """Counts this process's descriptors whenever a socket is about to connect: when the last one does they are most."""

    def __init__(self) -> None:
        self.is_watching = False
        self.most = 0
        sys.addaudithook(self._audit)               # cannot be taken back, hence is_watching

    def _audit(self, event: str, _arguments: tuple[object, ...]) -> None:
        if self.is_watching and event == "socket.connect":
            self.most = max(self.most, open_descriptors())


_PEAK: list[DescriptorPeak] = []


def open_descriptors() -> int:
    """Return how many descriptors this process has open, not counting the one that is needed to look."""
    return len(os.listdir("/proc/self/fd")) - 1  # noqa: PTH208 - the fastest way, and it is in everybody's connects


def _peak_fds(task: ClientTask, scenario: Scenario, strategy: Strategy) -> int | None:
    """Return how many descriptors one connect has open at its peak; None for another program's."""
    if strategy.name == "curl":
        return None
    if not _PEAK:
        _PEAK.append(DescriptorPeak())
    peak, before = _PEAK[0], open_descriptors()
    peak.most, peak.is_watching = before, True
    try:
        with suppress(OSError):
            strategy.measure(scenario.name, PORT, task.timeout_s, REQUEST)
    finally:
        peak.is_watching = False
    return peak.most - before
