#!/usr/bin/env python3
"""The star's client: measures all strategies in all scenarios, and prints what came of it as JSON.

Runs in the client's network namespace (star.py starts it). Argument: a JSON file of Plan's fields.
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

from connie.bench.strategies import OWN, Strategy, open_peers
from connie.lab.costs import measure_costs
from connie.lab.fast_open import measure_fast_open
from connie.lab.moving import measure_moving
from connie.lab.plan import Plan, read_plan
from connie.lab.scenarios import MOVING
from connie.lab.timing import measure_times
from connie.lab.warm_up import warm_up
from harness.errors import run_main
from harness.processes import die_with_parent

REALTIME_PRIORITY = 10
"""Below the paths' own (50): what is measured is the network, not how long this program waits for a processor."""


def main() -> int:
    """Measure everything the plan asks for."""
    plan = read_plan(Path(sys.argv[1]))
    die_with_parent()
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(REALTIME_PRIORITY))
    with ExitStack() as stack:
        strategies = [*OWN, *stack.enter_context(open_peers())]
        wanted = [one for one in strategies if one.name in plan.strategies or not plan.strategies]
        json.dump(measure(plan, wanted), sys.stdout)
    return 0


def measure(plan: Plan, strategies: list[Strategy]) -> dict[str, object]:
    """Return times, costs and what TCP Fast Open does to them."""
    still = [scenario for scenario in plan.scenarios if scenario.fault not in MOVING]
    began_s = time.monotonic()
    warm_up(plan)
    times = measure_times(plan, still, strategies)
    for scenario in plan.scenarios:
        if scenario.fault in MOVING:
            times += measure_moving(plan, scenario, strategies)
    print("now what connects cost, and TCP Fast Open", file=sys.stderr, flush=True)
    costs = measure_costs(plan, still, strategies, times)
    fast_open = measure_fast_open(plan, still)
    return {"times": times, "costs": costs, "fast_open": fast_open, "took_s": time.monotonic() - began_s}


if __name__ == "__main__":
    run_main(main)
