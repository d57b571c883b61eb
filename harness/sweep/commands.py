"""What sweep.py does besides sweeping: status, stop; and the lines at a sweep's end."""

import argparse
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Sequence

from harness.errors import ExitStatus, ExperimentError, InputError, printable
from harness.sweep.folder import SweepFolder, sweeps
from harness.sweep.recordings import SiteRecording

ENDING_S = 90.0
"""How long a sweep may take to end: its worker's tfo.py cleans up."""


def status(options: argparse.Namespace) -> int:
    """Say how far a sweep is; the exit status is 0 when all of it is done."""
    folder = named(options, options.status)
    found, driver = Counter(folder.read("progress.json")), folder.driver()
    state = f"running (pid {driver})" if driver else "not running"
    far = (f"recordings of {found['recorded']} of {found['pages']} pages done, no site is measured yet"
           if found["pages"] else f"{found['done']} of {found['sites']} sites done, {found['failed']} of them failed, "
           f"{found['partly']} partly measured")
    print(printable(f"sweep-{folder.name}: {state}; {far}"))
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


def named(options: argparse.Namespace, name: str | bool) -> SweepFolder:
    """Return the sweep that --status or --stop means: without a name the one that was begun last.

    Raises InputError when there is none.
    """
    names = sweeps(options.dir)
    if not names or (name and name not in names):
        raise InputError(f"{options.dir}: no such sweep there; those there are: {', '.join(names) or 'none'}")
    return SweepFolder(options.dir, str(name or names[-1]))


def summarise(counts: Counter[str], sites: Sequence[SiteRecording]) -> int:
    """Say how the sweep went, by the sites of each status; return its exit status."""
    unrecorded = [site for site in sites if site.why_not]
    for site in unrecorded:
        print(printable(f"{site.page.url}: {site.why_not}"), file=sys.stderr)
    print(f"{counts['measured']} of {counts.total()} sites measured, {counts['partly']} in part, {counts['failed']} "
          f"failed; {len(unrecorded)} of {len(sites)} pages have no recording", flush=True)
    whole = counts["measured"] == counts.total() and not unrecorded
    return ExitStatus.DONE if whole else ExitStatus.INCOMPLETE
