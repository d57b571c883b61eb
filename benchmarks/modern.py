#!/usr/bin/env python3
"""Load the pages of a recording, and hold every load and every prediction against what was recorded.

    .venv/bin/python -m tests.support.internet.recorded FOLDER      # record the pages of the test internet, say
    sudo benchmarks/modern.py --dir FOLDER --name demo

All pages are loaded over HTTP/1.1 and HTTP/2, five times without and five times with TFO after a warm-up each. Printed
are tables of the report: PLT with TFO predicted from the loads without it, beside what was measured; what was answered
by another recorded answer, or by none, and how much of the recording the poorest load got; loads that do not count, for
whatever reason. Behind them stands what of the recording none of a page's loads got.

Of the results, in client/ there, only the last stay.
"""

import argparse
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import ROOT, use_project_python

use_project_python()

from harness.analysis.selection import Selection, select
from harness.errors import ExperimentError, InputError
from harness.files.pages import CLIENT, Page, PageFiles, read_pages
from harness.files.results import has_loads, read_results
from harness.mirror.recording import Recording, read_recording
from harness.show.improvement import prediction_section
from harness.show.report.evidence import answers_table, left_out_section
from harness.show.section import Table, section_lines, table_lines
from harness.system.contained import begin_experiment
from harness.system.environment import print_machine
from harness.system.options import DELAY_MS, OptionParser, Whole, page_list_name
from harness.system.signals import run_interruptible

QUIET = ("--quiet", "0.5", "--quiet-limit", "3")
"""These pages are quiet by then, or for ever loud: what tfo.py would wait for besides would double the time."""


def main() -> int:
    """Print the tables; the exit status is 1 when a load was rejected."""
    arguments = parse_arguments()
    begin_experiment("benchmarks/modern.py")
    print_machine()
    return max(measure(arguments, http) for http in arguments.http)


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = OptionParser(description=__doc__)
    parser.add_argument("--dir", type=Path, required=True, help="where the recording is")
    parser.add_argument("--name", type=page_list_name, required=True, help="all pages of NAME.pages are loaded")
    parser.add_argument("--http", nargs="+", choices=["1.1", "h2"], default=["1.1", "h2"])
    parser.add_argument("--loads", type=Whole(1, 100), default=5, help="measured loads without, and with TFO (5)")
    parser.add_argument("--delaynet", type=DELAY_MS, default=50.0, help="one-way delay in ms (%(default)s)")
    arguments = parser.parse_args()
    arguments.dir = arguments.dir.resolve()
    check_own(arguments.dir / CLIENT, arguments.name)
    return arguments


def check_own(client: Path, name: str) -> None:
    """Raise InputError when `client`, which is deleted before each measurement, has results of somebody else's."""
    if has_loads(client) and {made.settings.get("name") for made in read_results(client).experiments} != {name}:
        raise InputError(f"{client}: results of other pages, which would be deleted; give a --dir of its own")


def measure(arguments: argparse.Namespace, http: str) -> int:
    """Load all pages over `http`, print the tables; return 1 when a load was rejected."""
    files = PageFiles(arguments.dir, arguments.name)
    recording = read_recording(files.mirror, files.fetchlog)
    shutil.rmtree(arguments.dir / CLIENT, ignore_errors=True)
    command = [sys.executable, str(ROOT / "tfo.py"), "--dir", str(arguments.dir), "--name", arguments.name,
               "--http", http, "--testruns", str(arguments.loads + 1), "--delaynet", f"{arguments.delaynet:g}", *QUIET,
               "--retries", "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise ExperimentError(done.stdout + done.stderr)
    selection = select(read_results(arguments.dir / CLIENT), "load")
    print(f"\nover {http}:", *section_lines(prediction_section(selection)), sep="\n")
    for table in (answers_table(selection), *left_out_section(selection).parts):
        if isinstance(table, Table) and not table.empty:
            print("", table.caption, *table_lines(table), sep="\n")
    for page in read_pages(files.pages):
        for url in never_got(selection, recording, page):
            print(f"no load of {page.url} got: {url}")
    return int(any(not load.valid for load in selection.results.loads))


def never_got(selection: Selection, recording: Recording, page: Page) -> Iterator[str]:
    """Give the URLs of what was recorded of a page before its load event, and none of its measured loads got."""
    received = [load.record.answers for load in selection.results.loads
                if load.page == page.name and load.run > 0 and load.record and load.record.answers]
    got = {identity for each in received
           for identity in (*(answer.identity for answer in each.each), *each.from_cache)}
    for answer in recording.transactions(page.name):
        if not answer.after_load and answer.identity not in got:
            yield answer.url


if __name__ == "__main__":
    run_interruptible(main)
