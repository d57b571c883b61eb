#!/usr/bin/env python3
"""What does TCP Fast Open do to the Web? Many sites, on this machine or on many, and a report over all of them.

    sudo ./sweep.py --pages Top100US.pages                          record what is missing, measure all here, report
    ./sweep.py --pages Top100US.pages --hosts lab1,lab2             measure there: workers of Dask's, by SSH
    ./sweep.py --pages Top100US.pages --scheduler tls://host:8786   measure on the workers of a cluster of Dask's
    ./sweep.py --status NAME    --resume NAME    --report NAME

A site is one task of Dask's: its recording goes to a worker, which measures all of its loads by tfo.py, as ./run.sh
would, and its results come back whole into sweep-NAME/. Whatever is there already is not measured again. Options of
tfo.py that change what is measured (--delays, --http, --cookies, --testruns, ...) are passed on; --grid FILE.toml takes
several of each. See docs/sweep.md.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from harness.bootstrap import ROOT, use_project_python

use_project_python()

from harness.errors import ExitStatus, printable
from harness.files.pages import PageFiles, read_pages
from harness.sweep.cluster import connected, require_packages
from harness.sweep.driver import Driver
from harness.sweep.folder import SweepFolder, status
from harness.sweep.measuring import Patience
from harness.sweep.options import SweepSettings, asked_for, parse_arguments
from harness.sweep.recordings import SiteRecording, installed_recordings, planned, record_missing, recorded
from harness.sweep.report import write_outputs
from harness.system.privileges import act_as, invoking_user, leave_root, require_root
from harness.system.progress import Steps
from harness.system.signals import run_interruptible


def main() -> int:
    """Do what was asked; the exit status is 0 when every site was measured, 1 when one was not, 2 for wrong input."""
    options = parse_arguments(__doc__)
    require_packages()
    if options.status:
        return status(options)
    asked, folder = asked_for(options)
    if options.report or asked.where:       # only a worker on this machine is root; files are the user's
        leave_root()
    else:
        require_root("./sweep.py")
        act_as(invoking_user())
    folder.make()
    if options.report:
        return report(asked, folder)
    with folder.only_driver():
        folder.write("sweep.json", asked.to_json())
        return sweep(options, asked, folder)


def report(asked: SweepSettings, folder: SweepFolder) -> int:
    """Make the tables and the report of the results that a sweep has so far."""
    sites = [recorded(folder, page) for page in read_pages(asked.pages)]
    units = [unit for unit, _ in planned(sites, asked.combinations, asked.versions)]
    for path in write_outputs(folder, asked, sites, units):
        print(path)
    return 0


def sweep(options: argparse.Namespace, asked: SweepSettings, folder: SweepFolder) -> int:
    """Record, measure and report; return the exit status."""
    # Recordings: what is installed is cut into sites, what is missing comes from the Internet.
    installed = installed_recordings(ROOT, PageFiles(asked.pages.parent, asked.pages.stem))
    if options.again:
        print(f"{folder.forget_failures()} failures are tried again", flush=True)
    sites = record_missing(folder, read_pages(asked.pages), installed, lambda line: print(line, flush=True))

    # Measurement: units go to workers, results come back into the folder; failures are rows, too.
    jobs = planned(sites, asked.combinations, asked.versions)
    done = folder.statuses(unit.key for unit, _ in jobs)
    missing = [job for job in jobs if folder.outcome(job[0].key) is None]
    print(f"{len(jobs)} sites to measure, {len(jobs) - len(missing)} of them measured already", flush=True)
    if missing:
        with connected(asked) as client, Steps(len(missing), "sites") as progress:
            Driver(client, folder, Patience(asked.wait_s, asked.patience_s), progress, done).run(missing)

    # Report: statistics over sites.
    report(asked, folder)
    return summarise(done, sites)


def summarise(counts: Counter[str], sites: Sequence[SiteRecording]) -> int:
    """Say how the sweep went, by the sites of each status; return its exit status."""
    unrecorded = [site for site in sites if site.why_not]
    for site in unrecorded:
        print(printable(f"{site.page.url}: {site.why_not}"), file=sys.stderr)
    print(f"{counts['measured']} of {counts.total()} sites measured, {counts['partly']} in part, {counts['failed']} "
          f"failed; {len(unrecorded)} of {len(sites)} pages have no recording", flush=True)
    whole = counts["measured"] == counts.total() and not unrecorded
    return ExitStatus.DONE if whole else ExitStatus.INCOMPLETE


if __name__ == "__main__":
    run_interruptible(main)
