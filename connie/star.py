#!/usr/bin/env python3
"""Measure racing and its peers in a network made to order: dual-stack names whose addresses are slow, dead or refusing.

    sudo ./connie/star.py --profile home --fault dead-v6
    sudo ./connie/star.py --profile all --fault all

Builds a Mininet star for each profile, with a name server and one host for each place where the name's addresses are.
All strategies connect to the same names, side by side, with and without the fault: they send one request and wait for
one byte.
Prints tables and what follows from them; writes output-figures/connie-PROFILE.png (how many connects were done
after how long) and connie-PROFILE.json (every single time).

Exit status: 0, 1 when something failed, 2 for bad input.
"""

import sys
from pathlib import Path

# A script's own folder is where Python looks for modules first, and this one's http.py would hide Python's own.
HERE = Path(__file__).resolve().parent
sys.path[:] = [str(HERE.parent), *(folder for folder in sys.path if folder != str(HERE))]
from harness.bootstrap import use_project_python

use_project_python()

import argparse
import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from connie.lab.experiment import Effort, run_profile
from connie.lab.figure import draw
from connie.lab.findings import finding_lines
from connie.lab.profiles import OF_2013, PROFILES, Profile
from connie.lab.results import ORDER, from_client
from connie.lab.scenarios import FAULTS, faults_of
from connie.lab.tables import cost_table, fast_open_table, time_table
from harness.bootstrap import ROOT
from harness.errors import InputError
from harness.network.needs import check_kernel, check_programs
from harness.show.requests_figure import save_figure
from harness.system import environment
from harness.system.atomic import write_atomically
from harness.system.lock import only_experiment
from harness.system.options import SEED, TIMEOUT_S, Decimal, OptionParser, Whole
from harness.system.privileges import acting_as, invoking_user, require_root
from harness.system.signals import run_interruptible

ALL = "all"
FORMAT = 1
"""Version of the format of connie-PROFILE.json."""


def main() -> int:
    """Measure and report; return the exit status."""
    arguments = parse_arguments()
    require_root("./connie/star.py")
    check_programs()
    check_kernel(delay_line=True)         # each address has a delay of its own, on every kernel
    profiles = list(OF_2013) if arguments.profile == ALL else [PROFILES[arguments.profile]]
    effort = Effort(arguments.rounds, arguments.budget, arguments.timeout, arguments.seed, tuple(arguments.strategies))
    chosen = {profile.name: choose_faults(profile, arguments.fault) for profile in profiles}
    with acting_as(invoking_user()):
        check_output(arguments.outputdir)
    with only_experiment():
        environment.print_machine()
        for profile in profiles:
            print(f"{profile.name}: {profile.title}; {', '.join(chosen[profile.name])}", file=sys.stderr, flush=True)
            report(profile, run_profile(profile, chosen[profile.name], effort), arguments)
    return 0


def parse_arguments() -> argparse.Namespace:
    """What the user typed."""
    parser = OptionParser(description=__doc__,
                                     epilog="faults:\n" + "".join(f"  {name:<16} {what}\n"
                                                                  for name, (what, _) in FAULTS.items()))
    parser.add_argument("--profile", choices=[*PROFILES, ALL], default="home",
                        help="the client's network (%(default)s)")
    parser.add_argument("--fault", nargs="+", choices=[*FAULTS, ALL], default=[ALL], metavar="FAULT",
                        help=f"what is measured beside none, of those below ({ALL})")
    parser.add_argument("--rounds", type=Whole(2, 1_000_000), default=100,
                        help="connects of each strategy (%(default)s)")
    parser.add_argument("--budget", type=TIMEOUT_S, default=8.0, metavar="SECONDS",
                        help="a strategy that spent so long with a fault is measured no more (%(default)g)")
    parser.add_argument("--timeout", type=Decimal(0.01, 100), default=2.0, metavar="SECONDS",
                        help="given to each strategy; create_connection takes it for each address (%(default)g)")
    parser.add_argument("--strategies", nargs="+", choices=ORDER, default=[], metavar="NAME",
                        help=f"measure only these: {', '.join(ORDER)}")
    parser.add_argument("--seed", type=SEED, default=1, help="of orders and jitter (%(default)s)")
    parser.add_argument("--outputdir", type=Path, default=ROOT / "output-figures", help="for figures and times")
    return parser.parse_args()


def choose_faults(profile: Profile, wanted: Sequence[str]) -> list[str]:
    """Return the faults to measure, "none" first. Raises InputError for one that this network cannot have."""
    possible = faults_of(profile)
    if ALL in wanted:
        return possible
    for fault in wanted:
        if fault not in possible:
            raise InputError(f"--fault {fault}: the network {profile.name!r} has no IPv6; choose another --profile")
    return [fault for fault in possible if fault in ("none", *wanted)]


def check_output(folder: Path) -> None:
    """Make the folder of figures and times. Raises InputError, before anything is measured, when it is of no use."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror}); choose another --outputdir") from None


def report(profile: Profile, found: dict[str, Any], arguments: argparse.Namespace) -> None:
    """Print tables and findings, draw the figure, keep the times."""
    results = from_client(found)
    print(f"\n## {profile.name}: {profile.title}\n")
    print(*time_table(results), "", *cost_table(results), "", *fast_open_table(results), "", sep="\n")
    print(*(f"- {line}" for line in finding_lines(profile, results)), sep="\n", flush=True)
    figure, times = (arguments.outputdir / f"connie-{profile.name}.{ending}" for ending in ("png", "json"))
    content = json.dumps({"version": FORMAT, "profile": asdict(profile),
                          "options": {**vars(arguments), "outputdir": None}, **environment.machine(), **found})
    with acting_as(invoking_user()):            # whatever links are in the user's folder
        save_figure(draw(profile, results), figure)
        write_atomically(times, content)
    print(figure, times, sep="\n", file=sys.stderr)


if __name__ == "__main__":
    run_interruptible(main)
