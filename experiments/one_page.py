#!/usr/bin/env python3
"""Load one page from one server, without and with TCP Fast Open: the smallest whole experiment.

    user -------- s0 -------- www.one.test        --rtt ms there and back

Over HTTP/1.0 every request opens a connection. The page is a document that names three scripts: Chrome asks for the
document, and then for the scripts at once. So two handshakes are on the way to the load event, and TFO saves two RTTs.
tfo.py does the same with the pages of a list, keeps all logs, and says how sure its numbers are.
"""

import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import use_project_python

use_project_python()

from experiments.by_hand import at_each_delay, valid_load
from harness.files.pages import PageFiles
from harness.measure.laboratory import Laboratory
from harness.measure.preflight import check_pages
from harness.measure.series import plan_loads
from harness.measure.settings import Settings
from harness.mirror.importing import MadeResource, write_small_recording
from harness.network.links import delays_by_netem
from harness.network.needs import check_programs
from harness.system.contained import begin_experiment
from harness.system.options import DELAY_MS, OptionParser, Whole
from harness.system.privileges import browsing_user, give
from harness.system.scratch import temporary_directory
from harness.system.signals import run_interruptible

URL = "http://www.one.test/"
SCRIPTS = {f"{URL}{number}.js": MadeResource("text/javascript", b"document.title += '!';") for number in (1, 2, 3)}
DOCUMENT = '<!doctype html><link rel="icon" href="data:,">' + "".join(f"<script src={url}></script>" for url in SCRIPTS)


def main() -> int:
    """Make the page and its recording, and measure."""
    parser = OptionParser(description=__doc__)
    parser.add_argument("--rtt", type=DELAY_MS, default=100.0, help="round-trip time in ms (%(default)g)")
    parser.add_argument("--runs", type=Whole(1, 1000), default=3, help="measured loads of each kind (%(default)s)")
    arguments = parser.parse_args()
    begin_experiment("./experiments/one_page.py")
    check_programs()
    with temporary_directory() as directory:
        folder = directory / "page"
        folder.mkdir()
        files = PageFiles(folder, "one")
        write_small_recording(files, {URL: MadeResource("text/html", DOCUMENT.encode()), **SCRIPTS})
        give(folder, browsing_user())       # as whom the servers read it, whatever root's umask is
        settings = Settings(testruns=1 + arguments.runs, delays_ms=(arguments.rtt / 2,))
        with at_each_delay(check_pages(files), settings, netem=delays_by_netem(arguments.rtt)) as [lab]:
            compare(lab)
    return 0


def compare(lab: Laboratory) -> None:
    """Load the page without and with TFO, in turn; print each load, and what TFO saved."""
    plts_ms: dict[int, list[float]] = {0: [], 1: []}
    for load in plan_loads(lab.web.page_set.pages, lab.settings):
        record = valid_load(lab, load)
        assert record.plt_ms is not None, "a valid load has a page load time"
        print(f"TFO {load.tfo}, run {load.run}: {record.plt_ms:.0f} ms, {record.syn_data_connections} of "
              f"{record.connections_with_request} connections had their request in the SYN"
              f"{'' if load.run else ' (warm-up)'}", flush=True)
        if load.run:            # run 0 fetches the cookie
            plts_ms[load.tfo].append(record.plt_ms)
    saved_ms = statistics.median(plts_ms[0]) - statistics.median(plts_ms[1])
    print(f"TFO saved {saved(saved_ms, lab.rtt_ms)} (medians of {len(plts_ms[1])} loads)")


def saved(saved_ms: float, rtt_ms: float) -> str:
    """Return what was saved in words; without an RTT there is nothing to compare with."""
    return f"{saved_ms:.0f} ms" + (f", {saved_ms / rtt_ms:.2f} round trips" if rtt_ms else "")


if __name__ == "__main__":
    run_interruptible(main)
