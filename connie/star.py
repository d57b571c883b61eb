#!/usr/bin/env python3
"""Measure racing and its peers in a network made to order: dual-stack names whose addresses are slow, dead or refusing.

    sudo ./connie/star.py --profile home --fault dead-v6
    sudo ./connie/star.py --profile server1000

Builds a Mininet star, with a name server and one host for each place where the name's addresses are. All strategies
connect to the same names, side by side, with and without the fault: they send one request and wait for one byte.
Prints tables and what follows from them; writes output-figures/connie-PROFILE.png (how many connects were done after
how long) and connie-PROFILE.json (every single time).

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
import os
import subprocess
from dataclasses import asdict

import msgspec

from connie.lab.network import program, running_network
from connie.lab.report import COST_HEADER, STYLES, TIME_HEADER, cost_rows, draw, finding_lines, time_rows
from connie.lab.task import DNS_ADDRESS, FAULTS, PROFILES, Results, Task
from harness.bootstrap import ROOT
from harness.errors import ExperimentError
from harness.network.needs import check_kernel, check_programs
from harness.show.figures import save_figure
from harness.system import environment
from harness.system.atomic import write_atomically
from harness.system.contained import begin_experiment
from harness.system.lock import only_experiment
from harness.system.namespaces import inside
from harness.system.options import TIMEOUT_S, OptionParser, Whole
from harness.system.processes import stop
from harness.system.scratch import temporary_directory
from harness.system.signals import run_interruptible

FORMAT = 2
"""Version of the format of connie-PROFILE.json."""

SEE_OWN_FILES = 'mount --bind "$1" /etc/resolv.conf && mount --bind "$2" /etc/nsswitch.conf && shift 2 && exec "$@"'
"""In a mount namespace of its own: nothing outside sees it, and it ends with the client."""
RESOLVER = (f"nameserver {DNS_ADDRESS}\noptions timeout:2 attempts:2\nsearch .\n",
            "passwd: files\ngroup: files\nhosts: dns\nservices: files\nprotocols: files\n")


def main() -> int:
    """Measure and report; return the exit status."""
    arguments = parse_arguments()
    begin_experiment("./connie/star.py")
    check_programs()
    check_kernel(delay_line=True)         # each address has a delay of its own, on every kernel
    faults = [fault for fault in FAULTS if fault in {"none", *arguments.fault}]
    task = Task(arguments.profile, faults, arguments.strategies, arguments.rounds, arguments.budget)
    with only_experiment():
        environment.print_machine()
        report(task, measure(task), arguments.outputdir)
    return 0


def parse_arguments() -> argparse.Namespace:
    """What the user typed."""
    parser = OptionParser(description=__doc__, epilog="faults:\n" + "".join(f"  {name:<16} {what}\n"
                                                                            for name, what in FAULTS.items()))
    parser.add_argument("--profile", choices=PROFILES, default="home", help="the client's network (%(default)s)")
    parser.add_argument("--fault", nargs="+", choices=FAULTS, default=list(FAULTS), metavar="FAULT",
                        help="what is measured beside none, of those below (all)")
    parser.add_argument("--rounds", type=Whole(2, 1_000_000), default=100,
                        help="connects of each strategy (%(default)s)")
    parser.add_argument("--budget", type=TIMEOUT_S, default=8.0, metavar="SECONDS",
                        help="a strategy that spent so long with a fault is measured no more (%(default)g)")
    parser.add_argument("--strategies", nargs="+", choices=STYLES, default=[], metavar="NAME",
                        help=f"measure only these: {', '.join(STYLES)}")
    parser.add_argument("--outputdir", type=Path, default=ROOT / "output-figures", help="for figures and times")
    return parser.parse_args()


def measure(asked: Task) -> Results:
    """Build the star, have the client measure in it, take it down; return what the client found."""
    with temporary_directory() as work_dir, running_network(asked) as task:
        files = [work_dir / "resolv.conf", work_dir / "nsswitch.conf"]
        for file, text in zip(files, RESOLVER, strict=True):
            file.write_text(text, encoding="utf-8")
        command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", SEE_OWN_FILES, "sh", *map(str, files),
                   *program("client", task)]
        with inside(task.client_pid):
            # Its temporary files are ours to remove: it may be killed.
            client = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True,
                                      env={**os.environ, "TMPDIR": str(work_dir)})
        try:
            found, _ = client.communicate()
        finally:
            stop(client)
    if client.returncode != 0:
        raise ExperimentError(f"the client of the star ended with status {client.returncode}; "
                              "its last words stand above")
    return msgspec.json.decode(found, type=Results)


def report(task: Task, results: Results, outputdir: Path) -> None:
    """Print tables and findings, draw the figure, keep the times."""
    profile = PROFILES[task.profile]
    print(f"\n## {profile.name}: {profile.title}\n")
    for table in ((TIME_HEADER, *time_rows(results)), (COST_HEADER, *cost_rows(results))):
        print(*("\t".join(row) for row in table), "", sep="\n")
    print(*(f"- {line}" for line in finding_lines(results)), sep="\n", flush=True)
    figure, times = (outputdir / f"connie-{profile.name}.{ending}" for ending in ("png", "json"))
    content = json.dumps({"version": FORMAT, "task": asdict(task), **environment.machine(), **asdict(results)})
    save_figure(draw(profile, results), figure)
    write_atomically(times, content)
    print(figure, times, sep="\n", file=sys.stderr)


if __name__ == "__main__":
    run_interruptible(main)
