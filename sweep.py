#!/usr/bin/env python3
"""What does TCP Fast Open do to the Web? Many sites, on this machine or on many, and a report over all of them.

    sudo ./sweep.py --pages Top100US.pages                          record what is missing, measure all here, report
    ./sweep.py --serve                                              a scheduler for other machines (Dask)
    sudo ./scripts/worker.sh tcp://host:8786                        makes a machine one of its workers
    ./sweep.py --pages Top100US.pages --scheduler tcp://host:8786   the same on all workers that are there
    ./sweep.py --pages Top100US.pages --hosts lab1,lab2             scheduler here, workers there by SSH
    ./sweep.py --status [NAME]    --stop [NAME]    --resume NAME    --report NAME

A site is one unit: its recording goes to a worker once, which measures all of its loads by tfo.py, as ./run.sh would,
and its results come back whole into sweep-NAME/. Whatever is there already is not measured again. Options of tfo.py
that change what is measured (--http, --cookies, --testruns, ...) are passed on; --grid FILE.toml takes several of each.
See docs/sweep.md.
"""

import argparse
import contextlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from harness.bootstrap import ROOT, use_project_python

use_project_python()

from harness.files.pages import PageFiles, read_pages
from harness.sweep import commands
from harness.sweep.cluster import LocalCluster, RemoteCluster, local_worker
from harness.sweep.driver import Driver
from harness.sweep.folder import SweepFolder
from harness.sweep.hosts import HostsCluster
from harness.sweep.options import SweepSettings, asked_for, parse_arguments
from harness.sweep.plan import UnitTask
from harness.sweep.recordings import installed_recordings, planned, record_missing
from harness.sweep.report import write_outputs
from harness.sweep.scheduler import configure, require_dask
from harness.sweep.tally import Tally
from harness.sweep.trust import make_certificates
from harness.system.privileges import acting_as, invoking_user, leave_root, require_root
from harness.system.progress import counted
from harness.system.signals import run_interruptible

AnyCluster = LocalCluster | HostsCluster | RemoteCluster


def main() -> int:
    """Do what was asked; the exit status is 0 when every site was measured, 1 when one was not, 2 for wrong input."""
    options = parse_arguments(__doc__)
    require_dask()
    command = commands.chosen(options)
    return command(options) if command else sweep(options)


def sweep(options: argparse.Namespace) -> int:
    """Record, measure and report. Only this machine's own worker is root; the rest is the user's."""
    with acting_as(invoking_user()):
        asked, folder = asked_for(options)
        folder.make()
        certificates = make_certificates(options.tls)
    with contextlib.ExitStack() as stack:
        worker = None
        if not (asked.scheduler or asked.hosts):
            require_root("./sweep.py")
            folder.check_free()
            worker = stack.enter_context(local_worker(folder, certificates, options))
        leave_root()
        stack.enter_context(folder.only_driver())
        folder.write_asked(asked.to_json())

        # Recordings: what is installed is cut into sites, what is missing comes from the Internet.
        pages = read_pages(asked.pages)
        installed = installed_recordings(ROOT, PageFiles(asked.pages.parent, asked.pages.stem))
        if options.again:
            print(f"{folder.forget_failures()} failures are tried again", flush=True)
        sites = record_missing(folder, pages, installed, lambda line: print(line, flush=True))

        # Measurement: units go to workers, results come back into the folder; failures are rows, too.
        configure()
        if worker:
            cluster: AnyCluster = LocalCluster(folder, certificates, worker, options.dashboard)
        elif asked.hosts:
            cluster = HostsCluster(folder, certificates, asked.hosts, asked.remote, options)
        else:
            cluster = RemoteCluster(asked.scheduler, certificates)
        stack.callback(cluster.close)
        units = planned(sites, asked)
        tally = measure(folder, cluster, asked, units)

        # Report: statistics over sites.
        for path in write_outputs(folder, asked, sites, units):
            print(path)
    return commands.summarise(tally, sites)


def measure(folder: SweepFolder, cluster: AnyCluster, asked: SweepSettings, jobs: list[UnitTask]) -> Tally:
    """Have all units measured that have no results yet."""
    missing = sum(folder.outcome(job.unit.key) is None for job in jobs)
    print(f"{len(jobs)} sites to measure, {len(jobs) - missing} of them measured already", flush=True)
    with counted(missing, "sites") as progress:
        driver = Driver(folder, cluster, asked.versions, progress.say,
                        lambda line: progress.done(commands.with_failures(line, driver.tally)))
        return driver.run(jobs)


if __name__ == "__main__":
    run_interruptible(main)
