#!/usr/bin/env python3
"""Load pages without Mininet and without root: servers on this machine's loopback, and the delay made by the servers.

    Chrome ---- lo ---- 127.84.0.1  www.one.test       each server holds back, for round trips that nobody makes,
                  \\---- 127.84.0.2  www.two.test       its first answer on a connection for two RTTs, or for one if the
                   \\--- ...                            SYN carried the request; later answers for one

Chrome and the kernel use TCP Fast Open as in the star of tfo.py: in a network namespace of our own, where the system
lets anybody have one; anywhere else what TFO would do is simulated from the loads without it, and said to be. Logs,
table and figures are those of run.sh, in localhost/. What is not there: slow start, and the links' bandwidth.
docs/experiments.md compares the two on the same pages.
"""

import argparse
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import ROOT, use_project_python

use_project_python()

from harness.browser.program import Browser
from harness.errors import InputError
from harness.files.pages import BUNDLED, CLIENT, FIGURES, PageFiles
from harness.measure.command_line import add_patience
from harness.measure.experiment import known, measure, summarise
from harness.measure.folders import check_folders, open_results
from harness.measure.loopback import WITHOUT_LINKS, running_loopback
from harness.measure.preflight import ReplayedWeb, check_authority, check_browser, check_pages, check_room
from harness.measure.resume import Stage
from harness.measure.series import plan_loads
from harness.measure.settings import Settings, add_options, settings_of
from harness.network.star import LinkSpeeds
from harness.system.environment import wait_for_quiet
from harness.system.fastopen import enter_own_network, kernel_has_fastopen
from harness.system.lock import only_experiment
from harness.system.options import OptionParser
from harness.system.privileges import act_as, invoking_user, passable_temp_root
from harness.system.progress import Steps
from harness.system.signals import run_interruptible

PLOT = ROOT / "plot.py"
MAKE_PAGES = ROOT / "scripts" / "make_pages.py"
RESULTS = "localhost"
"""The folder of the results: loads of two kinds of network never stand in one table."""


def main() -> int:
    """Measure at every delay, print the table, draw the figures; the exit status is 0 if every load was valid."""
    settings, how = parse_arguments()
    if not kernel_has_fastopen():
        raise InputError("/proc/sys/net/ipv4/tcp_fastopen: this kernel has no TCP Fast Open; use Linux 4.15 or newer")
    put_back_what_a_killed_run_left()
    no_network = "--shared-network was given" if how.shared_network else enter_own_network()
    act_as(invoking_user())

    # Check: nothing is touched before it is known that all of this can be measured.
    browser = check_browser(settings.connections_per_host)
    check_room(passable_temp_root())
    results_dir = how.dir / RESULTS
    if settings.name == BUNDLED and how.dir == ROOT:
        run_program(MAKE_PAGES, "--name", BUNDLED)
    make_folder(results_dir)
    page_set = check_pages(PageFiles(how.dir, settings.name))
    check_authority(page_set)
    check_folders(results_dir, page_set.files, invoking_user())

    # Web and browser are the star's. Each delay is an experiment of its own; nothing else has the machine meanwhile.
    web = ReplayedWeb(page_set=page_set, settings=replace(settings, tfo="0") if no_network else settings)
    with only_experiment(), open_results(results_dir):
        print("TFO:", f"simulated from the loads without it (no network namespace of its own: {no_network})"
              if no_network else "the kernel's, in a network namespace of its own", flush=True)
        statuses = [measure_at(how, delay_ms, web, browser, own_network=not no_network)
                    for delay_ms in settings.delays_ms]

    # Analysis: the same as anywhere, of files alone.
    drawn = run_program(PLOT, "--clientdir", results_dir / CLIENT, "--outputdir", results_dir / FIGURES)
    return max(*statuses, drawn)


def measure_at(how: argparse.Namespace, delay_ms: float, web: ReplayedWeb, browser: Browser, *,
               own_network: bool) -> int:
    """Do all page loads at one delay (one way, ms); return 0 if all are valid."""
    results_dir, speeds = how.dir / RESULTS, LinkSpeeds(delay_net_ms=delay_ms)
    plan = plan_loads(web.page_set.pages, web.settings)
    busy = wait_for_quiet(how.patience)
    with running_loopback(speeds, web, browser, own_network=own_network, results_dir=results_dir,
                          patience_s=how.patience) as lab:
        said = {**known(web, browser, speeds, netem=False), **WITHOUT_LINKS}
        return summarise(measure(lab, Stage(speeds, said, plan), Steps(len(plan)), busy))


def put_back_what_a_killed_run_left() -> None:
    """Have the lock do so here: in a network of our own net.ipv4.tcp_fastopen is another setting. Raises InputError."""
    if os.geteuid() == 0:
        with only_experiment():
            pass


def make_folder(results_dir: Path) -> None:
    """Make the folder of the results, if it is not there. Raises InputError when it cannot be made."""
    try:
        results_dir.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"{results_dir}: the folder of the results cannot be made ({error.strerror}); give a --dir of "
                         "your own, with NAME.pages and its recording in it") from None


def run_program(program: Path, *options: object) -> int:
    """Run one of the project's programs that give root up by themselves; return its exit status, or its signal."""
    status = subprocess.run([sys.executable, program, *map(str, options)], check=False).returncode
    return status if status >= 0 else 128 - status      # as a shell's


def parse_arguments() -> tuple[Settings, argparse.Namespace]:
    """Read the command line; what further options of tfo.py would decide is as by default."""
    parser = OptionParser(description=__doc__)
    parser.add_argument("--dir", type=Path, default=ROOT, help=f"where the pages are; results go to {RESULTS}/ in it "
                        "(the project)")
    add_options(parser, ("name", "delays_ms", "testruns", "http", "predict", "connections_per_host", "port", "tls_port",
                         "retries", "seed", "timeout_s", "quiet_s"))
    parser.add_argument("--shared-network", action="store_true", help="stay in the machine's own network namespace, as "
                        "where no other can be had")
    add_patience(parser)
    how = parser.parse_args()
    settings = settings_of(parser, how)
    if 0.0 in settings.delays_ms:
        parser.error("--delays: without a delay there is nothing to hold back; leave out 0")
    if settings.warm_pairs:
        parser.error("--http h3: servers on loopback hold back answers over TCP only; use: sudo ./run.sh --http h3")
    how.dir = how.dir.resolve()
    return settings, how


if __name__ == "__main__":
    run_interruptible(main)
