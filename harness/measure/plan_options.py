"""The options of tfo.py that say which page loads are measured, how many, and in which order."""

import argparse

from harness.measure.adaptive import MINIMUM_PAIRS, Goal
from harness.measure.attempts import RETRIES, RETRIES_ALLOWED
from harness.measure.server_options import Problems
from harness.system.options import RUNS, SEED, Decimal

MAX_RUNS = 20
"""Measured runs of a page at which --until-ci gives up by default: about 20 times 2 loads of 6 s for each page."""


def add_plan_options(parser: argparse.ArgumentParser) -> None:
    """Add --tfo, the numbers of loads, the goal that ends them, and --seed."""
    parser.add_argument("--tfo", choices=["0", "1", "both"], default="both",
                        help="without TFO, with it, or both (both)")
    parser.add_argument("--testruns", type=RUNS, default=4, help="loads of each page; the first warms up (4)")
    parser.add_argument("--quick", action="store_const", const=2, dest="testruns",
                        help="one measured load of each page, not three")
    parser.add_argument("--retries", type=RETRIES_ALLOWED, default=RETRIES, metavar="N", help="how often a load that "
                        "failed by accident is measured again, at the end of its run (%(default)s)")
    parser.add_argument("--until-ci", type=Decimal(0.01, 99), metavar="POINTS",
                        help="after these runs, load each page more often until "
                        "half the width of its improvement's 95%% interval is under so many percentage points")
    parser.add_argument("--max-runs", type=RUNS, metavar="N",
                        help=f"with --until-ci: at most so many measured runs of each page ({MAX_RUNS})")
    parser.add_argument("--min-pairs", type=RUNS, metavar="N", help="with --until-ci: never stop before so many pairs "
                        f"of loads; the interval of fewer than {MINIMUM_PAIRS} is often too narrow ({MINIMUM_PAIRS})")
    parser.add_argument("--seed", type=SEED, default=1, help="decides which of TFO off and on goes first (1)")


def chosen_goal(arguments: argparse.Namespace) -> Goal | None:
    """Return the goal that --until-ci sets; None without one."""
    if arguments.until_ci is None:
        return None
    return Goal(arguments.until_ci, arguments.max_runs or MAX_RUNS, arguments.min_pairs or MINIMUM_PAIRS)


def plan_problems(arguments: argparse.Namespace) -> Problems:
    """Return all that can be wrong with these options: whether it is, and what to say about it then."""
    min_pairs = arguments.goal.min_pairs if arguments.goal else MINIMUM_PAIRS
    least = max(min_pairs, arguments.testruns - 1)
    return (
        (arguments.until_ci is not None and arguments.tfo != "both",
         "--until-ci: compares TFO off and on; leave out --tfo"),
        (arguments.max_runs is not None and arguments.until_ci is None, "--max-runs: only together with --until-ci"),
        (arguments.min_pairs is not None and arguments.until_ci is None, "--min-pairs: only together with --until-ci"),
        (arguments.goal and arguments.goal.max_runs < least,
         f"--max-runs: at least {least}: an interval of fewer than {min_pairs} runs is not believed, "
         "and the runs of --testruns are done anyway"),
    )
