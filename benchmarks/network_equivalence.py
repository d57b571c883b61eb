#!/usr/bin/env python3
"""Compare netem and the delay line: is the packet timing of the same small star the same?

packet_timing.py runs --rounds times each, in turn, with the delay line on this kernel, with the delay line in User-mode
Linux, and with netem in User-mode Linux (scripts/uml.sh), where the kernel and its one slow processor are the same for
both. It prints a table and draws docs/network.png, in about 4 minutes. docs/network.md says what comes of it.
"""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import ROOT, use_project_python

use_project_python()

import numpy
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from benchmarks.report import print_table
from benchmarks.transfers import BULK_BYTES, SPEEDS, Arrivals
from harness.errors import ExperimentError
from harness.system.atomic import written_beside
from harness.system.contained import begin_experiment
from harness.system.environment import print_machine
from harness.system.options import ROUNDS, OptionParser
from harness.system.signals import run_interruptible

MEASURE = ["benchmarks/packet_timing.py"]
# iptables-nft needs what User-mode Linux 6.1 of Debian does not have (nf_tables for IPv4): the legacy one, there.
LEGACY = ('mkdir /tmp/legacy && ln -s "$(command -v iptables-legacy)" /tmp/legacy/iptables && '
          'PATH=/tmp/legacy:$PATH exec "$@"')
IN_UML = ["scripts/uml.sh", "sh", "-c", LEGACY, "sh"]
WINDOW_GAP_MS = 20.0
"""Silence between two windows of slow start: packets of one window come 0.6 ms apart at 20 Mbit/s."""
TIMEOUT_S = 200.0
DPI = 110


@dataclass
class Situation:
    """A network on a kernel, how to draw it, and all that was measured there."""

    name: str
    command: list[str]
    colour: str
    line: str
    rtts_ms: list[float] = field(default_factory=list)
    arrivals: list[Arrivals] = field(default_factory=list)
    finished_ms: list[list[float]] = field(default_factory=list)
    kernel: str = ""

    def measure(self) -> None:
        """Run packet_timing.py once and keep what it found. Raises ExperimentError with the last it said."""
        done = subprocess.run(self.command, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_S,
                              check=False)
        if done.returncode != 0:
            raise ExperimentError(f"{self.name}: packet_timing.py failed: {done.stderr.strip()[-500:]}")
        found = json.loads(done.stdout)
        self.kernel = found["kernel"]
        self.rtts_ms += found["rtts_ms"]
        self.arrivals += found["arrivals"]
        self.finished_ms += found["finished_ms"]


def main() -> int:
    """Measure, print, draw."""
    parser = OptionParser(description=__doc__)
    parser.add_argument("--rounds", type=ROUNDS, default=2, help="runs in each situation (%(default)s)")
    parser.add_argument("--figure", type=Path, default=ROOT / "docs" / "network.png", help="(%(default)s)")
    arguments = parser.parse_args()
    begin_experiment("benchmarks/network_equivalence.py")
    print_machine()
    situations = [
        Situation("delay line, this kernel", [*MEASURE, "delay-line"], "#2171b5", "-"),
        Situation("delay line, UML", [*IN_UML, *MEASURE, "delay-line"], "#74a9cf", "--"),
        Situation("netem, UML", [*IN_UML, *MEASURE, "netem"], "#b30000", ":")]
    for _ in range(arguments.rounds):
        for situation in situations:
            situation.measure()
            print(f"# {situation.name} (Linux {situation.kernel}): done; load average {os.getloadavg()[0]:.2f}",
                  flush=True)
    print_table(["", *(situation.name for situation in situations)], table(situations))
    draw(situations, arguments.figure)
    return 0


def table(situations: Sequence[Situation]) -> list[list[str]]:
    """Return the rows: one column for each situation."""
    rows = [[f"RTT, p{percent}, ms", *(f"{numpy.percentile(measured.rtts_ms, percent):.2f}" for measured in situations)]
            for percent in (1, 25, 50, 75, 99)]
    starts = [[window_starts(run) for run in situation.arrivals] for situation in situations]
    for number in range(min(len(run) for runs in starts for run in runs)):
        rows.append([f"1 MB: window {number + 1} begins, ms",
                     *(middle([run[number][0] for run in runs]) for runs in starts)])
        rows.append(["1 MB: segments before it",
                     *(f"{statistics.median(run[number][1] for run in runs) / 1448:.1f}" for runs in starts)])
    rows.append(["1 MB: all there, ms",
                 *(middle([run[-1][0] for run in situation.arrivals]) for situation in situations)])
    for name, pick in (("first", min), ("median", statistics.median), ("last", max)):
        rows.append([f"20 x 50 kB: {name} all there, ms",
                     *(middle([pick(run) for run in situation.finished_ms]) for situation in situations)])
    return rows


def middle(values: Sequence[float]) -> str:
    """Return median and range in words."""
    return f"{statistics.median(values):.1f} ({min(values):.1f} to {max(values):.1f})"


def window_starts(arrivals: Arrivals) -> Arrivals:
    """Return for each window of slow start when its first bytes came and how many had come before: after a silence."""
    starts: Arrivals = []
    before_ms, before_bytes = -1e9, 0
    for time_ms, so_far in arrivals:
        if time_ms - before_ms > WINDOW_GAP_MS:
            starts.append((time_ms, before_bytes))
        before_ms, before_bytes = time_ms, so_far
    return starts


def draw(situations: Sequence[Situation], path: Path) -> None:
    """Draw the three comparisons beside each other into `path`."""
    figure = Figure(figsize=(13, 4.2), layout="constrained")
    rtts, slow_start, together = figure.subplots(1, 3)
    for situation in situations:
        style: dict[str, Any] = {"color": situation.colour, "linestyle": situation.line, "linewidth": 2,
                                 "label": situation.name}
        draw_share(rtts, situation.rtts_ms, style)
        run = sorted(situation.arrivals, key=lambda arrivals: arrivals[-1][0])[len(situation.arrivals) // 2]
        slow_start.step([time_ms for time_ms, _ in run], [so_far / 1e6 for _, so_far in run], where="post", **style)
        draw_share(together, [time_ms for run in situation.finished_ms for time_ms in run], style)
    rtts.set(title="RTT: TCP connect times", xlabel="ms", ylabel="share of connects",
             xlim=(SPEEDS.rtt_ms - 0.2, SPEEDS.rtt_ms + 2))
    slow_start.set(title=f"{BULK_BYTES / 1e6:g} MB over one connection, the median run", xlabel="ms after connect()",
                   ylabel="MB received")
    together.set(title="20 connections at once, 50 kB each", xlabel="ms after connect()", ylabel="share complete")
    for axes in (rtts, slow_start, together):
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small", loc="lower right")
    FigureCanvasAgg(figure)
    with written_beside(path) as beside:
        figure.savefig(beside, dpi=DPI)


def draw_share(axes: Axes, values: Sequence[float], style: dict[str, Any]) -> None:
    """Draw the share of `values` that are at most x."""
    axes.ecdf(values, **style)


if __name__ == "__main__":
    run_interruptible(main)
