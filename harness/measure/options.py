"""The options of tfo.py: reads them, and refuses those that make no experiment."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from harness.bootstrap import ROOT
from harness.errors import InputError
from harness.files.pages import BUNDLED
from harness.measure.about import ShowVersion
from harness.measure.browser_options import add_browser_options, browser_problems
from harness.measure.latency import DELAYS_MS
from harness.measure.limits import TimeLimits
from harness.measure.network_options import add_network_options, as_in_the_paper, network_problems
from harness.measure.plan_options import add_plan_options, chosen_goal, plan_problems
from harness.measure.server_options import Problems, add_server_options, server_problems, tls_port_beside
from harness.system.options import Decimal, OptionParser, page_list_name

PATIENCE_S = Decimal(1, 3600, or_zero=True)


def parse_arguments(description: str, words: Sequence[str] | None = None) -> argparse.Namespace:
    """Read tfo.py's command line, or `words` as one. Raises InputError for numbers that make no experiment."""
    parser = make_parser(description)
    words = sys.argv[1:] if words is None else words
    arguments = parser.parse_args(words)
    if arguments.paper:
        as_in_the_paper(arguments, words)
    arguments.tfos = [0, 1] if arguments.tfo == "both" else [int(arguments.tfo)]
    arguments.dir = arguments.dir.resolve()
    arguments.typed = None if arguments.new_run is None else arguments.new_run.splitlines()
    arguments.tls_port = tls_port_beside(arguments.port, arguments.tls_port)
    arguments.limits = TimeLimits(arguments.timeout, arguments.quiet, arguments.quiet_limit)
    arguments.goal = chosen_goal(arguments)
    arguments.delays = arguments.delays or arguments.sweep_rtt or ([] if arguments.rtt else [*DELAYS_MS])
    for wrong, problem in problems(arguments):
        if wrong:
            raise InputError(f"tfo.py: {problem}")
    return arguments


def make_parser(description: str) -> argparse.ArgumentParser:
    """Return the parser of tfo.py's options."""
    parser = OptionParser(description=description)
    parser.add_argument("--version", action=ShowVersion)
    parser.add_argument("--name", type=page_list_name, default=BUNDLED,
                        help="pages to load: NAME.pages, NAME/ and NAME.fetchlog/")
    parser.add_argument("--dir", type=Path, default=ROOT, help="where these are, and the results go (the project)")
    add_network_options(parser)
    add_server_options(parser)
    add_browser_options(parser)
    add_plan_options(parser)
    parser.add_argument("--new-run", metavar="WORDS", help=argparse.SUPPRESS)     # run.sh's own: the words it was given
    parser.add_argument("--on-user", metavar="COMMAND", help="load no pages, but run this on `user` while the servers "
                        "are up, such as bash; hack_dns leads to them")
    parser.add_argument("--patience", type=PATIENCE_S, default=30.0, metavar="SECONDS", help="how long to wait for "
                        "other programs to leave the machine alone before anything is measured (30)")
    parser.add_argument("--resume", action="store_true", help="go on with the experiment that is in client/: measure "
                        "only what is missing of it")
    parser.add_argument("--dry-run", nargs="?", const="load", choices=["load", "check"],
                        help="measure nothing: check that all is ready, and load each page once without delay to see "
                             "whether it is fit (with =check: load nothing)")
    return parser


def problems(arguments: argparse.Namespace) -> Problems:
    """Return all that can be wrong with the options: whether it is, and what to say about it then."""
    return (
        *network_problems(arguments), *server_problems(arguments), *browser_problems(arguments),
        (arguments.resume and arguments.new_run is not None, "--resume: goes on with a run, --new-run begins one"),
        (arguments.resume and arguments.on_user, "--resume: loads pages, and --on-user loads none; leave one out"),
        *plan_problems(arguments),
    )
