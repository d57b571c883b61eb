#!/usr/bin/env python3
"""How the laboratory grows: time, memory and RTT accuracy of stars from 84 servers (the paper's pages have 81) to 1000.

Every round builds a star, delays its links, measures the RTT to every server, starts a replay server in each host, and
takes all of it down. Each server replays a host of one file. Measured:

    star up      until running_star() gives it: Mininet, offloads off, neighbours set (no delay, no servers yet)
    delayed      until the delay is in place
    servers up   from the start of http_tfo.py until all its servers listen, Python's start included
    memory       PSS of all server processes while they listen (proc(5), smaps_rollup), in units of 10^6 bytes
    servers gone until running_servers() has ended
    RTT error    of each server: shortest of 3 TCP connect times less the nominal RTT; the median, the 99th percentile
                 and the largest over all servers, and the share of them within tolerance (harness/network/rtt.py)
    star gone    until running_star() has ended
"""

import argparse
import os
import statistics
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import use_project_python

use_project_python()

import numpy as np

from harness.files.pages import PageFiles
from harness.measure.settings import Settings, add_options, settings_of
from harness.mirror.importing import MadeResource, write_small_recording
from harness.network.links import delaying
from harness.network.needs import check_programs, kernel_has_netem
from harness.network.nodes import running_star
from harness.network.programs import running_servers
from harness.network.rtt import measure_rtts, rtt_tolerance_ms
from harness.network.star import BRIDGE_PORTS, LinkSpeeds
from harness.system.contained import begin_experiment
from harness.system.environment import print_machine
from harness.system.lock import only_experiment
from harness.system.options import ROUNDS, OptionParser, Whole
from harness.system.privileges import invoking_user
from harness.system.processes import descendants
from harness.system.scratch import temporary_directory
from harness.system.signals import run_interruptible

SIZES = (84, 250, 500, 1000)
FILE_BYTES = 9500
"""Of the one file of a host."""


Figures = dict[str, float]
"""What one round measured: by name, in the unit that stands in the name."""


@contextmanager
def timed(step: str, found: Figures) -> Iterator[None]:
    """Write down how long `step` takes."""
    began_s = time.perf_counter()
    yield
    found[f"{step}, s"] = time.perf_counter() - began_s


def main() -> int:
    """Print the table."""
    parser = OptionParser(description=__doc__)
    parser.add_argument("--hosts", type=Whole(1, BRIDGE_PORTS - 1), nargs="+", default=SIZES,
                        help="servers in the stars (84 250 500 1000)")
    parser.add_argument("--rounds", type=ROUNDS, default=3, help="rounds of each (%(default)s)")
    add_options(parser, ("delays_ms",))
    arguments = parser.parse_args()
    settings = settings_of(parser, arguments, delays_ms=(10.0,))
    begin_experiment("benchmarks/scale.py")
    check_programs()
    netem = kernel_has_netem()
    with only_experiment():
        print_machine()
        for delay_ms in settings.delays_ms:
            measure(delay_ms, arguments, netem)
    return 0


def measure(delay_ms: float, arguments: argparse.Namespace, netem: bool) -> None:
    """Measure stars of all sizes at one delay (one way), and print the table."""
    results: dict[int, list[Figures]] = {hosts: [] for hosts in arguments.hosts}
    for _ in range(arguments.rounds):    # sizes take turns, so that what disturbs a while disturbs all of them
        for hosts, rounds in results.items():
            rounds.append(one_round(hosts, delay_ms, netem))
            print(f"# {hosts}: {rounds[-1]}", file=sys.stderr, flush=True)
    print(f"medians of {arguments.rounds} rounds, {2 * delay_ms:g} ms RTT by {'netem' if netem else 'the delay line'}")
    print("servers", *results, sep="\t")
    for name in next(iter(results.values()))[0]:
        print(name, *(f"{statistics.median(found[name] for found in rounds):.2f}" for rounds in results.values()),
              sep="\t")


def one_round(hosts: int, delaynet_ms: float, netem: bool) -> Figures:
    """Build, delay, measure, serve and take down once. Raises ExperimentError when something is off."""
    found: Figures = {}
    with temporary_directory() as work_dir, ExitStack() as serving, ExitStack() as laboratory:
        names = [f"host{number}.example.test" for number in range(hosts)]
        files, one_file = PageFiles(work_dir, "Web"), MadeResource("text/html", bytes(FILE_BYTES))
        write_small_recording(files, {f"http://{name}/": one_file for name in names})
        speeds = LinkSpeeds(delay_net_ms=delaynet_ms)
        with timed("star up", found):
            star = laboratory.enter_context(running_star(names, speeds, netem))
        with timed("delayed", found):
            laboratory.enter_context(delaying(star, netem=netem)).change(speeds)
        errors_ms = [rtt_ms - speeds.rtt_ms for rtt_ms in measure_rtts(star, Settings.port).values()]
        for name, percent in (("p50", 50), ("p99", 99), ("largest", 100)):
            found[f"RTT error {name}, ms"] = float(np.percentile(errors_ms, percent))
        within = [abs(error_ms) <= rtt_tolerance_ms(speeds.rtt_ms) for error_ms in errors_ms]
        found["RTTs within tolerance, %"] = 100 * statistics.fmean(within)
        in_star = descendants(os.getpid())
        with timed("servers up", found):
            serving.enter_context(running_servers(
                star, files.mirror, files.fetchlog, {}, work_dir, logdir=work_dir / "serverlogs",
                delays_ms=[delaynet_ms], user=invoking_user()))
        found["servers' memory, MB"] = pss_bytes(descendants(os.getpid()) - in_star) / 1e6
        with timed("servers gone", found):
            serving.close()
        with timed("star gone", found):
            laboratory.close()
    return found


def pss_bytes(pids: Iterable[int]) -> int:
    """Return the proportional set size of these processes together (proc(5), smaps_rollup).

    That of one is its own memory, and its share of what it shares with others.
    """
    lines = (line for pid in pids for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines())
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:"))


if __name__ == "__main__":
    run_interruptible(main)
