#!/usr/bin/env python3
"""One table of several folders of results: the same pages measured in different ways. Reads files only.

    ./experiments/side_by_side.py footnotes/http-1.0 footnotes/http-1.1 --output beside.png

A folder is client/, or one with a client/ in it, such as results-DATE/.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import use_project_python

use_project_python()

from harness.analysis.compare import client_folder
from harness.analysis.layouts import own_names
from harness.analysis.selection import select
from harness.errors import printable
from harness.files.results import read_results
from harness.show.figure_files import check_figure_name, write_figure
from harness.show.layouts import draw_layouts
from harness.show.notes import doubt_lines
from harness.show.side_by_side import Measured, side_by_side_lines, side_by_side_rows
from harness.system.options import OptionParser
from harness.system.privileges import leave_root
from harness.system.signals import run_interruptible

TITLE = "What TCP Fast Open saves of the same pages, measured in several ways"


def main() -> int:
    """Print the table; the exit status is 1 when one of the folders lacks a cell that was to be measured."""
    parser = OptionParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="what a run.sh left")
    parser.add_argument("--output", type=Path, metavar="FIGURE", help="draw it, too: a .png, .svg or .pdf")
    options = parser.parse_args()
    leave_root()
    if options.output:
        check_figure_name(options.output)
    measured = [_read(*named) for named in zip(options.folders, own_names(options.folders), strict=True)]
    rows = side_by_side_rows(measured)
    print(*side_by_side_lines(rows), sep="\n")
    for name, results, selection in measured:
        for line in doubt_lines(results, selection):
            print(printable(f"{name}: {line.strip()}"))
    if options.output:
        write_figure(draw_layouts(rows, title=TITLE), options.output)
    return 1 if any(selection.missing(results.tfos) for _, results, selection in measured) else 0


def _read(folder: Path, name: str) -> Measured:
    results = read_results(client_folder(folder))
    return name, results, select(results, "load")


if __name__ == "__main__":
    run_interruptible(main)
