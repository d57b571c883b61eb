"""The star's client: measures all strategies with all faults, and prints what came of it as JSON.

Runs in the client's network namespace (star.py starts it). Argument: JSON of a Task.
"""

import os
import random
import resource
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

import msgspec

from connie.bench.peers import open_peers
from connie.bench.strategies import OWN, RACE_TFO, Measure
from connie.lab.task import FLOOR, PORT, PROFILES, REQUEST, Cost, Results, Scenario, Task, Time
from connie.lab.warm_up import to_address, warm_up
from harness.errors import run_main
from harness.system.fastopen import parse_netstat
from harness.system.namespaces import inside

REALTIME_PRIORITY = 10
"""Below the paths' own (50): what is measured is the network, not how long this program waits for a processor."""

PAUSE_S = 0.002
"""Between two connects, for what the last one left to do: threads that end, resets of its losers."""

SETTLE_S = 0.3
"""By then no packet of a connect is under way any more: two round trips of the farthest address."""

COST_CONNECTS = 5
NET = Path("/proc/thread-self/net")


def main() -> int:
    """Measure everything the task asks for."""
    task = msgspec.json.decode(sys.argv[1], type=Task)
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(REALTIME_PRIORITY))
    with ExitStack() as stack:
        strategies = {name: measure for name, measure in (OWN | RACE_TFO).items()
                      if name in task.strategies or not task.strategies}
        strategies |= stack.enter_context(open_peers(task.strategies))
        for scenario in task.scenarios:
            warm_up(scenario, PROFILES[task.profile].jitter_ms, task.timeout_s)
        times = measure_times(task, strategies)
        costs = [measure_cost(task, scenario, *named) for scenario in task.scenarios for named in strategies.items()]
        sys.stdout.write(msgspec.json.encode(Results(times, costs)).decode())
    return 0


def measure_times(task: Task, strategies: Mapping[str, Measure]) -> list[Time]:
    """Connect, send a request, wait for one byte, close: `task.rounds` times each, within the task's budget.

    The order of faults and strategies is drawn anew for each round.
    """
    pairs = [(scenario, *named) for scenario in task.scenarios
             for named in [*strategies.items(), (FLOOR, floor_of(scenario))]]
    draw = random.Random(task.seed)
    spent_s: defaultdict[tuple[Scenario, str], float] = defaultdict(float)
    times: list[Time] = []
    for number in range(task.rounds):
        draw.shuffle(pairs)
        for scenario, name, measure in pairs:
            key = scenario, name
            if spent_s[key] < task.budget_s:
                began_s = time.perf_counter()
                times.append(one_time(name, measure, scenario, task.timeout_s))
                spent_s[key] += time.perf_counter() - began_s
                time.sleep(PAUSE_S)
        if (number + 1) % 10 == 0:
            print(f"round {number + 1} of {task.rounds}", file=sys.stderr, flush=True)
    return times


def one_time(name: str, measure: Measure, scenario: Scenario, timeout_s: float) -> Time:
    """Measure one connect by the strategy of that name, and what it failed with if it did."""
    try:
        sample = measure(scenario.name, PORT, timeout_s, REQUEST)
    except OSError as error:
        return Time(scenario.fault, name, None, None, "", f"{type(error).__name__}: {error}"[:200])
    connect_ms, first_byte_ms = sample.connect_s * 1000, (sample.first_byte_s or 0.0) * 1000
    return Time(scenario.fault, name, connect_ms, first_byte_ms, sample.address, "")


def floor_of(scenario: Scenario) -> Measure:
    """Return the least that a strategy can take."""
    nearest = scenario.alive[0].address
    return lambda _host, port, timeout_s, request=b"": to_address(nearest, port, timeout_s, request)


def measure_cost(task: Task, scenario: Scenario, name: str, measure: Measure) -> Cost:
    """Return what a few connects of one strategy cost by the kernels' counters, whatever it says itself."""
    before, before_s = _counted(task), _cpu_s()
    succeeded = sum(not one_time(name, measure, scenario, task.timeout_s).error for _ in range(COST_CONNECTS))
    cpu_s = _cpu_s() - before_s
    seen = _counted(task)
    seen.subtract(before)
    aborted = seen["EmbryonicRsts"] + max(0, seen["PassiveOpens"] - succeeded)
    return Cost(scenario.fault, name, COST_CONNECTS, *(total / COST_CONNECTS for total in (
        seen["ActiveOpens"], seen["bytes"], aborted, seen["TCPFastOpenPassive"], cpu_s * 1000)))


def _counted(task: Task) -> "Counter[str]":
    """Return the counters of the client and of all sites together, once all packets have arrived. Needs root."""
    time.sleep(SETTLE_S)
    found: Counter[str] = Counter()
    for pid in task.site_pids:
        with inside(pid):
            found.update(_of_tcp("snmp", "Tcp:", "PassiveOpens"))
            found.update(_of_tcp("netstat", "TcpExt:", "EmbryonicRsts", "TCPFastOpenPassive"))
    with inside(task.client_pid):
        found.update(_of_tcp("snmp", "Tcp:", "ActiveOpens"))
        devices = (NET / "dev").read_text(encoding="ascii")
    [numbers] = [line.partition(":")[2].split() for line in devices.splitlines()
                 if line.partition(":")[0].strip() == task.interface]
    found["bytes"] = int(numbers[8])
    return found


def _of_tcp(file: str, tag: str, *names: str) -> dict[str, int]:
    values = parse_netstat((NET / file).read_text(encoding="ascii"), tag)
    return {name: values.get(name, 0) for name in names}


def _cpu_s() -> float:
    return sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, (resource.RUSAGE_SELF,
                                                                                     resource.RUSAGE_CHILDREN)))


if __name__ == "__main__":
    run_main(main)
