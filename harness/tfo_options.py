"""The options of tfo.py, and which of them make no experiment."""

import argparse
from pathlib import Path

from harness.adaptive import MINIMUM_PAIRS, Goal
from harness.bootstrap import ROOT
from harness.errors import InputError

MAX_RUNS = 20
"""Measured runs of a page at which --until-ci gives up by default: about 20 times 2 loads of 6 s for each page."""

Problems = tuple[tuple[object, str], ...]


def parse_arguments(description: str) -> argparse.Namespace:
    """Read tfo.py's command line. Raises InputError for numbers that make no experiment."""
    parser = make_parser(description)
    arguments = parser.parse_args()
    arguments.tfos = [0, 1] if arguments.tfo == "both" else [int(arguments.tfo)]
    arguments.dir = arguments.dir.resolve()
    arguments.tls_port = arguments.tls_port or arguments.port + 1
    arguments.goal = None if arguments.until_ci is None else Goal(arguments.until_ci, arguments.max_runs or MAX_RUNS)
    for wrong, problem in (*network_problems(arguments), *plan_problems(arguments)):
        if wrong:
            raise InputError(f"tfo.py: {problem}")
    return arguments


def make_parser(description: str) -> argparse.ArgumentParser:
    """Return what knows tfo.py's options."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", default="Paper", help="pages to load: NAME.pages, NAME/ and NAME.fetchlog/")
    parser.add_argument("--dir", type=Path, default=ROOT, help="where these are, and the results go (the project)")
    parser.add_argument("--bwhome", type=float, default=1000, help="bandwidth of user's link, Mbit/s (1000)")
    parser.add_argument("--delayhome", type=float, default=0, help="one-way delay of user's link, ms (0)")
    parser.add_argument("--bwnet", type=float, default=4, help="bandwidth of each server's link, Mbit/s (4)")
    parser.add_argument("--delaynet", type=float, default=10, help="one-way delay of each server's link, ms (10)")
    parser.add_argument("--port", type=int, default=8000, help="port the servers listen on (8000)")
    parser.add_argument("--tls-port", type=int, help="port they listen on for https (--port + 1)")
    parser.add_argument("--tfo", choices=["0", "1", "both"], default="both", help="without, with, or both (both)")
    parser.add_argument("--testruns", type=int, default=4, help="loads of each page; the first warms up (4)")
    parser.add_argument("--http", choices=["1.0", "1.1", "h2", "recorded"], default="1.0",
                        help="1.0: http opens a connection for every request, https is as recorded (HTTP/2 where that "
                        "was spoken, else 1.1); 1.1: both keep connections alive, no HTTP/2; h2: https offers HTTP/2 "
                        "everywhere; recorded: http keeps connections alive, https is as recorded (1.0)")
    parser.add_argument("--server", choices=["threaded", "2013"], default="threaded",
                        help="2013: the old single-threaded server, to see what it did to the results")
    parser.add_argument("--post-quantum", action="store_true", help="leave Chrome's ClientHello as it is: longer than "
                        "a SYN can carry, so that TFO saves nothing over https")
    parser.add_argument("--predict", action="store_true", help="let Chrome open connections ahead of need")
    parser.add_argument("--until-ci", type=float, metavar="POINTS", help="after these, load each page more often until "
                        "half the width of its improvement's 95%% interval is under so many percentage points")
    parser.add_argument("--max-runs", type=int, metavar="N",
                        help=f"with --until-ci: at most so many measured runs of each page ({MAX_RUNS})")
    parser.add_argument("--pcap", action="store_true", help="keep a capture of each load's packets beside its log: "
                        "docs/wireshark.md")
    parser.add_argument("--timeout", type=float, default=60, help="seconds a page may take to its load event (60)")
    parser.add_argument("--seed", type=int, default=1, help="decides which of TFO off and on goes first (1)")
    parser.add_argument("--on-user", metavar="COMMAND", help="load no pages, but run this on `user` while the servers "
                        "are up, such as bash; hack_dns leads to them")
    parser.add_argument("--dry-run", action="store_true", help="only check that all is ready; measure nothing")
    return parser


def network_problems(arguments: argparse.Namespace) -> Problems:
    """Tell what makes no network, each with what to say."""
    return (
        (not 1024 <= arguments.port <= 65535, "--port: from 1024 to 65535, since the servers do not run as root"),
        (not 1024 <= arguments.tls_port <= 65535 or arguments.tls_port == arguments.port,
         "--tls-port: from 1024 to 65535, and another than --port"),
        (not 0 < arguments.bwnet <= 1000 or not 0 < arguments.bwhome <= 1000, "--bwnet, --bwhome: over 0, up to 1000"),
        (arguments.delaynet < 0 or arguments.delayhome < 0, "--delaynet, --delayhome: 0 or more"),
        (arguments.timeout <= 0, "--timeout: over 0"),
        (arguments.server == "2013" and arguments.http != "1.0", "--server 2013: speaks HTTP/1.0 only"),
    )


def plan_problems(arguments: argparse.Namespace) -> Problems:
    """Tell what makes no plan of page loads, each with what to say."""
    least = max(MINIMUM_PAIRS, arguments.testruns - 1)
    return (
        (arguments.testruns < 2, "--testruns: at least 2, since run 0 only warms up"),
        (arguments.until_ci is not None and not 0 < arguments.until_ci < 100,
         "--until-ci: over 0 and under 100 percentage points"),
        (arguments.until_ci is not None and arguments.tfo != "both",
         "--until-ci: compares TFO off and on; leave out --tfo"),
        (arguments.max_runs is not None and arguments.until_ci is None, "--max-runs: only together with --until-ci"),
        (arguments.goal and arguments.goal.max_runs < least,
         f"--max-runs: at least {least}: an interval of fewer than {MINIMUM_PAIRS} runs is not believed, "
         "and the runs of --testruns are done anyway"),
    )
