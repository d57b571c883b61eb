#!/usr/bin/env python3
"""What TCP Fast Open costs behind middleboxes that do not know it: each kind on all paths, and one on more and more.

    sudo ./experiments/middleboxes.py                                  the bundled pages at 100 ms, some 15 minutes
    sudo ./experiments/middleboxes.py --name myURLS --shares "0.02 0.1"

Runs tfo.py once without a box, once for each kind, and once for each share of paths that drop SYNs with data; prints a
table of all pages' median PLTs and draws output-figures/middleboxes-RTT.png. tfo.py keeps the results of each.

Theory: on a path that drops SYNs with data each new connection waits 1 s (RFC 6298, section 2.1) where TFO would save
an RTT, so TFO's gain is eaten up where a share RTT / (RTT + 1 s) of the paths does so: 9% at 100 ms.
"""

import argparse
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import ROOT, use_project_python

use_project_python()

from harness.analysis.selection import select
from harness.errors import run_main
from harness.files.pages import CLIENT, FIGURES
from harness.files.results import read_results
from harness.files.transport import SHARE, Box, Middlebox
from harness.measure.settings import Settings, add_options, settings_of
from harness.show.comparison import draw_side_by_side, side_by_side_lines
from harness.show.figures import save_figure
from harness.system.options import OptionParser, Several, plain
from harness.system.tcp import SYN_AGAIN_MS

NO_BOX = "none"


def main() -> int:
    """Measure at each delay; the exit status is 0 if every load was valid."""
    settings, how = parse_arguments()
    return max(measure(settings, how, delay_ms) for delay_ms in settings.delays_ms)


def measure(settings: Settings, how: argparse.Namespace, delay_ms: float) -> int:
    """Measure at one delay (one way), print the table, draw the figure; return tfo.py's highest exit status."""
    rtt_ms, status, rows = 2 * delay_ms, 0, []
    for box in (None, *map(Middlebox, Box), *(Middlebox(Box.DROP_SYN_DATA, share) for share in how.shares)):
        name = str(box or NO_BOX)
        print(f"middlebox: {name}", flush=True)
        done = subprocess.run([sys.executable, str(ROOT / "tfo.py"), "--name", settings.name, "--dir", str(how.dir),
                               "--delaynet", plain(delay_ms), "--testruns", str(settings.testruns),
                               *(["--middlebox", name] if box else [])], check=False)
        if done.returncode not in (0, 1):
            return done.returncode
        status = max(status, done.returncode)
        selection = select(read_results(how.dir / CLIENT), "load")
        rows += [replace(row, name=name) for row in selection.rows if row.rtt_ms == rtt_ms]    # others are of before
    if not rows:
        return status
    urls = [*dict.fromkeys(row.url for row in rows)]
    rows.sort(key=lambda row: urls.index(row.url))      # stable: the boxes of each page stay in their order
    print(*side_by_side_lines(rows), sep="\n")
    share = rtt_ms / (rtt_ms + SYN_AGAIN_MS)    # a connection waits SYN_AGAIN_MS on these, and saves an RTT on others
    print(f"theory: TFO's gain is eaten up where {share:.0%} of the paths drop SYNs with data")
    figure = how.dir / FIGURES / f"middleboxes-{plain(rtt_ms)}.png"
    save_figure(draw_side_by_side(rows), figure)
    print(figure)
    return status


def parse_arguments() -> tuple[Settings, argparse.Namespace]:
    """Read the command line; two loads of each page at 100 ms unless something else is typed."""
    parser = OptionParser(description=__doc__)
    add_options(parser, ("name", "delays_ms", "testruns"))
    parser.add_argument("--dir", type=Path, default=ROOT, help="where the pages are, and the results go (the project)")
    parser.add_argument("--shares", type=Several(SHARE), default=[0.02, 0.1, 0.3], metavar='"0.02 0.1"',
                        help="shares of the paths that drop SYNs with data (0.02 0.1 0.3)")
    how = parser.parse_args()
    return settings_of(parser, how, delays_ms=(50.0,), testruns=2), how


if __name__ == "__main__":
    run_main(main)
