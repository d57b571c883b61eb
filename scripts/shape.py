#!/usr/bin/env python3
"""Write the shape of recorded pages: figures of their resources, nothing of their content.

Each page of NAME.pages is loaded from its recording twice, in the network of tfo.py and without TFO: once without delay
and once at an RTT of 100 ms. From the two it is known what caused what, and how long the page worked in between
(harness/synthetic/measured.py). ``scripts/make_pages.py --shape FILE`` makes pages of the same shape: so a page can be
shared that may not be shared.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TypeVar

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import ROOT, use_project_python

use_project_python()

from harness.analysis.timeline import Timeline, read_timeline
from harness.errors import ExperimentError, InputError, many, printable
from harness.files.pages import BUNDLED, Page, PageFiles
from harness.files.results import LoadResult, read_results
from harness.measure.chosen import chosen_web
from harness.measure.experiment import Experiment, found_in, settings
from harness.measure.laboratory import BrowserSettings, running_laboratory
from harness.measure.limits import TimeLimits
from harness.measure.plan import plan_loads
from harness.measure.preflight import PageSet, check_browser, check_pages, check_room
from harness.measure.reason import worth_another_try
from harness.measure.server_options import add_server_options, tls_port_beside
from harness.network.links import delays_by_netem
from harness.network.needs import check_programs
from harness.network.star import LinkSpeeds
from harness.synthetic.measured import LoadDetails, document_texts, make_shape
from harness.synthetic.shape import PageShape, format_shapes
from harness.system.atomic import write_atomically
from harness.system.lock import only_experiment
from harness.system.options import TIMEOUT_S, OptionParser, page_list_name
from harness.system.privileges import acting_as, invoking_user, passable_temp_root, require_root
from harness.system.progress import counted
from harness.system.signals import run_interruptible

DELAYS_MS = (0.0, 50.0)
"""One-way delays of the servers' links: RTTs of 0 and 100 ms."""
BW_HOME_MBIT, BW_NET_MBIT = 1000.0, 4.0
RETRIES = 1


def parse_arguments() -> argparse.Namespace:
    """Read the command line; what tfo.py's options decide otherwise is fixed here."""
    parser = OptionParser(description=__doc__.splitlines()[0])
    parser.add_argument("--name", type=page_list_name, default=BUNDLED, help="the pages: NAME.pages, NAME/ and "
                        "NAME.fetchlog/ (%(default)s)")
    parser.add_argument("--dir", type=Path, default=ROOT, help="where these are (the project)")
    parser.add_argument("--output", type=Path, metavar="FILE", help="page-shape file to write (NAME.shape beside them)")
    parser.add_argument("--month", type=month_given, help="when the pages were recorded, such as 2013-03 (this month)")
    add_server_options(parser)
    parser.add_argument("--timeout", type=TIMEOUT_S, default=TimeLimits.load_s,
                        help="seconds a page may take to its load event (%(default)g)")
    parser.set_defaults(tfo="0", testruns=2, retries=RETRIES, seed=1, goal=None, paper=False, rtt=None,
                        think=None)
    arguments = parser.parse_args()
    arguments.tls_port = tls_port_beside(arguments.port, arguments.tls_port)
    return arguments


def month_given(text: str) -> str:
    """Return a month as the shape file has it. Raises argparse.ArgumentTypeError."""
    try:
        return datetime.strptime(text, "%Y-%m").replace(tzinfo=timezone.utc).strftime("%Y-%m")
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a month, written as 2013-03") from None


Measured = tuple[LoadResult, Timeline]
Found = TypeVar("Found")


def load_all(arguments: argparse.Namespace, page_set: PageSet, pages: Sequence[Page], delay_ms: float,
             ) -> dict[Page, Measured]:
    """Load each of `pages` once over servers' links of this delay, without TFO; return what happened when in each.

    Those of which no load can be used are named, and left out: the others' loads are good all the same.
    """
    speeds = LinkSpeeds(BW_HOME_MBIT, BW_NET_MBIT, 0.0, delay_ms)
    netem = delays_by_netem(delay_ms)
    web = chosen_web(arguments, page_set)
    chrome = BrowserSettings(browser=check_browser(), limits=TimeLimits(load_s=arguments.timeout),
                             initiators=delay_ms > 0)
    with running_laboratory(speeds, web, chrome, netem=netem) as lab:
        plan = plan_loads(pages, arguments.testruns, [0], arguments.seed)
        series = Experiment(lab=lab, to_do=plan, goal=None, seed=arguments.seed, retries=RETRIES,
                            pages=pages,
                            description={**settings(arguments, speeds, web, chrome, netem=netem),
                                         **found_in(lab)}).measure(counted(len(plan)))
        accidents = {reason.text for measured in series for reason in measured.why_not if worth_another_try([reason])}
        results = read_results(lab.client_dir)
        return each_usable(pages, lambda page: read_page(
            [load for load in results.loads if load.page == page.name], page, accidents))


def each_usable(pages: Iterable[Page], read: Callable[[Page], Found]) -> dict[Page, Found]:
    """Return what `read` gives for each page; say why it gives nothing for the others."""
    found = {page: or_say_why(page, read) for page in pages}
    return {page: of_page for page, of_page in found.items() if of_page is not None}


def or_say_why(page: Page, read: Callable[[Page], Found]) -> Found | None:
    """Return what `read` gives for a page; None, with a line that says why, where no load of it can be used."""
    try:
        return read(page)
    except ExperimentError as error:
        print(printable(str(error)), file=sys.stderr, flush=True)
        return None


def read_page(loads: Sequence[LoadResult], page: Page, accidents: Collection[str]) -> Measured:
    """Return a load that counts; else, with a warning, the fastest that nothing but `accidents` are held against."""
    usable = [load for load in loads if load.plt_ms is not None and set(load.why_not) <= set(accidents)]
    best = min(usable, key=lambda load: (not load.valid, load.plt_ms), default=None)
    timeline = read_timeline(best) if best else None
    if best is None or timeline is None:
        reasons = {reason for load in loads for reason in load.why_not} or {"no load event, or no HAR"}
        raise ExperimentError(f"{page.url}: no load of it can be used: {'; '.join(sorted(reasons))}")
    if not best.valid:
        print(f"{page.url} at {best.rtt_ms:g} ms: its shape may tell of more work than there is: "
              f"{'; '.join(best.why_not)}", file=sys.stderr)
    return best, timeline


def shape_of(page: Page, month: str, near: Measured, far: Measured, page_set: PageSet) -> PageShape:
    """Return a page's shape from its two loads."""
    load, timeline = far
    if load.record is None or load.record.initiators is None:
        raise ExperimentError(f"{page.url}: Chrome did not say what caused its requests")
    loading_ms = load.record.navigation_timing.get("loadEventStart")
    details = LoadDetails(document_texts(timeline, page_set.recording, page_set.files.mirror),
                          float(loading_ms) if isinstance(loading_ms, (int, float)) else None,
                          page_set.recording.http2_hosts)
    try:
        return make_shape(page.url, month, near[1], timeline, details)
    except ValueError as error:
        raise ExperimentError(f"{page.url}: no load of it can be used: {error}") from None


def check_output(path: Path) -> None:
    """Raise InputError, before anything is measured, when `path` cannot be written."""
    if path.is_dir():
        raise InputError(f"{path}: is a folder; give another --output")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); give another --output") from None


def main() -> int:
    """Measure each page's shape and write the file; the exit status is 1 when a page of the list is not in it."""
    arguments = parse_arguments()
    require_root("./scripts/shape.py")
    check_programs(pcap=False)
    check_room(passable_temp_root())
    files = PageFiles(arguments.dir.resolve(), arguments.name)
    output = arguments.output or files.base / f"{arguments.name}.shape"
    with acting_as(invoking_user()):
        page_set = check_pages(files)
        check_output(output)
    with only_experiment():
        near = load_all(arguments, page_set, page_set.pages, DELAYS_MS[0])
        far = load_all(arguments, page_set, list(near), DELAYS_MS[1]) if near else {}
    month = arguments.month or datetime.now(timezone.utc).strftime("%Y-%m")
    with acting_as(invoking_user()):
        shapes = each_usable(far, lambda page: shape_of(page, month, near[page], far[page], page_set))
        if shapes:
            write_atomically(output, format_shapes(list(shapes.values())))
    print(f"{output}: {many(len(shapes), 'page')} of {sum(len(shape.resources) for shape in shapes.values())} resources"
          if shapes else f"{output}: not written, since no page has a shape")
    return 0 if len(shapes) == len(page_set.pages) else 1


if __name__ == "__main__":
    run_interruptible(main)
