#!/usr/bin/env python3
"""Load a recorded page of plain files from the replay server and from nginx, in turn: what does the replay add?

    .venv/bin/python -m tests.support.internet.recorded FOLDER      # its page "modules": 642 modules that import others
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

from experiments.nginx import serving_files
from experiments.valid_load import valid_load
from harness.files.hosts import Remap, resolver_rules
from harness.files.load_record import LoadRecord
from harness.files.pages import Page, PageFiles
from harness.measure.evidence import Load
from harness.measure.laboratory import Laboratory, ReplayedWeb, running_laboratory
from harness.measure.preflight import check_browser, check_pages
from harness.measure.rules import TIME, alone
from harness.measure.settings import Settings
from harness.network.links import delays_by_netem
from harness.network.star import LinkSpeeds
from harness.replay.authority import open_authority
from harness.system.contained import begin_experiment
from harness.system.environment import print_machine
from harness.system.lock import only_experiment
from harness.system.namespaces import inside
from harness.system.options import DELAY_MS, OptionParser, Whole, page_list_name
from harness.system.processes import run
from harness.system.signals import run_interruptible

PORT = 18080
OF_TIME = {rule.kind for rule in TIME}
"""Reasons against a load that need no log of its server."""


def main() -> int:
    """Measure; print the table."""
    parser = OptionParser(description=__doc__)
    parser.add_argument("--dir", type=Path, required=True, help="where the recording is")
    parser.add_argument("--name", type=page_list_name, required=True, help="the page is one of NAME.pages")
    parser.add_argument("--page", required=True, help="part of the page's URL")
    parser.add_argument("--loads", type=Whole(1, 1000), default=5, help="measured loads from each (%(default)s)")
    parser.add_argument("--delaynet", type=DELAY_MS, default=50.0, help="one-way delay in ms (%(default)g)")
    arguments = parser.parse_args()
    arguments.dir = arguments.dir.resolve()
    begin_experiment("benchmarks/against_nginx.py")
    page_set = check_pages(PageFiles(arguments.dir, arguments.name))
    page = page_set.page(arguments.page)
    speeds = LinkSpeeds(delay_net_ms=arguments.delaynet)
    web = ReplayedWeb(page_set=page_set, settings=Settings(http="h2"))
    plts_ms: dict[str, list[float]] = {"replay": [], "nginx": []}
    with only_experiment(), running_laboratory(speeds, web, check_browser(),
                                               netem=delays_by_netem(speeds.rtt_ms)) as lab, \
            nginx_in(lab, page) as beside:
        print_machine()
        for run_number in range(1 + arguments.loads):
            for server, laboratory in (("replay", lab), ("nginx", beside)):
                plts_ms[server].append(valid_load(laboratory, Load(page, run_number, 0), against).plt_ms or 0.0)
    middle = {server: statistics.median(each) for server, (_, *each) in plts_ms.items()}
    print("server", "PLT, ms", "least", "most", "longer than from nginx", sep="\t")
    for server, (_, *each) in plts_ms.items():      # the first was a warm-up
        print(server, *(f"{ms:.0f}" for ms in (middle[server], min(each), max(each))),
              f"{middle[server] / middle['nginx'] - 1:+.1%}", sep="\t")
    return 0


@contextmanager
def nginx_in(lab: Laboratory, page: Page) -> Iterator[Laboratory]:
    """Run nginx on the page's host; give the laboratory in which Chrome asks it."""
    name = urlsplit(page.url).hostname or ""
    host = lab.star.servers[name]
    with inside(host.pid):      # as the replay's sockets (harness.system.tcp); see ip-route(8), congctl
        run(["ip", "route", "replace", "10.0.0.0/8", "dev", host.interface, "proto", "kernel", "scope", "link", "src",
             host.address, "congctl", "cubic"], "choosing CUBIC")
    pems = open_authority().certified([name])
    with serving_files(host, lab.work_dir / "nginx", lab.web.page_set.files.mirror / name, pems, PORT):
        rules = resolver_rules([Remap(name, host.address, PORT + 1, "https")])
        yield replace(lab, chrome=replace(lab.chrome, resolver_rules=rules))


def against(record: LoadRecord) -> list[object]:
    """Return what speaks against a load of which no log of its server is known."""
    return [*record.errors, *(reason for reason in alone(record) if reason.kind in OF_TIME),
            *(["no load event"] if record.plt_ms is None else [])]


if __name__ == "__main__":
    run_interruptible(main)
