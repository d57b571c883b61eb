#!/usr/bin/env python3
"""Measure the delay line: its CPU time per packet, and how far the RTT is off, idle and during loads.

For each RTT the experiment's star and servers are built with the delay line (also on kernels with netem), and TCP
connect times are taken from `user` to a server that has nothing else to do, 100 a second (connect_times.py):

    idle   nothing else in the network
    page   Chrome loads a page without TFO, as in the experiment; only connects that began during its PLT count

Error is the measured RTT less the nominal one: what the line is late, once a round trip, and what links and kernel take
(first row, without any delay); late is what the line says of itself for each packet. CPU time is what the kernel
charges the delay line's process (/proc/PID/schedstat), packets are what passed user's interface (/proc/net/dev); all
from before to after each situation.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
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
from harness.measure.preflight import check_pages
from harness.measure.settings import Settings, add_options, settings_of
from harness.network.needs import check_programs
from harness.network.star import Host
from harness.system.contained import begin_experiment
from harness.system.namespaces import inside
from harness.system.options import Decimal, OptionParser
from harness.system.signals import run_interruptible

CLOSED_PORT = 9
NS_PER_US, MS_PER_S = 1000, 1000
HEADER = ["RTT, situation", "connects", "p50 error ms", "p99 error ms", "p50 error %", "packets", "packets/s",
          "CPU us/packet", "CPU %", "latest ms"]


def main() -> int:
    """Print the table."""
    settings, arguments = parse_arguments()
    begin_experiment("benchmarks/delay_line.py")
    check_programs()
    page_set = check_pages(PageFiles(ROOT, BUNDLED))
    page = page_set.page(arguments.page)
    rows: list[list[str]] = []
    for delays_ms in ((0.0,), settings.delays_ms):      # in a star of its own, which has no delay line
        with at_each_delay(page_set, replace(settings, delays_ms=delays_ms), netem=False) as labs:
            for lab in labs:
                rows.append(measured(lab, arguments.probe, "idle", lambda: time.sleep(arguments.seconds)))
                if lab.rtt_ms:
                    load = partial(record_of, lab, Load(page, run=1, transport=0))
                    rows.append(measured(lab, arguments.probe, "page", load))
    for row in (HEADER, *rows):
        print(*row, sep="\t")
    return 0


def parse_arguments() -> tuple[Settings, argparse.Namespace]:
    """Read the command line."""
    parser = OptionParser(description=__doc__)
    add_options(parser, ("delays_ms",))
    parser.add_argument("--seconds", type=Decimal(1, 3600), default=5.0, help="duration of idle (%(default)s)")
    parser.add_argument("--page", default="nytimes", help="part of the URL of the page Chrome loads (%(default)s)")
    parser.add_argument("--probe", default="en.wikipedia.org",
                        help="host of the connects; not on the page (%(default)s)")
    arguments = parser.parse_args()
    return settings_of(parser, arguments), arguments


def measured(lab: Laboratory, probe: str, name: str, goes_on: Callable[[], LoadRecord | None]) -> list[str]:
    """Take connect times to the host `probe` while something `goes_on`; return the table's row of them."""
    server, rtt_ms = lab.star.servers[probe], lab.rtt_ms
    with connecting(lab.star.user.pid, (server.address, CLOSED_PORT)) as connects:
        before, began_s = used(lab), time.time()
        record = goes_on()
        seconds, cpu_us, packets = (now - then for now, then in zip(used(lab), before, strict=True))
        latest_ms = lab.delay.latest_ms(began_s, time.time()) or 0.0
    times_ms = during_plt(connects, record, server) if record else [time_ms for _, time_ms in connects]
    p50, p99 = (float(value) for value in numpy.percentile(times_ms, [50, 99]))
    cpu = [f"{cpu_us / packets:.1f}", f"{cpu_us / seconds / 1e4:.1f}"] if rtt_ms else ["", ""]
    return [f"{rtt_ms:g} ms {name}", f"{len(times_ms)}", f"{p50 - rtt_ms:+.2f}", f"{p99 - rtt_ms:+.2f}",
            f"{(p50 / rtt_ms - 1) * 100:+.2f}" if rtt_ms else "", f"{packets:.0f}", f"{packets / seconds:.0f}", *cpu,
            f"{latest_ms:.2f}"]


def during_plt(connects: Sequence[Answer], record: LoadRecord, probe: Host) -> list[float]:
    """Return the times in ms of the connects that began while the page loaded. Raises ExperimentError if it did not."""
    if record.errors or record.plt_ms is None or record.time_origin_ms is None:
        raise ExperimentError(f"{record.url} did not load: {record.errors or 'no load event'}")
    if any(connection.address.startswith(f"{probe.address}:") for connection in record.connections or ()):
        raise ExperimentError(f"{record.url} uses the host the connects go to; give another --probe")
    begin_s = (record.time_origin_ms - CLOCK_SHIFT_MS) / MS_PER_S
    return [time_ms for began_s, time_ms in connects if begin_s <= began_s <= begin_s + record.plt_ms / MS_PER_S]


def used(lab: Laboratory) -> tuple[float, float, float]:
    """Read the time in s, the CPU time of the delay line in us (0 without one) and the packets of user's interface."""
    line, user = lab.delay.line, lab.star.user
    cpu_ns = int(Path(f"/proc/{line.process.pid}/schedstat").read_text().split()[0]) if line else 0
    with inside(user.pid):
        return time.monotonic(), cpu_ns / NS_PER_US, packets(user.interface)


if __name__ == "__main__":
    run_interruptible(main)
