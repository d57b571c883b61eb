#!/usr/bin/env python3
"""How near synthetic pages come to the real ones: two folders of results, cell by cell, as in docs/synthetic.md."""

import argparse
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import use_project_python

use_project_python()

from harness.analysis.selection import Selection, select
from harness.analysis.stats import improvement_percent
from harness.analysis.timeline import read_timeline
from harness.errors import run_main
from harness.files.results import Results, read_results
from harness.system.options import OptionParser

COUNTS_PERCENT = 2.0
HANDSHAKES = 1.0
PLT_PERCENT = 10.0
SHORT_RTT_MS, SHORT_POINTS, POINTS = 20.0, 5.0, 3.0
"""What is promised of each cell: TFO's improvement within 3 percentage points, at 20 ms within 5."""


@dataclass(frozen=True)
class Figures:
    """The medians of one page at one RTT; requests, hosts and bytes of bodies are of what was answered."""

    requests: float
    hosts: float
    size_bytes: float
    handshakes: float
    plt_ms: tuple[float, float]

    @property
    def improvement_percent(self) -> float:
        """How much TFO saves."""
        return improvement_percent(*self.plt_ms)


def figures(selection: Selection, page: str, rtt_ms: float) -> Figures | None:
    """Return what was measured in a cell; None without loads both without and with TFO that count."""
    row = selection.by_place.get((page, rtt_ms))
    loads = [(timeline, explanation) for load, explanation in (row.explanations if row else ())
             if (timeline := read_timeline(load))]
    if not row or not loads or row.off.median_ms is None or row.on.median_ms is None:
        return None
    answered = [[request for request in timeline.requests if request.status] for timeline, _ in loads]
    return Figures(
        statistics.median(len(requests) for requests in answered),
        statistics.median(len({request.host for request in requests}) for requests in answered),
        statistics.median(sum(request.body_bytes for request in requests) for requests in answered),
        statistics.median(explanation.handshakes for _, explanation in loads), (row.off.median_ms, row.on.median_ms))


def rows(real: Results, made: Results) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield for each page and RTT both its figures, and which promises are met."""
    chosen = select(real, "load"), select(made, "load")
    for page in real.urls:
        for rtt_ms in real.rtts_ms:
            found = [figures(selection, page, rtt_ms) for selection in chosen]
            if found[0] is None or found[1] is None:
                yield f"{page} {rtt_ms:g}", ["not measured"], []
                continue
            a, b = found[0], found[1]
            yield f"{page} | {rtt_ms:g}", _both(a, b), list(_broken(a, b, rtt_ms))


def _both(a: Figures, b: Figures) -> list[str]:
    return [f"{a.requests:g} / {b.requests:g}", f"{a.hosts:g} / {b.hosts:g}",
            f"{a.size_bytes / 1000:.0f} / {b.size_bytes / 1000:.0f}", f"{a.handshakes:g} / {b.handshakes:g}",
            *(f"{left / 1000:.3f} / {right / 1000:.3f}" for left, right in zip(a.plt_ms, b.plt_ms, strict=True)),
            f"{a.improvement_percent:.1f} / {b.improvement_percent:.1f}"]


def _broken(a: Figures, b: Figures, rtt_ms: float) -> Iterator[str]:
    """Yield which promises a cell does not keep, and by how much."""
    for name, left, right in (("requests", a.requests, b.requests), ("hosts", a.hosts, b.hosts),
                              ("bytes", a.size_bytes, b.size_bytes)):
        if abs(_percent(left, right)) > COUNTS_PERCENT:
            yield f"{name} {_percent(left, right):+.1f}%"
    if abs(b.handshakes - a.handshakes) > HANDSHAKES:
        yield f"handshakes {b.handshakes - a.handshakes:+g}"
    for name, left, right in (("PLT", a.plt_ms[0], b.plt_ms[0]), ("PLT with TFO", a.plt_ms[1], b.plt_ms[1])):
        if abs(_percent(left, right)) > PLT_PERCENT:
            yield f"{name} {_percent(left, right):+.1f}%"
    points = b.improvement_percent - a.improvement_percent
    if abs(points) > (SHORT_POINTS if rtt_ms <= SHORT_RTT_MS else POINTS):
        yield f"improvement {points:+.1f}"


def _percent(real: float, made: float) -> float:
    return (made - real) / real * 100


def main() -> int:
    """Print the table of both folders."""
    parser = OptionParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("real", type=Path, help="results of the recorded pages, such as client/")
    parser.add_argument("made", type=Path, help="results of the synthetic pages of the same URLs")
    arguments = parser.parse_args()
    columns = ("page", "RTT (ms)", "requests", "hosts", "kB", "handshakes", "PLT (s)", "TFO (s)", "improvement (%)",
               "not met")
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    for name, cells, broken in rows(read_results(arguments.real), read_results(arguments.made)):
        print(f"| {name} | {' | '.join(cells)} | {', '.join(broken) or '-'} |")
    return 0


if __name__ == "__main__":
    run_main(main)
