#!/usr/bin/env python3
"""Time the network and its servers: the star's building and taking down, its servers' start, and their memory.

Every round builds a star, starts one replay server in each of its hosts, stops them, and takes the star down. Measured:

    star up      until running_star() gives it: Mininet, offloads off, neighbours set (no delay, no servers yet)
    servers up   from the start of http_tfo.py until all its servers listen, Python's start included
    memory       PSS of all server processes while they listen (proc(5), smaps_rollup), in units of 10^6 bytes
    servers gone until running_servers() has ended
    star gone    from the end of the star until the kernel shows no process, namespace or interface of it any more;
                 should something be left after 2 s, this fails
The servers replay the hosts of Paper/, and as many hosts with one file each as are wanting to make --hosts.
"""

import os
import statistics
import sys
import time
from dataclasses import astuple, dataclass, fields
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import use_project_python

use_project_python()

from benchmarks.laboratory import read_page_set, widen_mirror
from benchmarks.leftovers import check_nothing_left, namespaces_of
from benchmarks.memory import pss_bytes
from benchmarks.report import print_table
from harness.files.pages import BUNDLED
from harness.measure.preflight import PageSet
from harness.measure.settings import Settings
from harness.network.links import kernel_has_netem
from harness.network.needs import check_programs
from harness.network.servers import ServerSettings, running_servers
from harness.network.star import BRIDGE_PORTS, LinkSpeeds, running_star
from harness.system.environment import print_machine
from harness.system.lock import only_experiment
from harness.system.options import ROUNDS, OptionParser, Whole
from harness.system.privileges import invoking_user, require_root
from harness.system.processes import descendants
from harness.system.scratch import temporary_directory
from harness.system.signals import run_interruptible


@dataclass
class Round:
    """What one round measured, all times in seconds."""

    star_up_s: float
    servers_up_s: float
    memory_mb: float
    servers_gone_s: float
    star_gone_s: float


def main() -> int:
    """Print the table; the exit status is 1 when something of a star was left."""
    parser = OptionParser(description=__doc__)
    parser.add_argument("--hosts", type=Whole(1, BRIDGE_PORTS - 1), default=84,
                        help="servers in the star (%(default)s)")
    parser.add_argument("--rounds", type=ROUNDS, default=5, help="rounds (%(default)s)")
    arguments = parser.parse_args()
    require_root("benchmarks/star.py")
    check_programs()
    page_set, netem = read_page_set(BUNDLED), kernel_has_netem()
    with only_experiment(), temporary_directory() as work_dir:
        print_machine()
        names = widen_mirror(page_set, arguments.hosts, work_dir / "mirror")
        rounds = [one_round(page_set, names, netem, work_dir) for _ in range(arguments.rounds)]
    columns = list(zip(*map(astuple, rounds), strict=True))
    print(f"star of {len(names)} servers, {len(rounds)} rounds; nothing was left after any of them")
    print_table(["", "median", "smallest", "largest"],
                [[field.name, *(f"{number(column):.2f}" for number in (statistics.median, min, max))]
                 for field, column in zip(fields(Round), columns, strict=True)])
    return 0


def one_round(page_set: PageSet, names: list[str], netem: bool, work_dir: Path) -> Round:
    """Build, serve, stop and take down once. Raises ExperimentError when something is left."""
    settings = ServerSettings(
        mirror=work_dir / "mirror", fetchlog=page_set.files.fetchlog, port=Settings.port,
        tls_port=Settings().https_port,
        http="1.0", server="threaded", logdir=work_dir / "serverlogs", delays_ms=(10.0,), user=invoking_user())
    before = descendants(os.getpid())
    times = [time.perf_counter()]
    with running_star(names, LinkSpeeds(), netem) as star:
        times.append(time.perf_counter())
        in_star, namespaces = descendants(os.getpid()), namespaces_of(star)
        times.append(time.perf_counter())
        with running_servers(star, settings, work_dir):
            times.append(time.perf_counter())
            memory_mb = pss_bytes(descendants(os.getpid()) - in_star) / 1e6
            times.append(time.perf_counter())
        times.append(time.perf_counter())
    check_nothing_left(before, namespaces)
    times.append(time.perf_counter())
    return Round(times[1] - times[0], times[3] - times[2], memory_mb, times[5] - times[4], times[6] - times[5])


if __name__ == "__main__":
    run_interruptible(main)
