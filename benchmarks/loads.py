#!/usr/bin/env python3
"""Time what a page load costs besides its PLT, and how much PLT varies between loads of one page.

One page of Paper is loaded --runs times without and with TFO, interleaved, after a warm-up, as tfo.py does. Measured:

    wall     from the start of harness.measure.loads.measure_load to its end; overhead is wall less PLT, and is made of
    before   sysctls and counters of all hosts, Python, chromedriver and Chrome, until navigationStart
    quiet    from loadEventEnd until no packet has passed for 1.5 s, or for 0.5 s with nothing under way (at most 10 s)
    after    quitting Chrome, reading its net-log, writing log and HAR, counters and servers' logs

The coefficient of variation is the PLTs' sample standard deviation over their mean.
"""

import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import use_project_python

use_project_python()

from benchmarks.laboratory import laboratory, read_page_set
from benchmarks.report import print_table
from harness.analysis.stats import coefficient_of_variation
from harness.browser.program import CLOCK_SHIFT_MS
from harness.errors import ExperimentError
from harness.files.pages import BUNDLED
from harness.measure.judge import alone
from harness.measure.laboratory import Laboratory
from harness.measure.loads import record_of
from harness.measure.plan import Load, plan_loads
from harness.measure.reason import texts
from harness.network.needs import check_programs, kernel_has_netem
from harness.system.contained import begin_experiment
from harness.system.environment import print_machine
from harness.system.lock import only_experiment
from harness.system.options import DELAY_MS, RUNS, OptionParser
from harness.system.signals import run_interruptible


@dataclass(frozen=True)
class Cost:
    """Where the time of one load went, in seconds."""

    tfo: int
    plt_s: float
    before_s: float
    quiet_s: float
    after_s: float

    @property
    def overhead_s(self) -> float:
        """All but PLT."""
        return self.before_s + self.quiet_s + self.after_s


def main() -> int:
    """Print the table; the exit status is 1 when a measured load was not valid."""
    parser = OptionParser(description=__doc__)
    parser.add_argument("--page", default="wikipedia", help="part of the page's URL (%(default)s)")
    parser.add_argument("--delaynet", type=DELAY_MS, default=50.0, help="one-way delay in ms (%(default)s)")
    parser.add_argument("--runs", type=RUNS, default=10, help="measured loads without, and with TFO (%(default)s)")
    arguments = parser.parse_args()
    begin_experiment("benchmarks/loads.py")
    check_programs()
    page_set, costs = read_page_set(BUNDLED), []
    page = page_set.page(arguments.page)
    with only_experiment():
        print_machine()
        with laboratory(page_set, arguments.delaynet, netem=kernel_has_netem()) as lab:
            for load in plan_loads([page], arguments.runs + 1, [0, 1], seed=1):
                cost = measure(lab, load)
                if load.run > 0:
                    costs.append(cost)
    print(f"{page.url} at {2 * arguments.delaynet:g} ms RTT; seconds; median (smallest to largest)")
    print_table(["TFO", "loads", "PLT", "variation", "overhead", "before", "quiet", "after"],
                [row(name, [cost for cost in costs if cost.tfo == tfo]) for tfo, name in enumerate(("off", "on"))])
    return 0


def measure(lab: Laboratory, load: Load) -> Cost:
    """Do one load. Raises ExperimentError when it is not valid: its times mean nothing."""
    began_s = time.time()
    record = record_of(lab, load)
    wall_s = time.time() - began_s
    if why_not := alone(record):
        raise ExperimentError(f"run {load.run}, TFO {load.tfo}: {'; '.join(texts(why_not))}")
    if record.plt_ms is None or record.time_origin_ms is None or record.now_ms is None:
        raise ExperimentError(f"run {load.run}, TFO {load.tfo}: no navigation timing")
    plt_s = record.plt_ms / 1000
    before_s = (record.time_origin_ms - CLOCK_SHIFT_MS) / 1000 - began_s
    until_quiet_s = record.now_ms / 1000
    return Cost(load.tfo, plt_s, before_s, until_quiet_s - plt_s, wall_s - before_s - until_quiet_s)


def row(name: str, costs: list[Cost]) -> list[str]:
    """Return the table's row for the loads with TFO off, or on."""
    variation = coefficient_of_variation([cost.plt_s for cost in costs])
    return [name, f"{len(costs)}", spread([cost.plt_s for cost in costs]),
            "" if variation is None else f"{variation * 100:.2f}%", spread([cost.overhead_s for cost in costs]),
            *(f"{statistics.median(values):.2f}" for values in (
                [cost.before_s for cost in costs], [cost.quiet_s for cost in costs], [cost.after_s for cost in costs]))]


def spread(values: list[float]) -> str:
    """Return median and range in words."""
    return f"{statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f})"


if __name__ == "__main__":
    run_interruptible(main)
