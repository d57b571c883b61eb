"""Page loads made by hand in a laboratory: what one_page.py and benchmarks measure."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from harness.errors import ExperimentError
from harness.files.load_record import LoadRecord
from harness.measure.evidence import Load
from harness.measure.laboratory import Laboratory, running_laboratory
from harness.measure.loads import record_of
from harness.measure.preflight import PageSet, ReplayedWeb, check_browser
from harness.measure.rules import alone
from harness.measure.settings import Settings
from harness.network.star import LinkSpeeds
from harness.system.environment import print_machine
from harness.system.lock import only_experiment


@contextmanager
def at_each_delay(page_set: PageSet, settings: Settings, *, netem: bool,
                  lock: Callable[[], AbstractContextManager[None]] = only_experiment) -> Iterator[Iterator[Laboratory]]:
    """Run a laboratory while this lasts; give it at each of the delays of `settings` in turn.

    `lock` keeps every other experiment out: a caller that does so itself gives another one.
    """
    links = [LinkSpeeds(delay_net_ms=delay_ms) for delay_ms in settings.delays_ms]
    with lock():
        print_machine()
        with running_laboratory(links, ReplayedWeb(page_set=page_set, settings=settings), check_browser(),
                                netem=netem) as lab:
            yield map(lab.at, links)


def valid_load(lab: Laboratory, load: Load, judged: Callable[[LoadRecord], Sequence[object]] = alone) -> LoadRecord:
    """Measure `load` until nothing speaks against it; return its record. Says on stderr why a try does not count.

    Raises ExperimentError after as many tries as the settings say, or when a part of the laboratory has ended.
    """
    for _ in range(1 + lab.settings.retries):
        record = record_of(lab, load)
        problems = judged(record)
        if not problems:
            return record
        print(f"TFO {load.tfo}, run {load.run}: not valid: {problems[0]}", file=sys.stderr)
    raise ExperimentError(f"{load.page.url}: no load of it can be used; try again on a quiet machine")
