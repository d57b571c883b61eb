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

from harness.files.load_record import LoadRecord
from harness.files.pages import Page, PageFiles, sanitise
from harness.files.text_log import PageLog, Response, Transaction, format_log
from harness.measure import validity
from harness.measure.attempts import RETRIES
from harness.measure.laboratory import BrowserSettings, Laboratory, ReplayedWeb, running_laboratory
from harness.measure.limits import TimeLimits
from harness.measure.loads import measure_load
from harness.measure.plan import Load
from harness.measure.preflight import PageSet, check_browser, check_pages
from harness.mirror.paths import write_file
from harness.network.links import kernel_has_netem
from harness.network.needs import check_kernel, check_programs
from harness.network.star import LinkSpeeds
from harness.system.lock import only_experiment
from harness.system.options import DELAY_MS, OptionParser, Whole
from harness.system.privileges import require_root
from harness.system.scratch import temporary_directory
from harness.system.signals import run_interruptible

PAGE = Page("http://www.one.test/", sanitise("http://www.one.test/"))
SCRIPTS = [f"{PAGE.url}{number}.js" for number in (1, 2, 3)]


def main() -> int:
    """Measure, and print each load and what TFO saved; the exit status is 1 when a load was not valid."""
    parser = OptionParser(description=__doc__)
    parser.add_argument("--rtt", type=DELAY_MS, default=100.0, help="round-trip time in ms (%(default)g)")
    parser.add_argument("--runs", type=Whole(1, 1000), default=3,
                        help="measured loads without TFO, and with it (%(default)s)")
    arguments = parser.parse_args()
    require_root("./experiments/one_page.py")
    check_programs()
    netem = kernel_has_netem()
    check_kernel(delay_line=not netem)
    chrome = BrowserSettings(browser=check_browser(), limits=TimeLimits())
    speeds = LinkSpeeds(delay_net_ms=arguments.rtt / 2)
    with only_experiment(), temporary_directory() as directory:
        page_set = make_page(directory)
        with running_laboratory(speeds, ReplayedWeb(page_set=page_set), chrome, netem=netem) as lab:
            plt_ms = {tfo: load_page(lab, page_set, tfo, arguments.runs) for tfo in (0, 1)}
    if not (plt_ms[0] and plt_ms[1]):
        return 1
    saved_ms = statistics.median(plt_ms[0]) - statistics.median(plt_ms[1])
    print(f"TFO saved {saved_ms:.0f} ms, {saved_ms / lab.rtt_ms:.2f} round trips (medians of {arguments.runs} loads)")
    return 0


def make_page(directory: Path) -> PageSet:
    """Write the page's list, mirror and log, as fetch.py writes those of a page that it records, and read them."""
    document = "".join(f'<script src="{url}"></script>' for url in SCRIPTS)
    files = {PAGE.url: f'<!doctype html><title>One</title><link rel="icon" href="data:,">{document}',
             **dict.fromkeys(SCRIPTS, "document.title += '!';")}
    for url, body in files.items():
        write_file(directory / "one", url, body.encode())
    kinds = {PAGE.url: "text/html", **dict.fromkeys(SCRIPTS, "text/javascript")}
    log = PageLog([], [Transaction(0, 1, url) for url in files],
                  [Response("OK", kind, "utf-8", url, None) for url, kind in kinds.items()], True)
    (directory / "one.fetchlog").mkdir()
    (directory / "one.fetchlog" / PAGE.name).write_text(format_log(log), encoding="ascii")
    (directory / "one.pages").write_text(f"{PAGE.url}\n", encoding="ascii")
    return check_pages(PageFiles(directory, "one"))


def load_page(lab: Laboratory, page_set: PageSet, tfo: int, runs: int) -> list[float]:
    """Load the page `runs` times after a warm-up, which fetches the TFO cookie; return the PLTs in ms.

    An empty list when one was not valid, and not when measured again either.
    """
    times_ms = []
    for run in range(1 + runs):
        load = valid_load(lab, page_set, Load(PAGE, run, tfo))
        if load is None:
            return []
        assert load.plt_ms is not None
        print(f"TFO {tfo}, run {run}: {load.plt_ms:.0f} ms, {load.syn_data_connections} of "
              f"{load.connections_with_request} connections had their request in the SYN"
              + ("" if run else " (warm-up)"), flush=True)
        times_ms.append(load.plt_ms)
    return times_ms[1:]


def valid_load(lab: Laboratory, page_set: PageSet, planned: Load) -> LoadRecord | None:
    """Load the page until a load is valid, `RETRIES` times again at most; say what is wrong with those that are not."""
    for _ in range(1 + RETRIES):
        load = measure_load(lab, planned)
        problems = validity.reasons(load, page_set.document_bytes.get(PAGE))
        if not problems:
            return load
        print(f"TFO {planned.tfo}, run {planned.run}: not valid: {problems[0]}", file=sys.stderr)
    return None


if __name__ == "__main__":
    run_interruptible(main)
