#!/usr/bin/env python3
"""Measure the delay line: its CPU time per packet, and how far the RTT is off, idle and during loads.

For each RTT the experiment's star and servers are built with the delay line (also on kernels with netem), and TCP
connect times are taken from `user` to a server that has nothing else to do, 100 a second (connect_times.py):

    idle     nothing else in the network
    fetches  --fetchers of the other servers each send their largest file again and again, at 4 Mbit/s each
    page     Chrome loads a page without TFO, as in the experiment; only connects that began during its PLT count

Error is the measured RTT less the nominal one: what the line is late, once a round trip, and what links and kernel take
(first row, without any delay); late is what the line says of itself for each packet. CPU time is what the kernel
charges the delay line's process (/proc/PID/schedstat), packets are what passed user's interface (/proc/net/dev); all
from before to after each situation.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import ROOT, use_project_python

use_project_python()

import numpy

from benchmarks.connect_times import Answer, connecting
from experiments.by_hand import at_each_delay
from harness.browser.page import packets
from harness.browser.program import CLOCK_SHIFT_MS
from harness.errors import ExperimentError
from harness.files.load_record import LoadRecord
from harness.files.pages import BUNDLED, PageFiles
from harness.measure.evidence import Load
from harness.measure.laboratory import Laboratory
from harness.measure.loads import record_of
from harness.measure.preflight import PageSet, check_pages
from harness.measure.settings import Settings, add_options, settings_of
from harness.mirror.answers import Recorded
from harness.network.needs import check_programs
from harness.network.star import Host
from harness.system.contained import begin_experiment
from harness.system.namespaces import inside
from harness.system.options import Decimal, OptionParser, Whole
from harness.system.signals import run_interruptible

CLOSED_PORT = 9
NS_PER_US = 1000
MANY_TIMES = "#[1-1000000]"
"""curl(1) asks for a URL once for each number; what stands behind # it does not send."""
TIME_IS_OVER = 124
"""The exit status of timeout(1) then."""


@dataclass
class Sampling:
    """What was sampled for so many seconds: connects as (epoch seconds, ms), the CPU time that the delay line took,
    the packets it held, and how late it let one go at most by its own count, in ms (0.0 without a delay).
    """

    seconds: float = 0.0
    cpu_us: float = 0.0
    packets: float = 0.0
    latest_ms: float = 0.0
    connects: list[Answer] = field(default_factory=list)

    def row(self, name: str, rtt_ms: float, times_ms: list[float]) -> list[str]:
        """Return the table's row; `times_ms` are those of the connect times that count."""
        p50, p99 = (float(value) for value in numpy.percentile(times_ms, [50, 99]))
        cpu = [f"{self.cpu_us / self.packets:.1f}", f"{self.cpu_us / self.seconds / 1e4:.1f}"] if rtt_ms else ["", ""]
        return [f"{rtt_ms:g} ms {name}", f"{len(times_ms)}", f"{p50 - rtt_ms:+.2f}", f"{p99 - rtt_ms:+.2f}",
                f"{(p50 / rtt_ms - 1) * 100:+.2f}" if rtt_ms else "", f"{self.packets:.0f}",
                f"{self.packets / self.seconds:.0f}", *cpu, f"{self.latest_ms:.2f}"]


HEADER = ["RTT, situation", "connects", "p50 error ms", "p99 error ms", "p50 error %", "packets", "packets/s",
          "CPU us/packet", "CPU %", "latest ms"]


def main() -> int:
    """Print the table."""
    settings, arguments = parse_arguments()
    begin_experiment("benchmarks/delay_line.py")
    check_programs()
    page_set = check_pages(PageFiles(ROOT, BUNDLED))
    rows: list[list[str]] = []

    def measure(lab: Laboratory) -> int:
        rows.extend(measure_rtt(lab, page_set, arguments))
        return 0

    for delays_ms in ((0.0,), settings.delays_ms):      # in a star of its own, which has no delay line
        at_each_delay(page_set, replace(settings, delays_ms=delays_ms), measure, netem=False)
    for row in (HEADER, *rows):
        print(*row, sep="\t")
    return 0


def parse_arguments() -> tuple[Settings, argparse.Namespace]:
    """Read the command line."""
    parser = OptionParser(description=__doc__)
    add_options(parser, ("delays_ms",))
    parser.add_argument("--seconds", type=Decimal(1, 3600), default=5.0,
                        help="duration of idle and of fetches, each (%(default)s)")
    parser.add_argument("--fetchers", type=Whole(1, 1000), default=16, help="servers that send at once (%(default)s)")
    parser.add_argument("--page", default="nytimes", help="part of the URL of the page Chrome loads (%(default)s)")
    parser.add_argument("--probe", default="en.wikipedia.org",
                        help="host of the connects; not on the page (%(default)s)")
    arguments = parser.parse_args()
    return settings_of(parser, arguments), arguments


def measure_rtt(lab: Laboratory, page_set: PageSet, arguments: argparse.Namespace) -> list[list[str]]:
    """Return the rows of one RTT: without a delay (0) only the idle one."""
    probe = lab.star.servers[arguments.probe]
    situations: dict[str, Callable[[], LoadRecord | None]] = {
        "idle": lambda: time.sleep(arguments.seconds),
        "fetches": lambda: fetch_for(arguments.seconds, lab, page_set, arguments),
        "page": lambda: record_of(lab, Load(page_set.page(arguments.page), run=1, transport=0))}
    rows = []
    for name, goes_on in [*situations.items()][:None if lab.rtt_ms else 1]:
        with sampling(lab, probe) as found:
            record = goes_on()
        times_ms = during_plt(found, record, probe) if record else [time_ms for _, time_ms in found.connects]
        rows.append(found.row(name, lab.rtt_ms, times_ms))
    return rows


def during_plt(loading: Sampling, record: LoadRecord, probe: Host) -> list[float]:
    """Return the times in ms of the connects that began while the page loaded. Raises ExperimentError if it did not."""
    if record.errors or record.plt_ms is None or record.time_origin_ms is None:
        raise ExperimentError(f"{record.url} did not load: {record.errors or 'no load event'}")
    if any(connection.address.startswith(f"{probe.address}:") for connection in record.connections or ()):
        raise ExperimentError(f"{record.url} uses the host the connects go to; give another --probe")
    begin_s = (record.time_origin_ms - CLOCK_SHIFT_MS) / 1000
    end_s = begin_s + record.plt_ms / 1000
    return [time_ms for began_s, time_ms in loading.connects if begin_s <= began_s <= end_s]


@contextmanager
def sampling(lab: Laboratory, probe: Host) -> Iterator[Sampling]:
    """Take connect times while this lasts; they are there when it has ended."""
    user, line_pid = lab.star.user, lab.delay.line.process.pid if lab.delay.line else None
    with connecting(user.pid, (probe.address, CLOSED_PORT)) as connects:
        before, began_s, found = used(user, line_pid), time.time(), Sampling(connects=connects)
        yield found
        found.seconds, found.cpu_us, found.packets = (
            now - then for now, then in zip(used(user, line_pid), before, strict=True))
        found.latest_ms = lab.delay.latest_ms(began_s, time.time()) or 0.0


def used(user: Host, line_pid: int | None) -> tuple[float, float, float]:
    """Read the time in s, the CPU time of the delay line in us (0 without one) and the packets of user's interface."""
    cpu_ns = int(Path(f"/proc/{line_pid}/schedstat").read_text().split()[0]) if line_pid else 0
    with inside(user.pid):
        return time.monotonic(), cpu_ns / NS_PER_US, packets(user.interface)


def size_bytes(answer: Recorded) -> int:
    """Return how large the file of an answer is, 0 without one."""
    return (answer.answer.body and answer.answer.body.bytes) or 0


def fetch_for(seconds: float, lab: Laboratory, page_set: PageSet, arguments: argparse.Namespace) -> None:
    """Have --fetchers servers send their largest files again and again for `seconds`, each over new connections."""
    largest = {answer.place.host: answer for answer in sorted(page_set.recording.each, key=size_bytes)
               if (answer.answer.status, answer.place.scheme) == (HTTPStatus.OK, "http")
               and answer.place.host != arguments.probe}
    found = sorted(largest.values(), key=size_bytes, reverse=True)[:arguments.fetchers]
    with inside(lab.star.user.pid):
        fetches = [subprocess.Popen(
            ["timeout", f"{seconds:g}", "curl", "--silent", "--show-error", "--fail", "--fail-early",
             "--output", os.devnull, "--connect-to", f"::{lab.star.servers[answer.place.host].address}:{Settings.port}",
             f"{answer.url}{MANY_TIMES}"]) for answer in found]
    if {fetch.wait() for fetch in fetches} != {TIME_IS_OVER}:
        raise ExperimentError("a fetch failed")


if __name__ == "__main__":
    run_interruptible(main)
