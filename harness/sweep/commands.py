"""What sweep.py does besides sweeping: serve, status, stop, report; and the lines at a sweep's end."""

import argparse
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness.bootstrap import ROOT
from harness.errors import ExperimentError, InputError, printable
from harness.files.pages import read_pages
from harness.sweep.options import asked_for, named
from harness.sweep.recordings import SiteRecording, not_tried, planned, recorded
from harness.sweep.report import write_outputs
from harness.sweep.tally import Tally
from harness.sweep.trust import make_certificates
from harness.system.privileges import leave_root
from harness.system.processes import bound_to_us, stop
from harness.system.progress import duration

ENDING_S = 90.0
"""How long a sweep may take to end: its worker's tfo.py cleans up."""


def chosen(options: argparse.Namespace) -> Callable[[argparse.Namespace], int] | None:
    """Return the command that was asked for instead of a sweep, None if a sweep was."""
    if options.serve is not None:
        return serve
    if options.status is not None:
        return status
    if options.report:
        return report
    return halt if options.stop is not None else None


def serve(options: argparse.Namespace) -> int:
    """Run a scheduler for other machines until Ctrl-C."""
    leave_root()
    folder = make_certificates(options.tls)
    host = socket.getfqdn()
    print(f"copy {folder} to every machine of the sweep, and type there: sudo ./scripts/worker.sh "
          f"tcp://{host}:{options.serve}", flush=True)
    print(f"then here: ./sweep.py --pages LIST --scheduler tcp://{host}:{options.serve}", flush=True)
    process = subprocess.Popen(bound_to_us([sys.executable, "-m", "harness.sweep.scheduler", "--port",
                                            str(options.serve), "--dashboard", str(options.dashboard or 8787), "--tls",
                                            str(folder)]), stdin=subprocess.DEVNULL, cwd=ROOT)
    try:
        return process.wait()
    finally:
        stop(process)


def status(options: argparse.Namespace) -> int:
    """Say how far a sweep is; the exit status is 0 when all of it is done."""
    folder = named(options, options.status)
    found, driver = folder.read_progress(), folder.driver()
    sites, done = found.get("sites", 0), found.get("done", 0)
    state = f"running (pid {driver})" if driver else "not running"
    print(printable(f"sweep-{folder.name}: {state}; {_how_far(found)}{_left(found) if driver else ''}"))
    for name in found.get("workers", ()) if driver else ():
        print(printable(f"    {name} works"))
    dismissed = found.get("dismissed")
    for name, why in (dismissed.items() if isinstance(dismissed, dict) else ()):
        print(printable(f"    {name} is dismissed: {why}"))
    return 0 if sites and done == sites else 1


def _how_far(found: Mapping[str, Any]) -> str:
    if "recorded" in found:
        return f"recordings of {found['recorded']} of {found.get('pages')} pages done, no site is measured yet"
    if not found:
        return "no site is measured yet"
    return f"{found.get('done', 0)} of {found.get('sites', 0)} sites done, {found.get('failed', 0)} of them failed, " \
           f"{found.get('partly', 0)} partly measured"


def _left(found: Mapping[str, Any]) -> str:
    left_s = found.get("left_s")
    over = found.get("done") == found.get("sites")
    return f", {duration(left_s)} left" if isinstance(left_s, int | float) and not over else ""


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
    while folder.driver() is not None and time.monotonic() < deadline_s:
        time.sleep(0.2)
    if folder.driver() is not None:
        raise ExperimentError(f"{folder.path}: has not ended {ENDING_S:g} s after it was told to (pid {driver}); wait, "
                              f"and see ./sweep.py --status {folder.name}")
    print(f"stopped; go on with: sudo ./sweep.py --resume {folder.name}")
    return 0


def report(options: argparse.Namespace) -> int:
    """Make the tables and the report of the results that a sweep has so far."""
    leave_root()
    asked, folder = asked_for(options)
    folder.make()
    sites = [recorded(folder, page) or not_tried(folder, page) for page in read_pages(asked.pages)]
    for path in write_outputs(folder, asked, sites, planned(sites, asked)):
        print(path)
    return 0


def with_failures(line: str, tally: Tally) -> str:
    """Return the line for a finished site, with how many sites have failed, if any."""
    return f"{line}; {tally.failed} failed so far" if tally.failed else line


def summarise(tally: Tally, sites: Sequence[SiteRecording]) -> int:
    """Say how the sweep went; return its exit status."""
    unrecorded = [site for site in sites if site.why_not]
    for site in unrecorded:
        print(printable(f"{site.page.url}: {site.why_not}"), file=sys.stderr)
    for name, why in tally.dismissed.items():
        print(printable(f"{name} was dismissed: {why}"), file=sys.stderr)
    if tally.seconds_left:
        print(f"{tally.seconds_left} sites were to be measured on a second machine, too, and none was there for them: "
              "how far machines agree on these is not known")
    print(f"{tally.measured} of {tally.total} sites measured, {tally.partly} in part, {tally.failed} failed; "
          f"{len(unrecorded)} of {len(sites)} pages have no recording", flush=True)
    return 0 if tally.whole and not unrecorded else 1
