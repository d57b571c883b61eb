#!/usr/bin/env python3
"""Load a recorded page of plain files from the replay server and from nginx, in turn: what does the replay add?

    benchmarks/today.py FOLDER      # its page "modules": 642 modules that import others
    sudo benchmarks/against_nginx.py --dir FOLDER --name demo --page modules

Both stand on the one host of a star, over HTTP/2, and send by CUBIC; nginx writes each head as that of the recording
was. TFO is off. A line for each server: the median page load time, the shortest and the longest, and how much longer
the replay's median is.
"""

import statistics
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import use_project_python

use_project_python()

from experiments.by_hand import at_each_delay, valid_load
from experiments.nginx import serving_files
from harness.files.hosts import Remap, resolver_rules
from harness.files.load_record import LoadRecord
from harness.files.pages import Page, PageFiles
from harness.measure.evidence import Load
from harness.measure.laboratory import Laboratory
from harness.measure.preflight import check_pages
from harness.measure.rules import alone
from harness.measure.settings import add_options, settings_of
from harness.measure.time_rules import TIME
from harness.network.links import delays_by_netem
from harness.replay.authority import open_authority
from harness.system.contained import begin_experiment
from harness.system.namespaces import inside
from harness.system.options import OptionParser, Whole
from harness.system.processes import run
from harness.system.signals import run_interruptible

PORT = 18080
OF_TIME = {rule.kind for rule in TIME}
"""Reasons against a load that need no log of its server."""


def main() -> int:
    """Measure; print the table."""
    parser = OptionParser(description=__doc__)
    parser.add_argument("--dir", type=Path, required=True, help="where the recording is")
    add_options(parser, ("name", "delays_ms"))
    parser.add_argument("--page", required=True, help="part of the page's URL")
    parser.add_argument("--loads", type=Whole(1, 1000), default=5, help="measured loads from each (%(default)s)")
    arguments = parser.parse_args()
    settings = settings_of(parser, arguments, http="h2", delays_ms=(50.0,))
    begin_experiment("benchmarks/against_nginx.py")
    page_set = check_pages(PageFiles(arguments.dir.resolve(), settings.name))
    page = page_set.page(arguments.page)
    with at_each_delay(page_set, settings, netem=delays_by_netem(2 * max(settings.delays_ms))) as labs:
        for lab in labs:
            compare(lab, page, arguments.loads)
    return 0


def compare(lab: Laboratory, page: Page, loads: int) -> None:
    """Load the page from both in turn, and print the table."""
    plts_ms: dict[str, list[float]] = {"replay": [], "nginx": []}
    with nginx_in(lab, page) as beside:
        for run_number in range(1 + loads):
            for server, asked in (("replay", lab), ("nginx", beside)):
                plts_ms[server].append(valid_load(asked, Load(page, run_number, 0), against).plt_ms or 0.0)
    middle = {server: statistics.median(each) for server, (_, *each) in plts_ms.items()}
    print("server", "PLT, ms", "least", "most", "longer than from nginx", sep="\t")
    for server, (_, *each) in plts_ms.items():      # the first was a warm-up
        print(server, *(f"{ms:.0f}" for ms in (middle[server], min(each), max(each))),
              f"{middle[server] / middle['nginx'] - 1:+.1%}", sep="\t")


@contextmanager
def nginx_in(lab: Laboratory, page: Page) -> Iterator[Laboratory]:
    """Run nginx on the page's host; give the laboratory in which Chrome asks it."""
    name = urlsplit(page.url).hostname or ""
    host = lab.star.servers[name]
    with inside(host.pid):      # as the replay's sockets (harness.system.tcp); see ip-route(8), congctl
        run(["ip", "route", "replace", "10.0.0.0/8", "dev", host.interface, "proto", "kernel", "scope", "link", "src",
             host.address, "congctl", "cubic"], "choosing CUBIC")
    pems = open_authority().certified([name])
    with serving_files(host, lab.work_dir / f"nginx-{lab.rtt_ms:g}", lab.web.page_set.files.mirror / name, pems, PORT):
        rules = resolver_rules([Remap(name, host.address, PORT + 1, "https")])
        yield replace(lab, chrome=replace(lab.chrome, resolver_rules=rules))


def against(record: LoadRecord) -> list[object]:
    """Return what speaks against a load of which no log of its server is known."""
    return [*record.errors, *(reason for reason in alone(record) if reason.kind in OF_TIME),
            *(["no load event"] if record.plt_ms is None else [])]


if __name__ == "__main__":
    run_interruptible(main)
