"""Finds out whether pages are fit to be measured: each is loaded from its recording, without a network or any delay.

fetch.py does so with what it has recorded, and tfo.py --dry-run before an experiment. One good load is enough. If none
is, none of an experiment would be: too much of the page is missing, say, or its document is not the recorded one. But
what a page asks for may be chance, so a load that is not good is tried once more, and what fails by accident is left to
the experiment. Times are not judged: there is no simulated network here.
"""

import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from harness.browser.program import find_browser
from harness.errors import ExperimentError, printable
from harness.files.load_parts import Coverage
from harness.files.load_record import LoadRecord
from harness.files.pages import Page, PageFiles
from harness.measure.coverage import RecordedPage, at_any_time
from harness.measure.evidence import Load
from harness.measure.laboratory import Laboratory, ReplayedWeb
from harness.measure.loads import record_of
from harness.measure.loopback import running_loopback
from harness.measure.preflight import PageSet, document_bytes
from harness.measure.rule import TRIES, Blame, Verdict, texts, verdict_on_the_page
from harness.measure.rules import BESIDE_OTHERS, CONTENT, judge
from harness.measure.settings import Settings
from harness.mirror.recording import read_whole
from harness.network.star import LinkSpeeds
from harness.system.scratch import temporary_directory

QUIET_S, QUIET_LIMIT_S = 0.5, 3.0
"""What comes after the load event counts for nothing here."""
OF_THE_CONTENT = (*CONTENT, *BESIDE_OTHERS)


@dataclass(frozen=True)
class Trial:
    """The result for one page. `unfit` says why it is not fit to be measured, `failed` why that is not known.

    `coverage` is what the last load got of the recording, None where there was no load event.
    """

    unfit: tuple[str, ...] = ()
    failed: str = ""
    coverage: Coverage | None = None


def just_recorded(files: PageFiles, pages: Sequence[Page]) -> PageSet:
    """Return `pages` with their recording, whether or not all of it can be replayed.

    Raises InputError when the recording's bodies are not all there: a disk may say that it has written what it has not.
    """
    recording = read_whole(files)
    return PageSet(files, pages, recording, document_bytes(files, recording, pages))


def try_pages(page_set: PageSet, settings: Settings) -> dict[Page, Trial]:
    """Load each page of `page_set` from its recording, served and loaded as `settings` say. Raises ExperimentError."""
    with _loopback(page_set, settings) as lab:
        return {page: _try(lab, page) for page in page_set.pages}


def load_once(page_set: PageSet, page: Page, settings: Settings) -> LoadRecord:
    """Load `page` once from its recording; return which answers came. Raises ExperimentError."""
    with _loopback(page_set, settings) as lab:
        return _load(lab, page, 0)


def say_ready(trials: Mapping[Page, Trial], what: str) -> int:
    """Print that `what` can be measured, or why some pages cannot; return the exit status."""
    unfit = {page: trial.unfit for page, trial in trials.items() if trial.unfit}
    for page, why in unfit.items():
        print(printable(f"{page.url}: not fit to be measured: {'; '.join(why)}; record it again, or take it out"),
              file=sys.stderr)
    if not unfit:
        print(f"ready: {what}")
    return 1 if unfit else 0


def trial_of(loads: Iterator[tuple[LoadRecord, Verdict]]) -> Trial:
    """Return what loads of a page, each with the verdict on it, say of the page. None is made after a good one."""
    got: list[Coverage | None] = []

    def verdicts() -> Iterator[Verdict]:
        for load, verdict in loads:
            got.append(load.answers.coverage if load.answers else None)
            yield verdict

    verdict = verdict_on_the_page(verdicts())
    own = texts(reason for reason in verdict if reason.blame is Blame.PAGE)
    return Trial(tuple(own), "" if own or not verdict else texts(verdict)[0], got[-1])


def _try(lab: Laboratory, page: Page) -> Trial:
    loads = (_load(lab, page, run) for run in range(TRIES))
    try:
        return trial_of((load, judge([load], OF_THE_CONTENT)[0]) for load in loads)
    except ExperimentError as error:
        return Trial(failed=str(error))


def _load(lab: Laboratory, page: Page, run: int) -> LoadRecord:
    return at_any_time(record_of(lab, Load(page, run, 0)), lab.recorded.get(page.name, RecordedPage({})))


@contextmanager
def _loopback(page_set: PageSet, settings: Settings) -> Iterator[Laboratory]:
    """Serve all hosts of the recording while this lasts, with a certificate authority that lasts as long."""
    port, tls_port = _free_ports()
    settings = replace(settings, port=port, tls_port=tls_port, quiet_s=QUIET_S, quiet_limit_s=QUIET_LIMIT_S)
    web = ReplayedWeb(page_set=page_set, settings=settings)
    with temporary_directory() as directory, running_loopback(
            LinkSpeeds(delay_net_ms=0), web, find_browser(), own_network=False, results_dir=directory,
            authority=directory / "authority") as lab:
        yield lab


def _free_ports() -> Sequence[int]:
    with socket.create_server(("127.0.0.1", 0)) as first, socket.create_server(("127.0.0.1", 0)) as second:
        return first.getsockname()[1], second.getsockname()[1]
