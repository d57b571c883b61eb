#!/usr/bin/env python3
"""One table of several folders of results: the same pages measured in different ways. Reads files only.

    ./experiments/side_by_side.py footnotes/http-1.0 footnotes/http-1.1 --output beside.png

A folder is client/, or one with a client/ in it, such as results-DATE/. So one sees what consolidation takes from TFO:

    for layout in host domain one; do
        mkdir -p layouts/$layout && cp -r Paper Paper.pages Paper.fetchlog layouts/$layout/
        sudo ./tfo.py --dir layouts/$layout --delaynet 50 --layout $layout
    done
    ./experiments/side_by_side.py layouts/host layouts/domain layouts/one --output layouts.png
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import use_project_python

use_project_python()

from harness.analysis.compare import client_folder
from harness.analysis.row import METRICS
from harness.analysis.selection import Selection, select
from harness.errors import printable
from harness.files.results import read_results
from harness.show.comparison import draw_side_by_side, own_names, setup_lines, side_by_side_lines, side_by_side_rows
from harness.show.figures import FORMATS, check_ending, save_figure
from harness.show.row_notes import doubt_lines
from harness.system.options import OptionParser
from harness.system.privileges import leave_root
from harness.system.signals import run_interruptible


def main() -> int:
    """Print the table; the exit status is 1 when one of the folders lacks a cell that was to be measured."""
    parser = OptionParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="what a run.sh left")
    parser.add_argument("--output", type=Path, metavar="FIGURE", help="draw it, too: a .png, .svg or .pdf")
    parser.add_argument("--metric", choices=METRICS, default="load", help="where PLT ends, as for plot.py (load)")
    options = parser.parse_args()
    leave_root()
    if options.output:
        check_ending(options.output, FORMATS)
    selections = [_read(folder, options.metric) for folder in options.folders]
    rows = side_by_side_rows(selections)
    print(*side_by_side_lines(rows), sep="\n")
    for name, selection in zip(own_names(options.folders), selections, strict=True):
        for line in doubt_lines(selection.rows):
            print(printable(f"{name}: {line}"))
    for line in setup_lines(selections):
        print(printable(f"Differs: {line}"))
    if options.output:
        synthetic = any(selection.results.synthetic for selection in selections)
        save_figure(draw_side_by_side(rows, "Pages: synthetic." if synthetic else ""), options.output)
    return 1 if any(selection.missing for selection in selections) else 0


def _read(folder: Path, metric: str) -> Selection:
    return select(read_results(client_folder(folder)), metric)


if __name__ == "__main__":
    run_interruptible(main)
