"""What sweep.py does besides sweeping: status, stop, report; and the lines at a sweep's end."""

import argparse
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence

from harness.errors import ExitStatus, ExperimentError, InputError, printable
from harness.files.pages import read_pages
from harness.sweep.options import asked_for, named
from harness.sweep.recordings import SiteRecording, not_tried, planned, recorded
from harness.sweep.report import write_outputs
from harness.system.privileges import leave_root
from harness.system.progress import duration

ENDING_S = 90.0
"""How long a sweep may take to end: its worker's tfo.py cleans up."""


def chosen(options: argparse.Namespace) -> Callable[[argparse.Namespace], int] | None:
    """Return the command that was asked for instead of a sweep, None if a sweep was."""
    if options.status is not None:
        return status
    if options.report:
        return report
    return halt if options.stop is not None else None


def status(options: argparse.Namespace) -> int:
    """Say how far a sweep is; the exit status is 0 when all of it is done."""
    folder = named(options, options.status)
    found, driver = Counter(folder.read("progress.json")), folder.driver()
    state = f"running (pid {driver})" if driver else "not running"
    far = (f"recordings of {found['recorded']} of {found['pages']} pages done, no site is measured yet"
           if found["pages"] else f"{found['done']} of {found['sites']} sites done, {found['failed']} of them failed, "
           f"{found['partly']} partly measured")
    left = f", {duration(found['left_s'])} left" if driver and found["left_s"] else ""
    print(printable(f"sweep-{folder.name}: {state}; {far}{left}"))
    return ExitStatus.DONE if found["sites"] and found["done"] == found["sites"] else ExitStatus.INCOMPLETE


def halt(options: argparse.Namespace) -> int:
    """End a sweep's driver, and wait until it has. Raises ExperimentError when it does not end."""
    folder = named(options, options.stop)
    driver = folder.driver()
    if driver is None:
        raise InputError(f"{folder.path}: this sweep is not running; nothing to stop")
    try:
        os.kill(driver, signal.SIGTERM)
    except PermissionError:
        raise InputError(f"{folder.path}: another user runs this sweep; run: sudo ./sweep.py --stop "
                         f"{folder.name}") from None
    deadline_s = time.monotonic() + ENDING_S
    while folder.driver() is not None:
        if time.monotonic() > deadline_s:
            raise ExperimentError(f"{folder.path}: has not ended {ENDING_S:g} s after SIGTERM (pid {driver}); wait, "
                                  f"and see ./sweep.py --status {folder.name}")
        time.sleep(0.2)
    print(f"stopped; go on with: sudo ./sweep.py --resume {folder.name}")
    return ExitStatus.DONE


def report(options: argparse.Namespace) -> int:
    """Make the tables and the report of the results that a sweep has so far."""
    leave_root()
    asked, folder = asked_for(options)
    folder.make()
    sites = [recorded(folder, page) or not_tried(folder, page) for page in read_pages(asked.pages)]
    for path in write_outputs(folder, asked, sites, [job.unit for job in planned(sites, asked)]):
        print(path)
    return ExitStatus.DONE


def summarise(counts: Counter[str], sites: Sequence[SiteRecording]) -> int:
    """Say how the sweep went, by the sites of each status; return its exit status."""
    unrecorded = [site for site in sites if site.why_not]
    for site in unrecorded:
        print(printable(f"{site.page.url}: {site.why_not}"), file=sys.stderr)
    print(f"{counts['measured']} of {counts.total()} sites measured, {counts['partly']} in part, {counts['failed']} "
          f"failed; {len(unrecorded)} of {len(sites)} pages have no recording", flush=True)
    whole = counts["measured"] == counts.total() and not unrecorded
    return ExitStatus.DONE if whole else ExitStatus.INCOMPLETE
