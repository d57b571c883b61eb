#!/usr/bin/env python3
"""Load pages without Mininet and without root: servers on this machine's loopback, and the delay made by the servers.

    Chrome ---- lo ---- 127.84.0.1  www.one.test       each server holds back, for round trips that nobody makes,
                  \\---- 127.84.0.2  www.two.test       its first answer on a connection for two RTTs, or for one if the
                   \\--- ...                            SYN carried the request; later answers for one

Chrome and the kernel use TCP Fast Open as in the star of tfo.py: in a network namespace of our own, where the system
lets anybody have one; in the machine's own, where its net.ipv4.tcp_fastopen is 3; anywhere else what TFO would do is
simulated from the loads without it, and said to be. Logs, table and figures are those of run.sh, in localhost/. What
is not there: slow start, and the links' bandwidth. docs/experiments.md compares the two on the same pages.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import ROOT, use_project_python

use_project_python()

from harness.errors import InputError
from harness.files.pages import BUNDLED, PageFiles
from harness.files.result_names import CLIENT, FIGURES
from harness.measure.attempts import RETRIES, RETRIES_ALLOWED
from harness.measure.browser_options import add_connection_options, add_time_options
from harness.measure.chosen import chosen_browser, chosen_web
from harness.measure.experiment import Experiment, found_in, settings, summarise
from harness.measure.folders import check_folders
from harness.measure.laboratory import BrowserSettings, ReplayedWeb
from harness.measure.limits import TimeLimits
from harness.measure.loopback import FastOpen, fastopen_here, of_loopback, running_loopback
from harness.measure.options import PATIENCE_S
from harness.measure.plan import plan_loads
from harness.measure.preflight import check_authority, check_browser, check_pages, check_room
from harness.measure.results_folder import open_results, set_all_aside
from harness.measure.server_options import HTTP_CHOICES, PORT, tls_port_beside
from harness.network.cookies import WARM
from harness.network.star import LinkSpeeds
from harness.system.busy import wait_for_quiet
from harness.system.fastopen import kernel_has_fastopen
from harness.system.lock import only_experiment, only_experiment_of_anybody
from harness.system.options import DELAY_MS, RUNS, SEED, USER_PORT, OptionParser, Several, page_list_name
from harness.system.own_network import enter_own_network
from harness.system.privileges import act_as, invoking_user, passable_temp_root
from harness.system.progress import counted
from harness.system.signals import run_interruptible

PLOT = ROOT / "plot.py"
MAKE_PAGES = ROOT / "scripts" / "make_pages.py"
RESULTS = "localhost"
"""The folder of the results: loads of two kinds of network never stand in one table."""
SIGNALLED = 128
"""A shell's exit status for a signal, less the signal's number."""


def main() -> int:
    """Measure at every delay, print the table, draw the figures; the exit status is 0 if every load was valid."""
    arguments = parse_arguments()
    put_back_what_a_killed_run_left()
    no_network = "--shared-network was given" if arguments.shared_network else enter_own_network()
    act_as(invoking_user())

    # Check: nothing is touched before it is known that all of this can be measured.
    browser = check_browser()
    check_room(passable_temp_root())
    results_dir = arguments.dir / RESULTS
    if arguments.name == BUNDLED and arguments.dir == ROOT:
        run_program(MAKE_PAGES, "--name", BUNDLED)
    make_folder(results_dir)
    page_set = check_pages(PageFiles(arguments.dir, arguments.name))
    check_authority(page_set)
    check_folders(results_dir, page_set.files, invoking_user())
    fastopen, why = fastopen_here(no_network)
    print(f"TFO: {fastopen.value}{why and f' ({why})'}", flush=True)

    # Web and browser are the star's. Each delay is an experiment of its own; nothing else has the machine meanwhile.
    web, chrome = chosen_web(arguments, page_set), chosen_browser(arguments, browser)
    with only_experiment_of_anybody():
        set_all_aside(results_dir)
        statuses = [measure(arguments, delay_ms, web, chrome, (fastopen, why)) for delay_ms in arguments.delays]

    # Analysis: the same as anywhere, of files alone.
    drawn = run_program(PLOT, "--clientdir", results_dir / CLIENT, "--outputdir", results_dir / FIGURES,
                        *(["--detail"] if arguments.detail else []))
    return max(*statuses, drawn)


def measure(arguments: argparse.Namespace, delay_ms: float, web: ReplayedWeb, chrome: BrowserSettings,
            tfo: tuple[FastOpen, str]) -> int:
    """Do all page loads at one delay (one way, ms), with and without what is `tfo` here; return 0 if all are valid."""
    fastopen = tfo[0]
    results_dir, speeds = arguments.dir / RESULTS, LinkSpeeds(delay_net_ms=delay_ms)
    arguments.tfo = "both" if fastopen.is_real else "0"
    plan = plan_loads(web.page_set.pages, arguments.testruns, [0, 1] if fastopen.is_real else [0], arguments.seed)
    with open_results(results_dir, [delay_ms], resume=True):
        busy = wait_for_quiet(arguments.patience)
        with running_loopback(speeds, web, chrome, own_network=fastopen is FastOpen.OWN, results_dir=results_dir,
                              patience_s=arguments.patience) as lab:
            known = of_loopback(settings(arguments, speeds, web, chrome, netem=False), *tfo)
            experiment = Experiment(lab=lab, to_do=plan, goal=None, seed=arguments.seed, retries=arguments.retries,
                                    pages=web.page_set.pages,
                                    description={**known, **found_in(lab), "busy": busy})
            return summarise(experiment.measure(counted(len(plan))), None)


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
    """Run one of the project's programs that give root up by themselves; return its exit status, as a shell's."""
    status = subprocess.run([sys.executable, program, *map(str, options)], check=False).returncode
    return status if status >= 0 else SIGNALLED - status


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the options. What further options of tfo.py would decide is fixed here."""
    parser = OptionParser(description=__doc__)
    parser.add_argument("--name", type=page_list_name, default=BUNDLED,
                        help="pages to load: NAME.pages, NAME/ and NAME.fetchlog/ (%(default)s)")
    parser.add_argument("--dir", type=Path, default=ROOT, help=f"where these are; results go to {RESULTS}/ in it (the "
                        "project)")
    parser.add_argument("--delays", type=Several(DELAY_MS), default=[10.0, 50.0, 100.0], metavar='"10 50 100"',
                        help="one-way delays in ms; the RTT is twice that (10 50 100)")
    parser.add_argument("--testruns", type=RUNS, default=4, help="loads of each page without and with TFO; the first "
                        "warms up (%(default)s)")
    parser.add_argument("--quick", action="store_const", const=2, dest="testruns", help="one measured load, not three")
    parser.add_argument("--http", choices=HTTP_CHOICES, default="1.0", help="see ./tfo.py --help (%(default)s)")
    add_connection_options(parser)
    parser.add_argument("--shared-network", action="store_true", help="stay in the machine's own network namespace, as "
                        "where no other can be had")
    parser.add_argument("--port", type=USER_PORT, default=PORT, help="port of every server (%(default)s)")
    parser.add_argument("--tls-port", type=USER_PORT, help="port of every server for https (--port + 1)")
    parser.add_argument("--retries", type=RETRIES_ALLOWED, default=RETRIES, metavar="N",
                        help="how often a load that failed by accident is measured again (%(default)s)")
    parser.add_argument("--seed", type=SEED, default=1, help="decides which of TFO off and on goes first (%(default)s)")
    parser.add_argument("--patience", type=PATIENCE_S, default=30.0, metavar="SECONDS",
                        help="how long to wait for other programs to leave the machine alone (30)")
    add_time_options(parser)
    parser.add_argument("--detail", action="store_true", help="as that of plot.py")
    parser.set_defaults(goal=None, paper=False, rtt=None, think=None, server="threaded", post_quantum=False, pcap=False,
                        cookies=WARM)
    return parser


def parse_arguments() -> argparse.Namespace:
    """Read the command line. Raises InputError for what makes no experiment."""
    arguments = make_parser().parse_args()
    arguments.dir = arguments.dir.resolve()
    arguments.tls_port = tls_port_beside(arguments.port, arguments.tls_port)
    arguments.limits = TimeLimits(arguments.timeout, arguments.quiet)
    if 0.0 in arguments.delays:
        raise InputError("localhost.py: --delays: without a delay there is nothing to hold back; leave out 0")
    if arguments.tls_port == arguments.port:
        raise InputError("localhost.py: --tls-port: one port cannot speak both; choose another than --port")
    if arguments.quiet > arguments.limits.quiet_limit_s:
        raise InputError("localhost.py: --quiet: longer than the longest wait for it, "
                         f"{arguments.limits.quiet_limit_s:g} s")
    if not kernel_has_fastopen():
        raise InputError("/proc/sys/net/ipv4/tcp_fastopen: this kernel has no TCP Fast Open; use Linux 4.15 or newer")
    return arguments


if __name__ == "__main__":
    run_interruptible(main)
