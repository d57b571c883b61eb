#!/usr/bin/env python3
"""Disturb page loads on purpose, and count how many of the stalls are found, and how many undisturbed loads rejected.

One page is loaded undisturbed, then with a part of the experiment stopped at a random moment of the load
(benchmarks/stall.py). A stall is found when the load is not valid for a rule of harness/measure/rules.py. Of those
not found it says how much the page load time differs from the median of the undisturbed ones: what it cost. A stop that
nobody waited for costs nothing, and none of the load's times shows it.

With --without the same loads are judged again without one rule at a time: a rule is needed where more is missed then.
"""

import argparse
import math
import multiprocessing
import os
import random
import statistics
import sys
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import ROOT, use_project_python

use_project_python()

from benchmarks.stall import MARKS, make_stall
from experiments.by_hand import at_each_delay
from harness.errors import ExperimentError
from harness.files.load_record import LoadRecord
from harness.files.pages import Page, PageFiles
from harness.files.reason_kinds import ReasonKind
from harness.measure.evidence import Load
from harness.measure.laboratory import Laboratory
from harness.measure.loads import record_of
from harness.measure.preflight import check_pages
from harness.measure.rule import texts
from harness.measure.rules import RULES, alone
from harness.measure.settings import Settings, add_options, settings_of
from harness.measure.time_rules import TIME
from harness.network.needs import kernel_has_netem
from harness.system.contained import begin_experiment
from harness.system.options import STALL_MS, OptionParser, Whole
from harness.system.signals import run_interruptible

PARTS = [*MARKS]
OF_TIME = [rule.kind for rule in TIME]
COST = 0.5
"""A stall that the load waited for this share of is one that has to be found: the others met nobody who waited."""


@dataclass(frozen=True)
class Disturbed:
    """One load: what was stopped ("" for nothing), its record, and the reasons against it."""

    part: str
    record: LoadRecord
    why_not: list[str]


def parse_arguments() -> tuple[Settings, argparse.Namespace]:
    """Read the command line."""
    parser = OptionParser(description=__doc__)
    parser.add_argument("--dir", type=Path, default=ROOT, help="where NAME.pages, NAME/ and NAME.fetchlog/ are")
    add_options(parser, ("name", "delays_ms", "tfo", "seed"))
    parser.add_argument("--page", default="wikipedia", help="part of the page's URL (%(default)s)")
    parser.add_argument("--undisturbed", type=Whole(0, 100_000), default=20, help="loads left alone (%(default)s)")
    parser.add_argument("--injections", type=Whole(0, 100_000), default=4, help="stalls of each part (%(default)s)")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--stall-ms", type=STALL_MS, default=100.0,
                        help="how long each part stands still (%(default)s)")
    parser.add_argument("--without", nargs="+", type=ReasonKind, default=[], metavar="RULE", choices=OF_TIME,
                        help="judge the same loads without each of these rules of time, too: "
                        f"{', '.join(repr(kind.value) for kind in OF_TIME)}")
    arguments = parser.parse_args()
    return settings_of(parser, arguments, delays_ms=(50.0,), tfo="0"), arguments


def main() -> int:
    """Print the table; the exit status is 1 when a stall that cost time was not found, or a load rejected without."""
    settings, arguments = parse_arguments()
    begin_experiment("benchmarks/disturbed.py")     # what stops "everything" of it does not stop what it was started as
    page_set = check_pages(PageFiles(arguments.dir, settings.name))
    page = page_set.page(arguments.page)
    with at_each_delay(page_set, settings, netem=kernel_has_netem()) as labs:
        return max(disturb(lab, page, arguments) for lab in labs)


def disturb(lab: Laboratory, page: Page, arguments: argparse.Namespace) -> int:
    """Measure, and print the table; return the exit status."""
    done = measure(lab, page, arguments)
    status = report(done, arguments.stall_ms)
    for kind in arguments.without:
        rules = [rule for rule in RULES if rule.kind is not kind]
        print(f"\nwithout the rule {kind.value!r}:")
        report([replace(load, why_not=texts(alone(load.record, rules))) for load in done], arguments.stall_ms)
    return status


def measure(lab: Laboratory, page: Page, arguments: argparse.Namespace) -> list[Disturbed]:
    """Do all loads: a warm-up, the undisturbed ones, then the disturbed ones in random order."""
    settings = lab.settings
    chance = random.Random(settings.seed)
    done: list[Disturbed] = []
    parts = [part for part in arguments.parts for _ in range(arguments.injections)]
    chance.shuffle(parts)
    load_ms = 0.0
    for run, part in enumerate(["", *[""] * arguments.undisturbed, *parts]):
        after_ms = chance.uniform(0, load_ms)
        load = Load(page, run, settings.transports[run % len(settings.transports)])
        record = one_load(lab, load, part, after_ms, arguments.stall_ms)
        done.append(Disturbed(part, record, texts(alone(record))))
        if run:
            print(f"{part or 'nothing'} {after_ms:.0f} ms: PLT {record.plt_ms or 0:.0f} ms "
                  f"{'; '.join(done[-1].why_not)}", flush=True)
        if not part and record.plt_ms:
            load_ms = record.plt_ms
    return done[1:]


def one_load(lab: Laboratory, load: Load, part: str, after_ms: float, stall_ms: float) -> LoadRecord:
    """Load the page once, with a stall of `part` beside it if one is named."""
    if not part:
        return record_of(lab, load)
    stall = multiprocessing.get_context("fork").Process(    # it may stop this process, too
        target=make_stall, args=(part, os.getpid(), lab.star.user, load.page.url.split("/")[2]),
        kwargs={"after_ms": after_ms, "stall_ms": stall_ms})
    stall.start()
    record = record_of(lab, load)
    stall.join()
    if stall.exitcode:
        raise ExperimentError(f"no stall of {part}")
    return record


def report(done: list[Disturbed], stall_ms: float) -> int:
    """Print how many stalls of each part were found, and what the others cost; return the exit status."""
    alone = [load for load in done if not load.part]
    plts_ms = [load.record.plt_ms for load in alone if load.record.plt_ms and not load.why_not]
    median_ms = statistics.median(plts_ms) if plts_ms else None
    print(f"\nmedian of the undisturbed: {'not known' if median_ms is None else f'{median_ms:.0f} ms'}")
    print("stopped", "loads", "rejected", "ms more than the median in those not rejected", sep="\t")
    print("nothing", len(alone), sum(bool(load.why_not) for load in alone), "-", sep="\t")
    for part in dict.fromkeys(load.part for load in done if load.part):
        loads = [load for load in done if load.part == part]
        missed = [load for load in loads if not load.why_not]
        cost = " ".join("?" if median_ms is None else f"{(load.record.plt_ms or 0) - median_ms:+.0f}"
                        for load in missed)
        print(part, len(loads), len(loads) - len(missed), cost or "-", sep="\t")
    costly = [load for load in done if load.part and not load.why_not
              and (median_ms is None or (load.record.plt_ms or math.inf) > median_ms + stall_ms * COST)]
    return 1 if costly or any(load.why_not for load in alone) else 0


if __name__ == "__main__":
    run_interruptible(main)
