"""How many answers a page's load event waited for, and rows whose loads fall into two kinds by that number.

Some pages hold a race: a script comes before or after the load event, which then waits for all that the script asks for
or for none of it. Loads of two kinds measure two different pages, and their medians compare how often each kind came.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from harness.analysis.cell import Cell
from harness.analysis.timeline import DATA
from harness.files.results import LoadResult

READ_BY_SCRIPTS = (DATA, "websocket")
"""What scripts fetch (harness.measure.received): no load event waits for it."""
GAP_RATIO = 0.25
"""Two kinds differ by more than this share of the larger one's answers. In loads that nobody disturbed, numbers next to
each other differ by 13 of 63 at most (a student's chipublib.org), and by 9 of 83 (wsj.com of 2013)."""
GAP_LEAST = 2
"""Nor is it a kind of its own that waits for two answers less, of a page of six."""
LEAST_TRIES = 2
"""What only refused loads show, so many must show: once may have been the machine's fault."""


@dataclass(frozen=True)
class TwoKinds:
    """For how many answers the load events of the two kinds waited (medians), and how many tries are of each kind."""

    few: float
    few_tries: int
    many: float
    many_tries: int


def awaited_answers_of(load: LoadResult) -> int | None:
    """Return for how many answers the load event waited; None where that is not known."""
    if not load.record or not load.record.answers:
        return None
    answers = load.record.answers
    of_scripts = {answer.identity for answer in answers.each if answer.purpose in READ_BY_SCRIPTS}
    return sum(not answer.late and answer.purpose not in READ_BY_SCRIPTS for answer in answers.each) \
        + sum(identity not in of_scripts for identity in answers.from_cache)


def two_kinds(cells: Sequence[Cell]) -> TwoKinds | None:
    """Return the two kinds that the loads of a row's `cells` fall into together; None where there is one.

    Every try of a load is looked at, also one that was refused and made again: if only the last ones counted, chance
    (or the rule that refused the others) would choose the kind. A try with failed requests is none of either kind.
    """
    tries = [*_tries(cells)]
    counts = sorted(count for count, _ in tries)
    gaps = [(more - less, less) for less, more in pairwise(counts)]
    widest, below = max(gaps, default=(0, 0))
    if widest <= max(GAP_LEAST, GAP_RATIO * counts[-1] if counts else 0):
        return None
    kinds = [[each for each in tries if (each[0] <= below) == is_few] for is_few in (True, False)]
    if not all(any(counted for _, counted in kind) or len(kind) >= LEAST_TRIES for kind in kinds):
        return None
    few, many = ([count for count, _ in kind] for kind in kinds)
    return TwoKinds(median(few), len(few), median(many), len(many))


def _tries(cells: Sequence[Cell]) -> Iterator[tuple[int, bool]]:
    """Give for each try of a measured load how many answers its load event waited for, and whether the try counts."""
    for cell in cells:
        refused = (*(load for load, _ in cell.left_out), *cell.again)
        for load, counts in (*((load, True) for load in cell.loads), *((load, False) for load in refused)):
            answers = load.record.answers if load.record else None
            is_whole = counts or (load.plt_ms and answers and not answers.failed and not answers.missing)
            if is_whole and (count := awaited_answers_of(load)) is not None:
                yield count, counts
