#!/usr/bin/env python3
"""Turn the logs in client/ into the table and the figures. Reads files only: no root, no network, no browser.

    ./plot.py
    ./plot.py --clientdir old-results/client --outputdir /tmp/figures --metric last
    ./plot.py --compare client old-results

Exit status: 0 when every cell (page, RTT, TFO) was measured (--compare: in both folders), 1 when one is missing, 2 when
there is nothing to read.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from harness.bootstrap import ROOT, use_project_python

use_project_python()

import argparse

from rich.console import Console
from rich.progress import track

from harness.analysis.compare import read_sides
from harness.analysis.row import METRICS
from harness.analysis.selection import Selection, select
from harness.errors import InputError
from harness.files.notes import add_to_notes, check_notes
from harness.files.pages import CLIENT, FIGURES
from harness.files.results import read_results
from harness.show.breakdown import draw_breakdown
from harness.show.columns import ENDINGS, export
from harness.show.comparison import format_comparison
from harness.show.console import REPORT, format_console
from harness.show.figures import FORMATS, check_ending, save_figure
from harness.show.improvement import NAME, draw_improvement, worth_a_curve
from harness.show.labels import figure_names
from harness.show.report import write_report
from harness.show.transports import NAME as TRANSPORTS
from harness.show.transports import draw_transports
from harness.show.waterfall import draw_requests
from harness.system.options import OptionParser
from harness.system.privileges import leave_root
from harness.system.signals import run_interruptible

NOT_WITH_COMPARE = ("clientdir", "outputdir", "format", "detail", "export")


def main() -> int:
    """Print the table, draw the figures, say whether anything is missing."""
    arguments = parse_arguments()
    leave_root()
    if arguments.append:
        check_notes(arguments.append)
    if arguments.compare:
        text, is_whole = format_comparison(*read_sides(arguments.compare, arguments.metric))
    else:
        selection = select(read_results(arguments.clientdir), arguments.metric)
        text, is_whole = format_console(selection, detail=arguments.detail), not selection.missing
    print_report(text)
    if arguments.append:
        add_to_notes(arguments.append, f"\n{text}")
    if not arguments.compare:
        if arguments.export:
            export(selection, arguments.export)
        draw_figures(selection, arguments.outputdir, arguments.format)
        print(write_report(selection, arguments.outputdir / REPORT), file=sys.stderr)
    return 0 if is_whole else 1


def parse_arguments() -> argparse.Namespace:
    """What the user typed; folders that were not named are the project's own.

    Raises InputError for an option that --compare would have to pass over in silence.
    """
    parser = OptionParser(description="Table and figures from the logs of page loads.")
    parser.add_argument("--clientdir", type=Path, help="folder of client logs (client)")
    parser.add_argument("--outputdir", type=Path, help="folder for the figures (output-figures)")
    parser.add_argument("--format", choices=FORMATS, help="format of the figures (png)")
    parser.add_argument("--metric", choices=METRICS, default="load",
                        help="where PLT ends: at the load event (default), with the last transaction, as in 2013, or "
                        "when Chrome has painted something (fcp) or the largest part (lcp)")
    parser.add_argument("--detail", action="store_true",
                        help="a second table: n, medians, MAD, the improvement's 95%% interval, and whether it holds 0")
    parser.add_argument("--compare", type=Path, nargs=2, metavar=("DIR_A", "DIR_B"),
                        help="instead of all that: where two folders of results differ, and how sure that is")
    parser.add_argument("--export", type=Path, metavar="table.csv|json|md",
                        help="write the cells with n, medians, intervals and predictions to this file, too")
    parser.add_argument("--append", type=Path, metavar="observations.txt", help="add the table to this file, too")
    arguments = parser.parse_args()
    if arguments.export:
        check_ending(arguments.export, ENDINGS)
    if arguments.compare:
        for option in NOT_WITH_COMPARE:
            if getattr(arguments, option):
                raise InputError(f"plot.py: --{option} has no effect with --compare, which reads two folders and "
                                 "draws no figure; leave it out")
    arguments.clientdir = arguments.clientdir or own_folder(CLIENT)
    arguments.outputdir = arguments.outputdir or own_folder(FIGURES)
    arguments.format = arguments.format or "png"
    return arguments


def own_folder(name: str) -> Path:
    """A folder of the project, from whatever directory the script is called."""
    return Path(name) if Path.cwd() == ROOT else ROOT / name


def draw_figures(selection: Selection, outputdir: Path, ending: str) -> None:
    """Write a figure for each page and RTT, and those of all RTTs; progress goes to stderr."""
    names, console = figure_names(selection.results.urls), Console(stderr=True)
    for row in track(selection.rows, "Figures", console=console, disable=not console.is_terminal):
        if figure := draw_requests(row):
            path = outputdir / f"timing-{names[row.page]}-{row.rtt_ms:g}.{ending}"
            save_figure(figure, path)
            if not console.is_terminal:
                print(path, file=sys.stderr)
    for page, name in names.items():
        if breakdown := draw_breakdown(selection.of_page(page)):
            save_figure(breakdown, outputdir / f"breakdown-{name}.{ending}")
    if selection.compares_transports:
        save_figure(draw_transports(selection), outputdir / f"{TRANSPORTS}.{ending}")
    if worth_a_curve(selection):
        save_figure(draw_improvement(selection), outputdir / f"{NAME}.{ending}")


def print_report(report: str) -> None:
    """Print the report. Raises an OSError that names standard output."""
    try:
        print(report, end="", flush=True)
    except OSError as error:
        raise OSError(error.errno, error.strerror, "standard output") from None


if __name__ == "__main__":
    run_interruptible(main)
