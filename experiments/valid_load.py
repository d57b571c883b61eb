"""A page load that counts, made by hand in a laboratory: what one_page.py and benchmarks measure."""

import sys
from collections.abc import Callable, Sequence

from harness.errors import ExperimentError
from harness.files.load_record import LoadRecord
from harness.measure.evidence import Load
from harness.measure.laboratory import Laboratory
from harness.measure.loads import record_of
from harness.measure.rules import alone


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
