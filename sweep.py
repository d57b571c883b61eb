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
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from harness.bootstrap import use_project_python

use_project_python()

from harness.errors import ExitStatus, printable
from harness.files.pages import read_pages
from harness.sweep.cluster import connected, require_packages
from harness.sweep.driver import Driver
from harness.sweep.folder import SweepFolder
from harness.sweep.options import SweepSettings, asked_for, parse_arguments, remember
from harness.sweep.plan import Unit
from harness.sweep.recordings import SiteRecording, planned, record_missing, recorded
from harness.sweep.report import write_outputs
from harness.system.privileges import act_as, invoking_user, leave_root, require_root
from harness.system.progress import Steps
from harness.system.signals import run_interruptible


def main() -> int:
    """Do what was asked; the exit status is 0 when every site was measured, 1 when one was not, 2 for wrong input."""
    options = parse_arguments(__doc__)
    require_packages()
    if options.status:
        os.nice(19)     # it reads all recordings, and loads may be measured meanwhile
    asked, folder = asked_for(options)
    if options.status or options.report or asked.where:     # only a worker on this machine is root
        leave_root()
    else:
        require_root("./sweep.py")
        act_as(invoking_user())
    if options.status:
        return status(asked, folder)
    folder.make()
    if options.report:
        return report(asked, folder)
    with folder.only_driver():
        remember(asked, folder)
        return sweep(options, asked, folder)


def there(asked: SweepSettings, folder: SweepFolder) -> tuple[list[SiteRecording], list[Unit]]:
    """Return the sites of a sweep as far as they are recorded, and its units."""
    sites = [recorded(folder, page) for page in read_pages(asked.pages)]
    return sites, planned(sites, asked.combinations, asked.versions)


def status(asked: SweepSettings, folder: SweepFolder) -> int:
    """Say how far a sweep is; the exit status is 0 when all of it is done."""
    sites, units = there(asked, folder)
    return summarise(folder.statuses(unit.key for unit in units), len(units), sites)


def report(asked: SweepSettings, folder: SweepFolder) -> int:
    """Make the tables and the report of the results that a sweep has so far."""
    for path in write_outputs(folder, asked, *there(asked, folder)):
        print(path)
    return 0


def sweep(options: argparse.Namespace, asked: SweepSettings, folder: SweepFolder) -> int:
    """Record, measure and report; return the exit status."""
    # Recordings: what the list's own recording has is cut into sites, what is missing comes from the Internet.
    if options.again:
        print(f"{folder.forget_failures()} failures are tried again", flush=True)
    sites = record_missing(folder, asked.pages)

    # Measurement: units go to workers, results come back into the folder; failures are rows, too.
    units = planned(sites, asked.combinations, asked.versions)
    done = folder.statuses(unit.key for unit in units)
    missing = [unit for unit in units if folder.outcome(unit.key) is None]
    print(f"{len(units)} sites to measure, {len(units) - len(missing)} of them measured already", flush=True)
    if missing:
        with connected(asked) as client, Steps(len(missing), "sites") as progress:
            Driver(client, folder, (asked.wait_s, asked.patience_s), progress, done).run(missing)

    # Report: statistics over sites.
    report(asked, folder)
    return summarise(done, len(units), sites)


def summarise(counts: Counter[str], units: int, sites: Sequence[SiteRecording]) -> int:
    """Say how far the sweep is, by how many of its units have each status; return its exit status."""
    unrecorded = [site for site in sites if site.why_not]
    for site in unrecorded:
        if site.tried:
            print(printable(f"{site.page.url}: {site.why_not}"), file=sys.stderr)
    print(f"{counts['measured']} of {units} sites measured, {counts['partly']} in part, {counts['failed']} "
          f"failed; {len(unrecorded)} of {len(sites)} pages have no recording", flush=True)
    whole = counts["measured"] == units and not unrecorded
    return ExitStatus.DONE if whole else ExitStatus.INCOMPLETE


if __name__ == "__main__":
    run_interruptible(main)
