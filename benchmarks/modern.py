#!/usr/bin/env python3
"""Load the pages of a recording, and hold every load and every prediction against what was recorded.

    .venv/bin/python -m tests.support.internet.recorded FOLDER      # record the pages of the test internet, say
    sudo benchmarks/modern.py --dir FOLDER --name demo

For each page, over HTTP/1.1 and HTTP/2, five loads without and five with TFO after a warm-up each:

    rejected    loads that do not count, for whatever reason; each reason stands below the table, with how often
    hollow      those of them that got too little of what the recording holds
    stand-ins   requests that were answered by another recorded answer, or by none, in the worst load; each is listed
    coverage    the recording's answers that the poorest load got; what none of a page's loads got is listed
    predicted   PLT with TFO, from the loads without it, beside the median that was measured

Of the results, in client/ there, only the last stay.
"""

import argparse
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import ROOT, use_project_python

use_project_python()

from benchmarks.report import print_table
from harness.analysis.selection import select
from harness.errors import ExperimentError, InputError
from harness.files.exchange import Fate
from harness.files.pages import PageFiles, read_pages, sanitise
from harness.files.reason_kinds import ReasonKind
from harness.files.result_names import CLIENT
from harness.files.results import LoadResult, Results, has_loads, read_results
from harness.mirror.recording import Recording, read_recording
from harness.show.labels import span
from harness.system.contained import begin_experiment
from harness.system.environment import print_machine
from harness.system.options import DELAY_MS, RATE_MBIT, Decimal, OptionParser, Whole, page_list_name
from harness.system.signals import run_interruptible

QUIET = ("--quiet", "0.5", "--quiet-limit", "3")
"""These pages are quiet by then, or for ever loud: what tfo.py would wait for besides would double the time."""
HOLLOW = frozenset((ReasonKind.FAILED_REQUESTS, ReasonKind.HALF_OF_RECORDING, ReasonKind.TOO_LITTLE))
"""Kinds of reasons against loads that got too little."""


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
    parser.add_argument("--bwnet", type=RATE_MBIT, default=4.0, help="bandwidth of each server's link, Mbit/s (4)")
    parser.add_argument("--retries", type=Whole(0, 9), default=0, help="how often a load is measured again (0)")
    parser.add_argument("--patience", type=Decimal(0, 3600, or_zero=True), default=30.0, help="as tfo.py's (30)")
    arguments = parser.parse_args()
    arguments.dir = arguments.dir.resolve()
    check_own(arguments.dir / CLIENT, arguments.name)
    return arguments


def check_own(client: Path, name: str) -> None:
    """Raise InputError when `client`, which is deleted before each measurement, has results of somebody else's."""
    if has_loads(client) and {made.settings.get("name") for made in read_results(client).experiments} != {name}:
        raise InputError(f"{client}: results of other pages, which would be deleted; give a --dir of its own")


def measure(arguments: argparse.Namespace, http: str) -> int:
    """Load all pages over `http`, print their rows and what is to be listed; return 1 when a load was rejected."""
    files = PageFiles(arguments.dir, arguments.name)
    recording = read_recording(files.mirror, files.fetchlog)
    shutil.rmtree(arguments.dir / CLIENT, ignore_errors=True)
    command = [sys.executable, str(ROOT / "tfo.py"), "--dir", str(arguments.dir), "--name", arguments.name,
               "--http", http, "--testruns", str(arguments.loads + 1), "--delaynet", f"{arguments.delaynet:g}",
               "--bwnet", f"{arguments.bwnet:g}", *QUIET, "--retries", str(arguments.retries),
               "--patience", f"{arguments.patience:g}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise ExperimentError(done.stdout + done.stderr)
    results = read_results(arguments.dir / CLIENT)
    rows, listed = [], []
    for page in read_pages(files.pages):
        loads = [load for load in results.loads if load.url == page.url and load.run > 0]
        rows.append([page.url, http, *row(loads, results, 2 * arguments.delaynet)])
        listed += [f"  {page.url} {http}: {line}" for line in to_list(loads, recording)]
    print_table(["page", "http", "loads", "rejected", "hollow", "stand-ins", "coverage", "handshakes", "no TFO, s",
                 "TFO, s", "predicted", "error"], rows)
    print("\n".join(listed), flush=True)
    return int(any(not load.valid for load in results.loads))


def row(loads: list[LoadResult], results: Results, rtt_ms: float) -> list[str]:
    """Return the cells of one page's row after its name and protocol."""
    hollow = sum(bool(load.record and HOLLOW & {*load.record.why_not_kinds}) for load in loads)
    answers = [load.record.answers for load in loads if load.record and load.record.answers]
    covers = [answer.coverage for answer in answers if answer.coverage]
    poorest = min(covers, key=lambda cover: cover.got, default=None)
    cells = [f"{len(loads)}", f"{sum(not load.valid for load in loads)}", f"{hollow}",
             f"{max((answer.stand_in + answer.missing for answer in answers), default=0)}",
             f"{poorest.got}/{poorest.recorded}" if poorest else "-"]
    prediction = select(results, "load").row(sanitise(loads[0].url), rtt_ms).prediction if loads else None
    if prediction is None or prediction.measured_ms is None:
        return [*cells, *"-----"]
    return [*cells, span(*prediction.handshakes),
            *(f"{ms / 1000:.3f}" for ms in (prediction.off_ms, prediction.measured_ms, prediction.predicted_ms)),
            f"{prediction.difference_percent(prediction.predicted_ms):+.1f}%"]


def to_list(loads: list[LoadResult], recording: Recording) -> list[str]:
    """Return in words why loads were rejected, what was no recorded answer, and what none of the loads got."""
    rejected = Counter(why for load in loads for why in load.why_not)
    answers = [load.record.answers for load in loads if load.record and load.record.answers]
    other = Counter(f"{answer.kind}: {answer.url}" for each in answers for answer in each.each
                    if answer.kind != "exact" and answer.fate is not Fate.CANCELLED)
    got = {identity for each in answers for identity in (*(answer.identity for answer in each.each), *each.from_cache)}
    never = [answer.url for answer in recording.transactions(sanitise(loads[0].url))
             if not answer.after_load and answer.identity not in got] if loads else []
    return [*(f"{count} x rejected: {why}" for why, count in rejected.most_common()),
            *(f"{count} x {what}" for what, count in other.most_common()), *(f"no load got: {what}" for what in never)]


if __name__ == "__main__":
    run_interruptible(main)
