#!/usr/bin/env python3
"""What consolidation takes from TCP Fast Open: the same pages in several layouts of servers, side by side.

Each folder holds the results of one layout, such as these leave:

    for layout in host domain one; do
        mkdir -p layouts/$layout && cp -r Paper Paper.pages Paper.fetchlog layouts/$layout/
        sudo ./tfo.py --dir layouts/$layout --delaynet 50 --layout $layout
    done
    ./experiments/layouts.py layouts/host layouts/domain layouts/one

Prints connections, TCP handshakes on the critical path and what TFO improves, by page and layout, and draws them. Reads
files only: no root, no network, no browser. What differs between the folders beside the layout is said.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import ROOT, use_project_python

use_project_python()

import argparse
import contextlib

from harness.analysis.compare import Side, client_folder
from harness.analysis.layouts import layout_rows, other_differences, side_names
from harness.analysis.selection import METRICS, select
from harness.errors import InputError, printable, run_main
from harness.files.result_names import FIGURES
from harness.files.results import read_results
from harness.show.figure_files import FORMATS, check_figure_name, write_figure
from harness.show.layouts import draw_layouts, layout_lines
from harness.show.notes import doubt_lines
from harness.system.options import OptionParser
from harness.system.privileges import leave_root

FIGURE = ROOT / FIGURES / "layouts.png"


def main() -> int:
    """Print the table and draw the figure."""
    arguments = parse_arguments()
    leave_root()
    sides = [read_side(folder, arguments.metric) for folder in arguments.folders]
    rows = layout_rows(sides)
    if not rows:
        raise InputError(f"{arguments.folders[0]}:1: no page load to compare; give folders of results")
    for line in layout_lines(rows):
        print(line)
    for name, side in zip(side_names(sides), sides, strict=True):
        for line in doubt_lines(side.results, side.selection):
            print(printable(f"{name}: {line.strip()}"))
    for line in other_differences(sides):
        print(printable(f"Differs beside the layout: {line}"))
    synthetic = "Pages: synthetic." if any(side.results.synthetic for side in sides) else ""
    with contextlib.suppress(OSError):          # where there can be none, the figure says so
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
    write_figure(draw_layouts(rows, synthetic), arguments.output)
    print(arguments.output, file=sys.stderr)
    return 0


def read_side(folder: Path, metric: str) -> Side:
    """Return the results in `folder`, or in the ``client/`` in it."""
    results = read_results(client_folder(folder))
    return Side(results, select(results, metric))


def parse_arguments() -> argparse.Namespace:
    """What the user typed. Raises InputError."""
    parser = OptionParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+", metavar="DIR", help="folder of results, one for each layout")
    parser.add_argument("--output", type=Path, default=FIGURE, metavar="FILE",
                        help=f"the figure: .{', .'.join(FORMATS)} (output-figures/{FIGURE.name})")
    parser.add_argument("--metric", choices=METRICS, default="load", help="where PLT ends, as for plot.py (load)")
    arguments = parser.parse_args()
    check_figure_name(arguments.output)
    return arguments


if __name__ == "__main__":
    run_main(main)
