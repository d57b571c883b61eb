#!/usr/bin/env python3
"""What a sweep's scheduler and driver cost: units by the thousand, on simulated workers that only sleep.

    benchmarks/sweep.py --sites 10000 --workers 200

Scheduler, driver, TLS, restricted pickles and the sweep's folder are the real ones; only the test beds are not: each
unit is half to one and a half SECONDS of sleep (sites differ), and its result a parcel of so many bytes. A tenth of the
sites is measured twice, as in every sweep of several machines, and each process of simulated workers counts as one. The
overhead of a site is how much longer all took than with a scheduler that costs nothing, divided by the sites: with that
one, each of WORKERS that is free takes the next unit at once, first of the list, then of those that are measured again.
(In the end they get free one by one: for some seconds not all of them have work, whatever schedules them.) CPU is what
the driver and the scheduler used themselves. Needs no root.
"""

import argparse
import asyncio
import heapq
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import ROOT, use_project_python

use_project_python()

from benchmarks.memory import peak_bytes
from harness.sweep import tasks
from harness.sweep.cluster import RemoteCluster
from harness.sweep.driver import Driver
from harness.sweep.folder import SweepFolder
from harness.sweep.measuring import Bed
from harness.sweep.outcome import FILE, Calibration, Machine, of_unit
from harness.sweep.parcel import pack
from harness.sweep.plan import Unit, UnitSettings, UnitTask, Versions
from harness.sweep.scheduler import configure
from harness.sweep.trust import make_certificates, security
from harness.sweep.worker import HEARTBEAT
from harness.system.environment import print_machine
from harness.system.options import Decimal, OptionParser, Whole
from harness.system.processes import bound_to_us, stop
from harness.system.signals import run_interruptible

VERSIONS = Versions("simulated", "simulated")
PROCESSES = 4
"""The simulated workers share so many processes."""
MOST_S = 3600.0


def main() -> int:
    """Measure and print; or be a process of simulated workers."""
    options = parse_arguments()
    if options.be_workers:
        asyncio.run(be_workers(options))
        return 0
    print_machine()
    configure()
    for sites in options.sites:
        # Hundreds of workers take their time to say goodbye: they are killed, and what they leave lies in here.
        with tempfile.TemporaryDirectory(prefix="tfo-lab-bench-", ignore_cleanup_errors=True) as name:
            measure(Path(name), sites, options)
    return 0


def measure(folder: Path, sites: int, options: argparse.Namespace) -> None:
    """Sweep `sites` units once, and print what it took."""
    tls = make_certificates(folder / "tls")
    sweep = SweepFolder(folder, "bench")
    sweep.make()
    recording = bytearray(os.urandom(options.recording))        # each gets a copy: one object would travel once
    units = [Unit(f"http://s{number}.test/", f"{number}", UnitSettings((10.0,)), VERSIONS) for number in range(sites)]
    jobs = [UnitTask(unit, lambda: bytes(recording)) for unit in units]
    with ExitStack() as stack:
        scheduler, address = stack.enter_context(running_scheduler(tls))
        processes = min(PROCESSES, options.workers)
        workers = options.workers // processes * processes
        for _ in range(processes):
            stack.enter_context(running([sys.executable, __file__, "--be-workers", address, "--tls", str(tls),
                                         "--workers", str(workers // processes), "--seconds",
                                         f"{options.seconds:g}", "--result", str(options.result)], patience_s=0.1))
        cluster = RemoteCluster(address, tls)
        await_workers(cluster, workers)
        before, began_s = own_cpu_s(), time.monotonic()
        scheduler_before = cpu_s(scheduler.pid)
        tally = Driver(sweep, cluster, VERSIONS, lambda _: None, lambda _: None).run(jobs)
        took_s = time.monotonic() - began_s
        driver_cpu_s, scheduler_cpu_s = own_cpu_s() - before, cpu_s(scheduler.pid) - scheduler_before
        again = [job.second.unit for job in jobs if sweep.outcome(job.second.unit.key)]
        naps_s = [nap_s(unit, options.seconds) for unit in [*(job.unit for job in jobs), *again]]
        ideal_s = without_cost_s(naps_s, workers)
        overhead_ms = (took_s - ideal_s) / sites * 1000
        print(f"{sites} sites on {workers} workers, {options.seconds:g} s each: {took_s:.1f} s, without any cost "
              f"{ideal_s:.1f} s, all sleep / workers {sum(naps_s) / workers:.1f} s; {overhead_ms:.2f} ms of "
              f"overhead a site; CPU a site: driver {driver_cpu_s / sites * 1000:.2f} ms, scheduler "
              f"{scheduler_cpu_s / sites * 1000:.2f} ms; most memory: driver {peak_bytes(os.getpid()) / 1e6:.0f} "
              f"MB, scheduler {peak_bytes(scheduler.pid) / 1e6:.0f} MB; "
              f"{tally.measured} measured, {len(again)} of them twice", flush=True)


def without_cost_s(naps_s: Iterable[float], workers: int) -> float:
    """Return how long units of these lengths take, in their order, when each free worker takes the next one at once."""
    free_at_s = [0.0] * workers         # a heap
    for length_s in naps_s:
        heapq.heapreplace(free_at_s, free_at_s[0] + length_s)
    return max(free_at_s)


def await_workers(cluster: RemoteCluster, count: int) -> None:
    """Wait until all simulated workers are there."""
    with cluster.connect() as client:
        client.wait_for_workers(count, timeout=120)


@contextmanager
def running(command: list[str], *, patience_s: float = 5.0) -> Iterator["subprocess.Popen[str]"]:
    """Run a program while this lasts; then it has so long to end by itself."""
    process = subprocess.Popen(bound_to_us(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True, cwd=ROOT)
    try:
        yield process
    finally:
        stop(process, patience_s)


@contextmanager
def running_scheduler(tls: Path) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """Run the sweep's scheduler while this lasts; give its process and address."""
    with running([sys.executable, "-m", "harness.sweep.scheduler", "--host", "127.0.0.1", "--port", "0",
                  "--dashboard", "0", "--tls", str(tls)]) as process:
        assert process.stdout
        yield process, process.stdout.readline().split()[1]


async def be_workers(options: argparse.Namespace) -> None:
    """Run simulated workers in this process, until it is ended."""
    from distributed import Worker

    configure()
    simulate(options.seconds, os.urandom(options.result), options.tls.parent)
    with tempfile.TemporaryDirectory(dir=options.tls.parent) as directory:
        workers = [Worker(options.be_workers, nthreads=1, name=f"{os.getpid()}-{number}", resources={"bed": 1},
                          security=security(options.tls), memory_limit=0, local_directory=directory, dashboard=False,
                          heartbeat_interval=HEARTBEAT) for number in range(options.workers)]
        await asyncio.gather(*workers)
        await asyncio.sleep(MOST_S)


def simulate(seconds: float, content: bytes, scratch: Path) -> None:
    """Have this process's tasks sleep in the place of measuring."""
    machine = Machine(f"{os.getpid()}", f"{os.getpid()}", browser=VERSIONS.browser, tfo_lab=VERSIONS.tfo_lab)
    calibration = Calibration(time.time(), 0.0, 1.0, 100.0)

    def measured(unit: str, _parcel: bytes) -> bytes:
        site = Unit.from_json(unit)
        time.sleep(nap_s(site, seconds))
        outcome = replace(of_unit(site, "measured"), machine=machine, calibration=calibration)
        with tempfile.TemporaryDirectory(dir=scratch) as name:
            (Path(name) / FILE).write_text(outcome.to_json())
            (Path(name) / "console.log").write_bytes(content)
            return pack(Path(name), (FILE, "console.log"))

    tasks.set_bed(Bed(machine, 0, 0, calibration))
    vars(tasks)["measure"] = measured


def nap_s(unit: Unit, seconds: float) -> float:
    """Return how long a site takes, the same each time: were all alike, all workers would ask for more at once."""
    return seconds * random.Random(unit.url).uniform(0.5, 1.5)


def own_cpu_s() -> float:
    """Return what this process has used so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def cpu_s(pid: int) -> float:
    """Return what a process has used so far (proc(5), stat: utime and stime)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = OptionParser(description=__doc__)
    parser.add_argument("--sites", type=Whole(1, 1_000_000), nargs="+", default=[1000, 3000, 10000])
    parser.add_argument("--workers", type=Whole(1, 1000), default=200)
    parser.add_argument("--seconds", type=Decimal(0.01, 3600), default=2.0,
                        help="of sleep for a site, on average (%(default)g)")
    parser.add_argument("--recording", type=Whole(1, 10**8), default=20_000, metavar="BYTES",
                        help="size of each site's recording (%(default)s)")
    parser.add_argument("--result", type=Whole(1, 10**8), default=20_000, metavar="BYTES",
                        help="size of each site's result (%(default)s)")
    parser.add_argument("--be-workers", metavar="ADDRESS", help=argparse.SUPPRESS)
    parser.add_argument("--tls", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    run_interruptible(main)
