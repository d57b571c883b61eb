#!/usr/bin/env python3
"""What TCP Fast Open costs behind middleboxes that do not know it: each kind on all paths, and one on more and more.

    sudo ./experiments/middleboxes.py                                  the bundled pages at 100 ms, some 15 minutes
    sudo ./experiments/middleboxes.py --name myURLS --shares "0.02 0.1"

Runs tfo.py once without a box, once for each kind, and once for each share of paths that drop SYNs with data; prints a
table of all pages' median PLTs and draws output-figures/middleboxes.png. tfo.py keeps the results of each.

Theory: on a path that drops SYNs with data each new connection waits 1 s (RFC 6298, section 2.1) where TFO would save
an RTT, so TFO's gain is eaten up where a share RTT / (RTT + 1 s) of the paths does so: 9% at 100 ms.
"""

import argparse
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import ROOT, use_project_python

use_project_python()

from harness.analysis.selection import select
from harness.errors import run_main
from harness.files.pages import BUNDLED, CLIENT, FIGURES
from harness.files.results import read_results
from harness.files.transport import SHARE, Box, Middlebox
from harness.show.columns import table_of
from harness.show.figures import framed, save_figure
from harness.show.labels import short_names
from harness.show.section import table_lines
from harness.system.options import DELAY_MS, RUNS, Decimal, OptionParser, Several, page_list_name
from harness.system.tcp import SYN_AGAIN_MS

FIGURE = "middleboxes.png"
NO_BOX = "none"
COLUMNS = {"middlebox": "name", "PLT: no TFO (s)": "median_off_ms", "PLT: TFO (s)": "median_on_ms",
           "Improv.": "improvement_percent"}
LABEL_ROOM = 0.3
"""Of the longest bar, for what stands behind it."""


def main() -> int:
    """Measure, print the table, draw the figure; the exit status is 0 if every load was valid."""
    how = parse_arguments()
    rtt_ms, status, rows = 2 * how.delay, 0, []
    for box in (None, *map(Middlebox, Box), *(Middlebox(Box.DROP_SYN_DATA, share) for share in how.shares)):
        name = str(box or NO_BOX)
        print(f"middlebox: {name}", flush=True)
        done = subprocess.run([sys.executable, str(ROOT / "tfo.py"), "--name", how.name, "--dir", str(how.dir),
                               "--delaynet", f"{how.delay:g}", "--testruns", str(how.testruns),
                               *(["--middlebox", name] if box else [])], check=False)
        if done.returncode not in (0, 1):
            return done.returncode
        status = max(status, done.returncode)
        selection = select(read_results(how.dir / CLIENT), "load")
        rows += [replace(row, name=name) for row in selection.rows if row.rtt_ms == rtt_ms]    # others are of before
    pages = dict.fromkeys(row.url for row in rows)
    rows = [row for url in pages for row in rows if row.url == url]
    print(*table_lines(table_of("", rows, COLUMNS)), sep="\n")
    print(f"theory: TFO's gain is eaten up where {break_even(rtt_ms):.0%} of the paths drop SYNs with data")
    bars = {"no TFO": [row.off.median_ms for row in rows if row.name == NO_BOX]}
    bars |= {"TFO" if name == NO_BOX else f"TFO, {name}": [row.on.median_ms for row in rows if row.name == name]
             for name in dict.fromkeys(row.name for row in rows)}
    draw([*short_names({url: url for url in pages}).values()], bars, rtt_ms, how.dir / FIGURES / FIGURE)
    return status


def break_even(rtt_ms: float) -> float:
    """Return the share of paths that drop SYNs with data at which TFO saves as much as it costs."""
    return rtt_ms / (rtt_ms + SYN_AGAIN_MS)


def draw(pages: Sequence[str], bars: Mapping[str, Sequence[float | None]], rtt_ms: float, path: Path) -> None:
    """Draw for each page a bar without TFO, one with it, and one with it behind each box: by name, PLTs in ms."""
    figure, [axes] = framed((9, 1.5 + 0.28 * len(pages) * len(bars)),
                            f"TCP Fast Open behind middleboxes, RTT {rtt_ms:g} ms", "Medians of the loads.")
    height = 0.8 / len(bars)
    for place, (name, plts_ms) in enumerate(bars.items()):
        known = [(row, ms / 1000) for row, ms in enumerate(plts_ms) if ms is not None]
        drawn = axes.barh([row + (place + 0.5) * height - 0.4 for row, _ in known], [plt_s for _, plt_s in known],
                          height=0.9 * height)
        axes.bar_label(drawn, [f"{plt_s:.1f} s  {name}" for _, plt_s in known], padding=4, fontsize=7)
    axes.set_yticks(range(len(pages)), pages)
    axes.invert_yaxis()
    axes.margins(x=LABEL_ROOM)
    axes.set_xlabel("Page load time (s)")
    save_figure(figure, path)
    print(path)


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = OptionParser(description=__doc__)
    parser.add_argument("--name", type=page_list_name, default=BUNDLED, help="pages to load (%(default)s)")
    parser.add_argument("--dir", type=Path, default=ROOT, help="where the pages are, and the results go (the project)")
    parser.add_argument("--delay", type=Decimal(DELAY_MS.low, 400), default=50.0, metavar="MS",
                        help="one-way delay of the servers' links; the RTT is twice that (%(default)g)")
    parser.add_argument("--testruns", type=RUNS, default=2, metavar="N",
                        help="loads of each page; the first warms up (%(default)s)")
    parser.add_argument("--shares", type=Several(SHARE), default=[0.02, 0.1, 0.3], metavar='"0.02 0.1"',
                        help="shares of the paths that drop SYNs with data (0.02 0.1 0.3)")
    return parser.parse_args()


if __name__ == "__main__":
    run_main(main)
