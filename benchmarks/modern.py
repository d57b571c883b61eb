#!/usr/bin/env python3
"""Load the pages of a recording, and hold every load and every prediction against what was recorded.

    benchmarks/today.py FOLDER      # record pages as they are built today, say
    sudo benchmarks/modern.py --dir FOLDER --name demo

All pages are loaded over HTTP/1.1 and HTTP/2, five times without and five times with TFO after a warm-up each. Printed
are tables of the report: PLT with TFO predicted from the loads without it, beside what was measured; what was answered
by another recorded answer, or by none, and how much of the recording the poorest load got; loads that do not count, for
whatever reason. Behind them stands what of the recording none of a page's loads got.

The last results stay in client/ there; earlier ones go to results-DATE/.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import ROOT, use_project_python

use_project_python()

from harness.analysis.selection import Selection, select
from harness.errors import ExperimentError
from harness.files.pages import CLIENT, Page, PageFiles, read_pages
from harness.files.results import read_results
from harness.measure.folders import check_folders, set_aside
from harness.measure.settings import Settings, add_options, settings_of
from harness.mirror.recording import Recording, read_recording
from harness.show.improvement import prediction_section
from harness.show.report.evidence import answers_table, left_out_section
from harness.show.section import Table, section_lines, table_lines
from harness.system.contained import begin_experiment
from harness.system.environment import print_machine
from harness.system.options import OptionParser, plain
from harness.system.privileges import invoking_user
from harness.system.signals import run_interruptible

QUIET_S, QUIET_LIMIT_S = 0.5, 3.0
"""These pages are quiet by then, or for ever loud: what tfo.py would wait for besides would double the time."""


def main() -> int:
    """Print the tables; the exit status is 1 when a load was rejected."""
    settings, arguments = parse_arguments()
    begin_experiment("benchmarks/modern.py")
    print_machine()
    return max(measure(settings, arguments.dir, http) for http in arguments.http)


def parse_arguments() -> tuple[Settings, argparse.Namespace]:
    """Read the command line; five loads of each kind at 100 ms unless something else is typed."""
    parser = OptionParser(description=__doc__)
    parser.add_argument("--dir", type=Path, required=True, help="where the recording is")
    add_options(parser, ("name", "delays_ms", "testruns", "retries", "quiet_s", "quiet_limit_s"))
    parser.add_argument("--http", nargs="+", choices=["1.1", "h2"], default=["1.1", "h2"])
    arguments = parser.parse_args()
    arguments.dir = arguments.dir.resolve()
    return settings_of(parser, arguments, delays_ms=(50.0,), testruns=6, retries=0, quiet_s=QUIET_S,
                       quiet_limit_s=QUIET_LIMIT_S), arguments


def measure(settings: Settings, folder: Path, http: str) -> int:
    """Load all pages in `folder` over `http`, print the tables; return 1 when a load was rejected."""
    files = PageFiles(folder, settings.name)
    recording = read_recording(files.mirror, files.fetchlog)
    check_folders(folder, files, invoking_user())
    set_aside(folder)
    command = [sys.executable, str(ROOT / "tfo.py"), "--dir", str(folder), "--name", settings.name, "--http", http,
               "--testruns", str(settings.testruns), "--delays", " ".join(map(plain, settings.delays_ms)),
               "--quiet", plain(settings.quiet_s), "--quiet-limit", plain(settings.quiet_limit_s),
               "--retries", str(settings.retries)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise ExperimentError(done.stdout + done.stderr)
    selection = select(read_results(folder / CLIENT), "load")
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
