#!/usr/bin/env python3
"""How near synthetic pages come to the real ones: two folders of results, cell by cell, as in docs/synthetic.md."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import use_project_python

use_project_python()

from harness.analysis.row import Row
from harness.analysis.selection import select
from harness.analysis.stats import improvement_percent, median_if_any
from harness.errors import run_main
from harness.files.results import read_results
from harness.system.options import OptionParser

SHORT_RTT_MS, SHORT_POINTS = 20.0, 5.0
PROMISES = (("requests", "{:g}", 2.0, True), ("hosts", "{:g}", 2.0, True), ("kB", "{:.0f}", 2.0, True),
            ("handshakes", "{:g}", 1.0, False), ("PLT (s)", "{:.3f}", 10.0, True), ("TFO (s)", "{:.3f}", 10.0, True),
            ("improvement (%)", "{:.1f}", 3.0, False))
"""What a cell's figures are called and how they are written; how far they may be off, and whether that is in percent of
the real page's. Hosts are the servers' addresses, requests all, answered or not. TFO's improvement
may be off by 3 percentage points, at 20 ms by 5."""


def figures(row: Row | None) -> list[float] | None:
    """Return a row's figures in the order of PROMISES; None without loads that count both without and with TFO."""
    if row is None or row.off.median_ms is None or row.on.median_ms is None:
        return None
    records = [load.record for load in row.off.loads if load.record and load.record.requests is not None]
    requests, bodies = (median_if_any([getattr(record, what) or 0 for record in records])
                        for what in ("requests", "bytes"))
    if requests is None or bodies is None or row.servers is None or row.handshakes is None:
        return None
    return [requests, row.servers, bodies / 1000, row.handshakes, row.off.median_ms / 1000, row.on.median_ms / 1000,
            improvement_percent(row.off.median_ms, row.on.median_ms)]


def compared(real: Sequence[float], made: Sequence[float], rtt_ms: float) -> list[str]:
    """Return both pages' figures, and at the end which promises are not met, and by how much."""
    cells, broken = [], []
    for (title, form, most, relative), of_real, of_made in zip(PROMISES, real, made, strict=True):
        cells.append(f"{form.format(of_real)} / {form.format(of_made)}")
        off = (of_made - of_real) / (of_real / 100 if relative else 1)
        limit = SHORT_POINTS if (title, rtt_ms <= SHORT_RTT_MS) == (PROMISES[-1][0], True) else most
        if abs(off) > limit:
            broken.append(f"{title} {off:+.1f}{'%' if relative else ''}")
    return [*cells, ", ".join(broken) or "-"]


def main() -> int:
    """Print the table of both folders."""
    parser = OptionParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("real", type=Path, help="results of the recorded pages, such as client/")
    parser.add_argument("made", type=Path, help="results of the synthetic pages of the same URLs")
    arguments = parser.parse_args()
    real, made = (select(read_results(folder), "load") for folder in (arguments.real, arguments.made))
    titles = ("page", "RTT (ms)", *(title for title, *_ in PROMISES), "not met")
    print(f"| {' | '.join(titles)} |\n{'|---' * len(titles)}|")
    for (page, rtt_ms), row in real.by_place.items():
        found = figures(row), figures(made.by_place.get((page, rtt_ms)))
        cells = compared(found[0], found[1], rtt_ms) if found[0] and found[1] else ["not measured"]
        print(f"| {page} | {rtt_ms:g} | {' | '.join(cells)} |")
    return 0


if __name__ == "__main__":
    run_main(main)
