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
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TypeVar

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.bootstrap import ROOT, use_project_python

use_project_python()

from experiments.by_hand import at_each_delay
from harness.analysis.timeline import Timeline, read_timeline
from harness.errors import ExperimentError, InputError, many, printable
from harness.files.pages import Page, PageFiles
from harness.files.results import LoadResult, read_results
from harness.measure.experiment import known, measure
from harness.measure.preflight import PageSet, check_pages, check_room
from harness.measure.resume import Stage
from harness.measure.rule import Blame
from harness.measure.series import plan_loads
from harness.measure.settings import Settings, add_options, settings_of
from harness.network.links import delays_by_netem
from harness.network.needs import check_programs
from harness.synthetic.measured import make_shape
from harness.synthetic.places import document_texts
from harness.synthetic.shape import PageShape, format_shapes
from harness.system.atomic import write_atomically
from harness.system.contained import begin_experiment
from harness.system.lock import only_experiment
from harness.system.options import OptionParser
from harness.system.privileges import passable_temp_root
from harness.system.progress import Steps
from harness.system.signals import run_interruptible

DELAYS_MS = 0.0, 50.0
"""One-way delays of the servers' links: RTTs of 0 and 100 ms."""


def parse_arguments() -> tuple[Settings, argparse.Namespace]:
    """Read the command line; what other options of tfo.py decide is fixed here."""
    parser = OptionParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dir", type=Path, default=ROOT, help="where these are (the project)")
    parser.add_argument("--output", type=Path, metavar="FILE", help="page-shape file to write (NAME.shape beside them)")
    parser.add_argument("--month", type=month_given, help="when the pages were recorded, such as 2013-03 (this month)")
    add_options(parser, ("name", "port", "tls_port", "http", "server", "timeout_s"))
    arguments = parser.parse_args()
    return settings_of(parser, arguments, tfo="0", testruns=2, retries=1), arguments


def month_given(text: str) -> str:
    """Return a month as the shape file has it. Raises argparse.ArgumentTypeError."""
    try:
        return datetime.strptime(text, "%Y-%m").replace(tzinfo=timezone.utc).strftime("%Y-%m")
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a month, written as 2013-03") from None


Measured = tuple[LoadResult, Timeline]
Found = TypeVar("Found")


def load_all(settings: Settings, page_set: PageSet, pages: Sequence[Page], delay_ms: float) -> dict[Page, Measured]:
    """Load each of `pages` over servers' links of this delay, without TFO; return what happened when in each.

    Those of which no load can be used are named, and left out: the others' loads are good all the same. At a distance
    Chrome says what caused each request, too.
    """
    settings = replace(settings, delays_ms=(delay_ms,))
    with at_each_delay(page_set, settings, netem=delays_by_netem(delay_ms), lock=nullcontext) as [lab]:
        plan, said = plan_loads(pages, settings), known(lab.web, lab.browser, lab.speeds, netem=lab.delay.netem)
        series = measure(replace(lab, chrome=replace(lab.chrome, initiators=delay_ms > 0)),
                         Stage(lab.speeds, said, plan), Steps(len(plan)))
        unusable = {(measured.load.page.name, measured.load.run) for measured in series.last()
                    if any(reason.blame is Blame.PAGE for reason in measured.why_not)}
        results = read_results(lab.client_dir)
        return each_usable(pages, lambda page: read_page(
            [load for load in results.loads if load.page == page.name], page, unusable))


def each_usable(pages: Iterable[Page], read: Callable[[Page], Found]) -> dict[Page, Found]:
    """Return what `read` gives for each page; say why it gives nothing for those of which no load can be used."""
    found = {}
    for page in pages:
        try:
            found[page] = read(page)
        except ExperimentError as error:        # noqa: PERF203 (a few pages)
            print(printable(str(error)), file=sys.stderr, flush=True)
    return found


def read_page(loads: Sequence[LoadResult], page: Page, unusable: Collection[tuple[str, int]]) -> Measured:
    """Return a load that counts; else, with a warning, the fastest of which only accidents are known.

    The runs of a page that it is itself to blame for are `unusable`.
    """
    usable = [load for load in loads if load.plt_ms is not None and (load.page, load.run) not in unusable]
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
    try:
        return make_shape(page.url, month, near[1], timeline,
                          texts=document_texts(timeline, page_set.recording, page_set.files.mirror),
                          loading_ms=float(loading_ms) if isinstance(loading_ms, (int, float)) else None,
                          http2_hosts=page_set.recording.http2_hosts)
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
    settings, arguments = parse_arguments()
    begin_experiment("./scripts/shape.py")
    check_programs(pcap=False)
    check_room(passable_temp_root())
    files = PageFiles(arguments.dir.resolve(), settings.name)
    output = arguments.output or files.base / f"{settings.name}.shape"
    page_set = check_pages(files)
    check_output(output)
    with only_experiment():
        near = load_all(settings, page_set, page_set.pages, DELAYS_MS[0])
        far = load_all(settings, page_set, [*near], DELAYS_MS[1]) if near else {}
    month = arguments.month or datetime.now(timezone.utc).strftime("%Y-%m")
    shapes = each_usable(far, lambda page: shape_of(page, month, near[page], far[page], page_set))
    if shapes:
        write_atomically(output, format_shapes(list(shapes.values())))
    print(f"{output}: {many(len(shapes), 'page')} of {sum(len(shape.resources) for shape in shapes.values())} resources"
          if shapes else f"{output}: not written, since no page has a shape")
    return 0 if len(shapes) == len(page_set.pages) else 1


if __name__ == "__main__":
    run_interruptible(main)
