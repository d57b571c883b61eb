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
    star gone    from the end of the star until the kernel has freed all of its network namespaces (/proc/slabinfo);
                 then no process is left in them, and no interface
"""

import os
import re
import shutil
import statistics
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import ROOT, use_project_python

use_project_python()

import numpy as np

from benchmarks.report import print_table
from harness.errors import ExperimentError
from harness.files.pages import BUNDLED, PageFiles
from harness.measure.preflight import PageSet, check_pages
from harness.measure.settings import Settings
from harness.network.links import delaying
from harness.network.needs import check_programs, kernel_has_netem
from harness.network.programs import running_servers
from harness.network.rtt import measure_rtts, rtt_tolerance_ms
from harness.network.star import BRIDGE_PORTS, LinkSpeeds, running_star
from harness.system.contained import begin_experiment
from harness.system.environment import print_machine
from harness.system.lock import only_experiment
from harness.system.options import DELAY_MS, ROUNDS, OptionParser, Whole
from harness.system.privileges import invoking_user
from harness.system.processes import descendants, run
from harness.system.scratch import temporary_directory
from harness.system.signals import run_interruptible

SIZES = (84, 250, 500, 1000)
FREED_WITHIN_S = 30.0
FILE_BYTES = 9500
"""Of the one file of a host that no page has."""

VALUES = ("star up, s", "delayed, s", "servers up, s", "servers gone, s", "star gone, s", "servers' memory, MB",
          "star memory, MB")


@dataclass
class Round:
    """What one round measured: VALUES by name, in s and units of 10^6 bytes, and each server's RTT error in ms."""

    values: dict[str, float] = field(default_factory=dict)
    rtt_errors_ms: list[float] = field(default_factory=list)

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Write down how long `step` takes."""
        began_s = time.perf_counter()
        yield
        self.values[f"{step}, s"] = time.perf_counter() - began_s


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
    page_set, netem = check_pages(PageFiles(ROOT, BUNDLED)), kernel_has_netem()
    results: dict[int, list[Round]] = {}
    with only_experiment():
        print_machine()
        for _ in range(arguments.rounds):    # sizes take turns, so that what disturbs a while disturbs all of them
            for hosts in arguments.hosts:
                results.setdefault(hosts, []).append(one_round(page_set, hosts, arguments.delaynet, netem))
                print(f"# {hosts}: {results[hosts][-1].values}", file=sys.stderr, flush=True)
    print(f"stars of {', '.join(map(str, results))} servers, medians of {arguments.rounds} rounds, "
          f"{2 * arguments.delaynet:g} ms RTT by {'netem' if netem else 'the delay line'}; nothing was left after any")
    columns = {str(hosts): column(hosts, rounds, 2 * arguments.delaynet) for hosts, rounds in results.items()}
    names = next(iter(columns.values()))
    print_table(["servers", *columns], [[name, *(found[name] for found in columns.values())] for name in names])
    return 0


def one_round(page_set: PageSet, hosts: int, delaynet_ms: float, netem: bool) -> Round:
    """Build, delay, measure, serve and take down once. Raises ExperimentError when something is off or is left."""
    measured = Round()
    step = measured.timed
    with temporary_directory() as work_dir, ExitStack() as serving, ExitStack() as laboratory:
        names = widen_mirror(page_set, hosts, work_dir / "mirror")
        speeds = LinkSpeeds(delay_net_ms=delaynet_ms)
        before, freed = descendants(os.getpid()), kernel_namespaces()
        with step("star up"):
            star = laboratory.enter_context(running_star(names, speeds, netem))
        with step("delayed"):
            laboratory.enter_context(delaying(star, netem=netem)).change(speeds)
        rtts_ms = measure_rtts(star, Settings.port)
        measured.rtt_errors_ms = [rtt_ms - speeds.rtt_ms for rtt_ms in rtts_ms.values()]
        in_star = descendants(os.getpid())
        measured.values["star memory, MB"] = pss_bytes(in_star - before) / 1e6
        with step("servers up"):
            serving.enter_context(running_servers(
                star, work_dir / "mirror", page_set.files.fetchlog, {}, work_dir, logdir=work_dir / "serverlogs",
                delays_ms=[delaynet_ms], user=invoking_user()))
        measured.values["servers' memory, MB"] = pss_bytes(descendants(os.getpid()) - in_star) / 1e6
        with step("servers gone"):
            serving.close()
        with step("star gone"):
            laboratory.close()
            await_freed(freed)
    return measured


def widen_mirror(page_set: PageSet, count: int, mirror: Path) -> list[str]:
    """Copy the pages' mirror, add hosts to make `count`, and return the names of `count` hosts."""
    shutil.copytree(page_set.files.mirror, mirror)
    more = [f"host{number}.example.test" for number in range(count - len(page_set.hosts))]
    for name in more:
        (mirror / name).mkdir()
        (mirror / name / "file.bin").write_bytes(b"x" * FILE_BYTES)
    return [*page_set.hosts, *more][:count]


def pss_bytes(pids: Iterable[int]) -> int:
    """Return the proportional set size of these processes together (proc(5), smaps_rollup).

    That of one is its own memory, and its share of what it shares with others.
    """
    lines = (line for pid in pids for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines())
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:"))


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


def column(hosts: int, rounds: list[Round], rtt_ms: float) -> dict[str, str]:
    """Return what is printed of one number of servers: medians of the rounds, and RTT errors of all servers in all."""
    middle = {name: statistics.median(each.values[name] for each in rounds) for name in VALUES}
    errors_ms = [error for each in rounds for error in each.rtt_errors_ms]
    within = statistics.fmean(abs(error) <= rtt_tolerance_ms(rtt_ms) for error in errors_ms)    # harness.network.rtt
    return {**{name: f"{value:.2f}" for name, value in middle.items()},
            **{f"RTT error {name}, ms": f"{np.percentile(errors_ms, percent):.2f}"
               for name, percent in (("p50", 50), ("p99", 99), ("largest", 100))},
            "RTTs within tolerance": f"{within:.2%}", "star up, ms a server": f"{1000 * middle[VALUES[0]] / hosts:.2f}"}


if __name__ == "__main__":
    run_interruptible(main)
