"""A load that counts, for an experiment that keeps nothing but its times."""

import sys

from harness.errors import ExperimentError
from harness.files.load_record import LoadRecord
from harness.measure.judge import alone
from harness.measure.laboratory import Laboratory
from harness.measure.loads import record_of
from harness.measure.plan import Load


def measure_valid_load(lab: Laboratory, load: Load) -> LoadRecord:
    """Measure `load` until it is valid; return its record. Says on stderr why a try does not count.

    Raises ExperimentError after as many tries as the settings say, or when servers, delay line or load_page.py have
    ended.
    """
    for _ in range(1 + lab.settings.retries):
        record = record_of(lab, load)
        problems = alone(record)
        if not problems:
            return record
        print(f"TFO {load.tfo}, run {load.run}: not valid: {problems[0]}", file=sys.stderr)
    raise ExperimentError(f"{load.page.url}: no load of it can be used; try again on a quiet machine")
