#!/usr/bin/env python3
"""How the laboratory grows: time, memory and RTT accuracy of stars from 84 servers (the paper's pages have 81) to 1000.

Every round builds a star, delays its links, measures the RTT to every server, starts a replay server in each host, and
takes all of it down. The servers replay the hosts of Paper/, and as many hosts with one file each as are wanting.
Measured:

    star up      until running_star() gives it: Mininet, offloads off, neighbours set (no delay, no servers yet)
    delayed      until the delay is in place
    servers up   from the start of http_tfo.py until all its servers listen, Python's start included
    memory       PSS of all server processes while they listen (proc(5), smaps_rollup), in units of 10^6 bytes
    servers gone until running_servers() has ended
    RTT error    of each server: median of 3 TCP connect times less the nominal RTT; shown are the median, the 99th
                 percentile and the largest over all servers
    star memory  PSS of the hosts' shells, and of the delay line
    star gone    from the end of the star until the kernel shows nothing of it any more, and has freed all of its
                 network namespaces (/proc/slabinfo)
"""

import os
import re
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import use_project_python

use_project_python()

import numpy as np

from benchmarks.laboratory import read_page_set, widen_mirror
from benchmarks.leftovers import check_nothing_left, namespaces_of
from benchmarks.memory import pss_bytes
from benchmarks.report import print_table
from harness.errors import ExperimentError
from harness.files.pages import BUNDLED
from harness.measure.preflight import PageSet
from harness.measure.settings import Settings
from harness.network.links import delayed_links
from harness.network.needs import check_programs, kernel_has_netem
from harness.network.rtt import measure_rtts, rtt_tolerance_ms
from harness.network.servers import running_servers
from harness.network.star import BRIDGE_PORTS, LinkSpeeds, running_star
from harness.system.commands import run
from harness.system.contained import begin_experiment
from harness.system.environment import print_machine
from harness.system.lock import only_experiment
from harness.system.options import DELAY_MS, ROUNDS, OptionParser, Whole
from harness.system.privileges import invoking_user
from harness.system.processes import descendants
from harness.system.scratch import temporary_directory
from harness.system.signals import run_interruptible

SIZES = (84, 250, 500, 1000)
FREED_WITHIN_S = 30.0

TIMES = ("star up", "delayed", "servers up", "servers gone", "star gone")
MEMORIES = ("servers' memory", "star memory")


@dataclass
class Round:
    """What one round measured: times in seconds, memory in units of 10^6 bytes, each server's RTT error in ms."""

    times_s: dict[str, float] = field(default_factory=dict)
    memory_mb: dict[str, float] = field(default_factory=dict)
    rtt_errors_ms: list[float] = field(default_factory=list)

    def in_words(self) -> str:
        """Return the times and memories in one line."""
        return ", ".join(f"{name} {value:.2f}" for name, value in (self.times_s | self.memory_mb).items())


@contextmanager
def timed(times_s: dict[str, float], step: str) -> Iterator[None]:
    """Write down how long `step` takes, in s."""
    began_s = time.perf_counter()
    yield
    times_s[step] = time.perf_counter() - began_s


def main() -> int:
    """Print the table."""
    parser = OptionParser(description=__doc__)
    parser.add_argument("--hosts", type=Whole(1, BRIDGE_PORTS - 1), nargs="+", default=SIZES,
                        help="servers in the stars (84 250 500 1000)")
    parser.add_argument("--rounds", type=ROUNDS, default=3, help="rounds of each (%(default)s)")
    parser.add_argument("--delaynet", type=DELAY_MS, default=10.0, help="one-way delay, ms (%(default)s)")
    arguments = parser.parse_args()
    begin_experiment("benchmarks/scale.py")
    check_programs()
    page_set, netem = read_page_set(BUNDLED), kernel_has_netem()
    results: dict[int, list[Round]] = {}
    with only_experiment():
        print_machine()
        for _ in range(arguments.rounds):    # sizes take turns, so that what disturbs a while disturbs all of them
            for hosts in arguments.hosts:
                results.setdefault(hosts, []).append(one_round(page_set, hosts, arguments.delaynet, netem))
                print(f"# {hosts}: {results[hosts][-1].in_words()}", file=sys.stderr, flush=True)
    print(f"stars of {', '.join(map(str, results))} servers, medians of {arguments.rounds} rounds, "
          f"{2 * arguments.delaynet:g} ms RTT by {'netem' if netem else 'the delay line'}; nothing was left after any")
    print_results(results, 2 * arguments.delaynet)
    return 0


def one_round(page_set: PageSet, hosts: int, delaynet_ms: float, netem: bool) -> Round:
    """Build, delay, measure, serve and take down once. Raises ExperimentError when something is off or is left."""
    measured = Round()
    step = partial(timed, measured.times_s)
    with temporary_directory() as work_dir, ExitStack() as serving, ExitStack() as laboratory:
        names = widen_mirror(page_set, hosts, work_dir / "mirror")
        speeds = LinkSpeeds(delay_net_ms=delaynet_ms)
        before, freed = descendants(os.getpid()), kernel_namespaces()
        with step("star up"):
            star = laboratory.enter_context(running_star(names, speeds, netem))
        namespaces = namespaces_of(star)
        with step("delayed"):
            laboratory.enter_context(delayed_links(star, speeds, netem))
        rtts_ms = measure_rtts(star, Settings.port)
        measured.rtt_errors_ms = [rtt_ms - speeds.rtt_ms for rtt_ms in rtts_ms.values()]
        in_star = descendants(os.getpid())
        measured.memory_mb["star memory"] = pss_bytes(in_star - before) / 1e6
        with step("servers up"):
            serving.enter_context(running_servers(
                star, work_dir / "mirror", page_set.files.fetchlog, {}, work_dir, logdir=work_dir / "serverlogs",
                delays_ms=[delaynet_ms], user=invoking_user()))
        measured.memory_mb["servers' memory"] = pss_bytes(descendants(os.getpid()) - in_star) / 1e6
        with step("servers gone"):
            serving.close()
        with step("star gone"):
            laboratory.close()
            check_nothing_left(before, namespaces)
            await_freed(freed)
    return measured


def kernel_namespaces() -> int:
    """Return how many network namespaces the kernel holds, those included that it has yet to free (slabinfo(5))."""
    # The kernel frees the last ones when the next one goes; and empty places, kept for later, would be counted, too.
    run(["unshare", "--net", "true"], "having the kernel free network namespaces")
    Path("/sys/kernel/slab/net_namespace/shrink").write_text("1", encoding="ascii")
    found = re.search(r"^net_namespace\s+(\d+)", Path("/proc/slabinfo").read_text(), re.MULTILINE)
    if found is None:
        raise ExperimentError("/proc/slabinfo: no net_namespace")
    return int(found[1])


def await_freed(before: int) -> None:
    """Wait until the kernel holds no more namespaces than `before`; it frees them in the background."""
    deadline = time.monotonic() + FREED_WITHIN_S
    while (now := kernel_namespaces()) > before:
        if time.monotonic() > deadline:
            raise ExperimentError(f"{now - before} network namespaces were not freed in {FREED_WITHIN_S:g} s")
        time.sleep(0.05)


def medians(results: dict[int, list[Round]]) -> dict[int, dict[str, float]]:
    """Return the median of each time (s) and memory (MB) by the number of hosts."""
    return {hosts: {name: statistics.median((measured.times_s | measured.memory_mb)[name] for measured in rounds)
                    for name in (*TIMES, *MEMORIES)} for hosts, rounds in results.items()}


def rtt_errors_ms(results: dict[int, list[Round]]) -> dict[int, dict[str, float]]:
    """Return the median, 99th percentile and maximum of all servers' RTT errors by the number of hosts."""
    errors = {hosts: [error for measured in rounds for error in measured.rtt_errors_ms]
              for hosts, rounds in results.items()}
    return {hosts: {"p50": float(np.percentile(of, 50)), "p99": float(np.percentile(of, 99)), "largest": max(of)}
            for hosts, of in errors.items()}


def share_within(results: list[Round], nominal_ms: float) -> float:
    """Return which share of the RTTs an experiment would have gone on with at once (harness.network.rtt)."""
    errors = [error for measured in results for error in measured.rtt_errors_ms]
    return sum(abs(error) <= rtt_tolerance_ms(nominal_ms) for error in errors) / len(errors)


def print_results(results: dict[int, list[Round]], rtt_ms: float) -> None:
    """Print a column for each number of hosts, and how the times of a host grow."""
    middle, errors = medians(results), rtt_errors_ms(results)
    rows = [[f"{name}, s", *(f"{middle[hosts][name]:.2f}" for hosts in middle)] for name in TIMES]
    rows += [[f"{name}, MB", *(f"{middle[hosts][name]:.0f}" for hosts in middle)] for name in MEMORIES]
    rows += [[f"RTT error {name}, ms", *(f"{errors[hosts][name]:.2f}" for hosts in errors)]
             for name in ("p50", "p99", "largest")]
    rows.append(["RTTs within tolerance", *(f"{share_within(rounds, rtt_ms):.2%}" for rounds in results.values())])
    build_ms = {hosts: 1000 * of["star up"] / hosts for hosts, of in middle.items()}
    rows.append(["star up, ms a server", *(f"{per_host:.2f}" for per_host in build_ms.values())])
    fewest = min(build_ms)
    rows.append([f"against that of {fewest}", *(f"{each / build_ms[fewest]:.2f}" for each in build_ms.values())])
    print_table(["servers", *map(str, middle)], rows)


if __name__ == "__main__":
    run_interruptible(main)
