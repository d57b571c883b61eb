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
from collections.abc import Iterable

from rich.console import Console
from rich.progress import track

from harness.analysis.compare import read_sides
from harness.analysis.selection import METRICS, Selection, select
from harness.analysis.transports import is_compared
from harness.errors import InputError, printable
from harness.files.notes import add_to_notes, encoding_of_notes
from harness.files.result_names import CLIENT, FIGURES
from harness.files.results import Results, read_results
from harness.measure.about import ShowVersion
from harness.show.breakdown_figure import breakdown_path, draw_breakdown
from harness.show.comparison import format_comparison, is_whole
from harness.show.console import format_console, summary_lines
from harness.show.detail import detail_lines
from harness.show.export import check_export_name, export
from harness.show.figure_files import FORMATS
from harness.show.labels import figure_names, is_simulated
from harness.show.prediction import prediction_lines, simulation_lines
from harness.show.report import write_report
from harness.show.requests_figure import draw_figure, figure_path, save_figure
from harness.show.sweep import SWEEP_NAME, draw_sweep, sweep_lines, worth_a_curve
from harness.show.transports import NAME as TRANSPORTS_NAME
from harness.show.transports import draw_transports, transport_lines
from harness.system.options import OptionParser
from harness.system.privileges import leave_root
from harness.system.signals import run_interruptible

REPORT_NAME = "report.html"
NOT_WITH_COMPARE = ("clientdir", "outputdir", "format", "detail", "export")


def main() -> int:
    """Print the table, draw the figures, say whether anything is missing."""
    arguments = parse_arguments()
    leave_root()
    if arguments.compare:
        return compare_folders(arguments)
    results = read_results(arguments.clientdir)
    selection = select(results, arguments.metric)

    notes_encoding = encoding_of_notes(arguments.append) if arguments.append else ""
    if is_compared(results):
        report = "".join(f"{line}\n" for line in transport_lines(results, selection)) + paragraph(
            map(printable, summary_lines(results, selection)))
    else:
        report = format_console(results, selection)
    if arguments.detail:
        report += paragraph(detail_lines(results, selection))
    if is_simulated(results):
        report += paragraph(simulation_lines(results, selection))
    elif arguments.detail:
        report += paragraph(prediction_lines(results, selection))
    if arguments.detail and worth_a_curve(results, selection):
        report += paragraph(sweep_lines(results, selection))
    print_report(report)
    if arguments.append:
        add_to_notes(arguments.append, f"\n{report}", notes_encoding)
    if arguments.export:
        export(results, selection, arguments.export)

    draw_figures(results, selection, arguments.outputdir, arguments.format)
    print(write_report(results, selection, arguments.outputdir / REPORT_NAME), file=sys.stderr)
    return 1 if selection.missing(results.tfos) else 0


def compare_folders(arguments: argparse.Namespace) -> int:
    """Print where two folders' results differ, and how sure that is; 1 when something is in one of them only."""
    side_a, side_b = read_sides(arguments.compare, arguments.metric)
    notes_encoding = encoding_of_notes(arguments.append) if arguments.append else ""
    report = format_comparison(side_a, side_b)
    print_report(report)
    if arguments.append:
        add_to_notes(arguments.append, f"\n{report}", notes_encoding)
    return 0 if is_whole(side_a, side_b) else 1


def parse_arguments() -> argparse.Namespace:
    """What the user typed; folders that were not named are the project's own.

    Raises InputError for an option that --compare would have to pass over in silence.
    """
    parser = OptionParser(description="Table and figures from the logs of page loads.")
    parser.add_argument("--version", action=ShowVersion)
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
        check_export_name(arguments.export)
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


def draw_figures(results: Results, selection: Selection, outputdir: Path, ending: str) -> None:
    """Write a figure for each page and RTT, and those of all RTTs; progress goes to stderr."""
    names = figure_names(results.urls)
    todo = [(page, rtt_ms) for page in results.urls for rtt_ms in results.rtts_ms]
    console = Console(stderr=True)
    for page, rtt_ms in track(todo, "Figures", console=console, disable=not console.is_terminal):
        figure = draw_figure(results, selection, page, rtt_ms)
        if figure is None:
            continue
        path = figure_path(outputdir, names[page], rtt_ms, ending)
        save_figure(figure, path)
        if not console.is_terminal:
            print(path, file=sys.stderr)
    for page in results.urls:
        breakdown = draw_breakdown(results, selection, page)
        if breakdown:
            save_figure(breakdown, breakdown_path(outputdir, names[page]).with_suffix(f".{ending}"))
    if is_compared(results):
        save_figure(draw_transports(results, selection), outputdir / f"{TRANSPORTS_NAME}.{ending}")
    if worth_a_curve(results, selection):
        save_figure(draw_sweep(results, selection), outputdir / f"{SWEEP_NAME}.{ending}")


def paragraph(lines: Iterable[str]) -> str:
    """Return lines as a part of the report, behind an empty one."""
    return "\n" + "".join(f"{line}\n" for line in lines)


def print_report(report: str) -> None:
    """Print the report. Raises an OSError that names standard output."""
    try:
        print(report, end="", flush=True)
    except OSError as error:
        raise OSError(error.errno, error.strerror, "standard output") from None


if __name__ == "__main__":
    run_interruptible(main)
