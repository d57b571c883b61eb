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

from harness.errors import ExperimentError
from harness.files.pages import PageFiles
from harness.measure import validity
from harness.measure.attempts import RETRIES
from harness.measure.laboratory import BrowserSettings, Laboratory, ReplayedWeb, running_laboratory
from harness.measure.limits import TimeLimits
from harness.measure.loads import measure_load
from harness.measure.plan import Load
from harness.measure.preflight import PageSet, check_browser, check_pages
from harness.mirror.small import MadeResource, write_small_recording
from harness.network.links import kernel_has_netem
from harness.network.needs import check_kernel, check_programs
from harness.network.star import LinkSpeeds
from harness.system.lock import only_experiment
from harness.system.options import DELAY_MS, OptionParser, Whole
from harness.system.privileges import require_root
from harness.system.scratch import temporary_directory
from harness.system.signals import run_interruptible

URL = "http://www.one.test/"
SCRIPTS = {f"{URL}{number}.js": MadeResource("text/javascript", b"document.title += '!';") for number in (1, 2, 3)}
DOCUMENT = '<!doctype html><link rel="icon" href="data:,">' + "".join(f"<script src={url}></script>" for url in SCRIPTS)


def main() -> int:
    """Measure; print each load, and what TFO saved."""
    parser = OptionParser(description=__doc__)
    parser.add_argument("--rtt", type=DELAY_MS, default=100.0, help="round-trip time in ms (%(default)g)")
    parser.add_argument("--runs", type=Whole(1, 1000), default=3,
                        help="measured loads without TFO, and with it (%(default)s)")
    arguments = parser.parse_args()
    require_root("./experiments/one_page.py")
    check_programs()
    netem = kernel_has_netem()
    check_kernel(delay_line=not netem)
    with only_experiment(), temporary_directory() as directory:
        files = PageFiles(directory, "one")
        write_small_recording(files, {URL: MadeResource("text/html", DOCUMENT.encode()), **SCRIPTS})
        web = ReplayedWeb(page_set=check_pages(files))
        chrome = BrowserSettings(browser=check_browser(), limits=TimeLimits())
        with running_laboratory(LinkSpeeds(delay_net_ms=arguments.rtt / 2), web, chrome, netem=netem) as lab:
            plts_ms = {tfo: [load_page(lab, web.page_set, run, tfo) for run in range(1 + arguments.runs)]
                       for tfo in (0, 1)}
    without_ms, with_ms = (statistics.median(plts_ms[tfo][1:]) for tfo in (0, 1))     # the first fetches the cookie
    print(f"TFO saved {without_ms - with_ms:.0f} ms, {(without_ms - with_ms) / lab.rtt_ms:.2f} round trips "
          f"(medians of {arguments.runs} loads)")
    return 0


def load_page(lab: Laboratory, page_set: PageSet, run: int, tfo: int) -> float:
    """Load the page until a load is valid; return its PLT in ms. Raises ExperimentError after `RETRIES` more tries."""
    page = page_set.page(URL)
    for _ in range(1 + RETRIES):
        load = measure_load(lab, Load(page, run, tfo))
        problems = validity.reasons(load, page_set.document_bytes[page])
        if load.plt_ms is not None and not problems:
            print(f"TFO {tfo}, run {run}: {load.plt_ms:.0f} ms, {load.syn_data_connections} of "
                  f"{load.connections_with_request} connections had their request in the SYN"
                  f"{'' if run else ' (warm-up)'}", flush=True)
            return load.plt_ms
        print(f"TFO {tfo}, run {run}: not valid: {problems[0]}", file=sys.stderr)
    raise ExperimentError(f"{URL}: no load of it can be used; try again on a quiet machine")


if __name__ == "__main__":
    run_interruptible(main)
