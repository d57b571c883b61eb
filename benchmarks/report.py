"""What every benchmark prints: the machine and its load on top, then a plain table."""

import os
import time
from collections.abc import Sequence
from pathlib import Path

from harness import environment

GAP = "  "


def print_machine() -> None:
    """Print when and on what the numbers below are measured. A high load average means that they are disturbed."""
    facts = environment.machine()
    loads = ", ".join(f"{load:.2f}" for load in os.getloadavg())
    print(f"# {time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime())}; {facts['cpus']} x {_processor()}; "
          f"Linux {facts['kernel']}; Python {facts['python']}; commit {facts['git'] or 'unknown'}")
    print(f"# load average before: {loads} (1, 5, 15 minutes)", flush=True)


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows of cells under their header: the first column to the left, numbers to the right."""
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    for row in [header, *rows]:
        first, *others = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        print(GAP.join([first.strip().ljust(widths[0]), *others]).rstrip())


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return " ".join(line.partition(":")[2].split())
    return "processor of unknown model"
