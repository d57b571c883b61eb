#!/usr/bin/env python3
"""The star's client: measures all strategies in all scenarios, and prints what came of it as JSON.

Runs in the client's network namespace (star.py starts it). Argument: a JSON file of ClientTask's fields.
"""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)
from harness.bootstrap import use_project_python

use_project_python()

import json
import os
import time
from contextlib import ExitStack, suppress

from connie.bench.peers import open_peers
from connie.bench.sample import Strategy
from connie.bench.strategies import OWN
from connie.lab.costs import measure_costs
from connie.lab.fast_open import measure_fast_open
from connie.lab.moving import measure_moving
from connie.lab.scenarios import MOVING
from connie.lab.task import ClientTask, read_task
from connie.lab.timing import measure_times
from connie.lab.warm_up import warm_up
from harness.errors import run_main
from harness.system.processes import die_with_parent

REALTIME_PRIORITY = 10
"""Below the paths' own (50): what is measured is the network, not how long this program waits for a processor."""


def main() -> int:
    """Measure everything the task asks for."""
    task = read_task(Path(sys.argv[1]))
    die_with_parent()
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(REALTIME_PRIORITY))
    with ExitStack() as stack:
        strategies = [*OWN, *stack.enter_context(open_peers())]
        wanted = [strategy for strategy in strategies if strategy.name in task.strategies or not task.strategies]
        json.dump(measure(task, wanted), sys.stdout)
    return 0


def measure(task: ClientTask, strategies: list[Strategy]) -> dict[str, object]:
    """Return times, costs and what TCP Fast Open does to them."""
    still = [scenario for scenario in task.scenarios if scenario.fault not in MOVING]
    began_s = time.monotonic()
    warm_up(task)
    times = measure_times(task, still, strategies)
    for scenario in task.scenarios:
        if scenario.fault in MOVING:
            times += measure_moving(task, scenario, strategies)
    print("now what connects cost, and TCP Fast Open", file=sys.stderr, flush=True)
    costs = measure_costs(task, still, strategies, times)
    fast_open = measure_fast_open(task, still)
    return {"times": times, "costs": costs, "fast_open": fast_open, "took_s": time.monotonic() - began_s}


if __name__ == "__main__":
    run_main(main)
