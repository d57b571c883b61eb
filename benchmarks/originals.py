#!/usr/bin/env python3
"""Hold the replay against the original: the pages of the test internet, from its own servers and from their recording.

Both stand in the same star, on the same hosts: nginx with the applications behind it, and the servers that replay what
was recorded from these, each with its protocols and, unless --no-think, its thinking time. The same Chrome loads each
page from both, without and with TFO, in turn. Printed are the medians of the page load times, how far the replay's is
from the original's, what TFO saves of each, and how many connections carried data in their SYN in the median load.
Logs and HARs of the loads stay in --dir, in original/ and replay/, until it measures again there. A page that something
disturbs each time it is loaded is left out, with the reason.
"""

import argparse
import shutil
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import use_project_python

use_project_python()

from benchmarks.internet import NAME, QUIET_LIMIT_S, QUIET_S, record_unless_there, wanted_pages
from benchmarks.report import print_table
from harness.files.load_record import LoadRecord
from harness.files.pages import Page, PageFiles
from harness.measure.judge import alone
from harness.measure.laboratory import Laboratory, ReplayedWeb, running_laboratory
from harness.measure.latency import thinking_rtts
from harness.measure.loads import record_of
from harness.measure.plan import Load, plan_loads
from harness.measure.preflight import PageSet, check_browser, check_pages
from harness.measure.reason import texts
from harness.measure.rules import TIME
from harness.measure.settings import Settings
from harness.network.links import delays_by_netem
from harness.network.needs import check_programs
from harness.network.star import LinkSpeeds
from harness.replay.authority import fingerprint
from harness.system.contained import begin_experiment
from harness.system.environment import print_machine
from harness.system.lock import only_experiment
from harness.system.options import DELAY_MS, RATE_MBIT, OptionParser, Whole
from harness.system.signals import run_interruptible
from tests.support.internet.in_star import serve_in_star

SOURCES = ORIGINAL, REPLAY = "original", "replay"
SETTINGS = Settings(http="recorded", think="recorded", quiet_s=QUIET_S, quiet_limit_s=QUIET_LIMIT_S)
Cell = tuple[Page, str, int]
"""A page, where it came from, and TFO 0 or 1."""


class UnusableError(Exception):
    """Something disturbed each try of a load; what, in words."""


def main() -> int:
    """Print the table; return 1 if a page is missing there."""
    arguments = parse_arguments()
    pages = wanted_pages(arguments.pages)
    begin_experiment("benchmarks/originals.py")
    check_programs()
    print_machine()
    record_unless_there(arguments.dir)
    files = PageFiles(arguments.dir, NAME)
    files.pages.write_text("\n".join(pages) + "\n")
    for source in SOURCES:
        shutil.rmtree(arguments.dir / source, ignore_errors=True)
    page_set = check_pages(files)
    records, unusable = measure(arguments, page_set)
    print_table(["page", "TFO", "original, s", "replay, s", "difference", "TFO saves, original", "replay",
                 "in SYN, original", "replay"],
                [row for page in page_set.pages if page not in unusable for row in rows(page, records)])
    for page, why in unusable.items():
        print(f"{page.url}: left out, since no load of it can be used: {why}")
    return 1 if unusable else 0


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = OptionParser(description=__doc__)
    parser.add_argument("--dir", type=Path, required=True, help="where the recording is, or is to be")
    parser.add_argument("--pages", nargs="+", default=["/"], help="parts of the pages' URLs (all)")
    parser.add_argument("--loads", type=Whole(1, 100), default=5, help="measured loads of each kind (5)")
    parser.add_argument("--delaynet", type=DELAY_MS, default=50.0, help="one-way delay in ms (%(default)s)")
    parser.add_argument("--bwnet", type=RATE_MBIT, default=4.0, help="bandwidth of each server's link, Mbit/s (4)")
    parser.add_argument("--no-think", action="store_true", help="the replay answers at once, as it does by default")
    arguments = parser.parse_args()
    arguments.dir = arguments.dir.resolve()
    return arguments


def measure(arguments: argparse.Namespace, page_set: PageSet) -> tuple[Mapping[Cell, Sequence[LoadRecord]],
                                                                       Mapping[Page, str]]:
    """Load every page from its original and from its replay, in turn.

    Returned are the records of the measured loads, and why the pages that are missing there cannot be measured.
    """
    speeds = LinkSpeeds(delay_net_ms=arguments.delaynet, bw_net_mbit=arguments.bwnet)
    web = ReplayedWeb(page_set=page_set, settings=replace(SETTINGS, think=None)) if arguments.no_think else \
        ReplayedWeb(page_set=page_set, settings=SETTINGS, think_rtts_ms=thinking_rtts(page_set))
    records: dict[Cell, list[LoadRecord]] = {}
    unusable: dict[Page, str] = {}
    netem = delays_by_netem(speeds.rtt_ms)
    with only_experiment(), running_laboratory(speeds, web, check_browser(), netem=netem) as lab, \
            serve_in_star(lab.star) as internet:
        trusted_key = fingerprint(internet.ca.read_bytes())
        laboratories = {ORIGINAL: replace(lab, hack_dns=internet.remap, trusted_key=trusted_key,
                                          client_dir=arguments.dir / ORIGINAL),
                        REPLAY: replace(lab, client_dir=arguments.dir / REPLAY)}
        for load in plan_loads(page_set.pages, arguments.loads + 1, [0, 1], seed=1):
            if load.page in unusable:
                continue
            try:
                for source, laboratory in laboratories.items():
                    record = measured(laboratory, load, source)
                    if load.run > 0:
                        records.setdefault((load.page, source, load.tfo), []).append(record)
            except UnusableError as error:
                unusable[load.page] = str(error)
    return records, unusable


def measured(lab: Laboratory, load: Load, source: str) -> LoadRecord:
    """Measure `load` until nothing disturbed it. Raises UnusableError after the usual number of tries."""
    why: Sequence[str] = ()
    for _ in range(1 + Settings.retries):
        record = record_of(lab, load)
        why = (texts(alone(record)) if source == REPLAY
               else what_disturbed(record))
        if not why:
            return record
        print(f"{load.page.url}, {source}, TFO {load.tfo}, run {load.run}: {'; '.join(why)}", file=sys.stderr)
    raise UnusableError(f"{source}, TFO {load.tfo}: {'; '.join(why)}")


def what_disturbed(record: LoadRecord) -> Sequence[str]:
    """Return in words what disturbed a load from the original, whose servers keep no logs as a replay's do."""
    if record.errors or record.plt_ms is None:
        return record.errors or ("no load event",)
    lost = record.counters["user"]["TCPSynRetrans"] + record.counters["servers"]["TCPSynRetrans"]
    return [*([f"SYNs sent again: {lost}"] if lost else []), *texts(alone(record, TIME))]


def rows(page: Page, records: Mapping[Cell, Sequence[LoadRecord]]) -> list[list[str]]:
    """Return a page's two rows, without and with TFO."""
    plts_ms = {cell: [record.plt_ms or 0.0 for record in of_cell] for cell, of_cell in records.items()}
    found = []
    for tfo, name in enumerate(("off", "on")):
        original_ms, replay_ms = (statistics.median(plts_ms[page, source, tfo]) for source in SOURCES)
        found.append([page.url, name, *(spread(plts_ms[page, source, tfo]) for source in SOURCES),
                      f"{(replay_ms / original_ms - 1) * 100:+.1f}%",
                      *(saved(page, source, plts_ms) if tfo else "" for source in SOURCES),
                      *(f"{in_syn(records[page, source, tfo]):g}" for source in SOURCES)])
    return found


def spread(plts_ms: Sequence[float]) -> str:
    """Return median and range in seconds."""
    median, least, most = (value / 1000 for value in (statistics.median(plts_ms), min(plts_ms), max(plts_ms)))
    return f"{median:.3f} ({least:.3f} to {most:.3f})"


def saved(page: Page, source: str, plts_ms: Mapping[Cell, Sequence[float]]) -> str:
    """Return what TFO saves of the median PLT."""
    off, on = (statistics.median(plts_ms[page, source, tfo]) for tfo in (0, 1))
    return f"{(1 - on / off) * 100:.1f}%"


def in_syn(records: Sequence[LoadRecord]) -> float:
    """Return how many connections brought data in their SYN, by the servers' kernels: the median of the loads."""
    return statistics.median(record.counters["servers"]["TCPFastOpenPassive"] for record in records)


if __name__ == "__main__":
    run_interruptible(main)
