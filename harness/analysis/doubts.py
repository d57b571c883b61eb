"""What else than TFO may make a row's loads with it shorter: waits for a processor, and races in the page.

Some pages hold a race: a script comes before or after the load event, which then waits for all that the script asks for
or for none of it. Loads of two kinds measure two different pages, and their medians compare how often each kind came.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from harness.analysis.cell import Cell
from harness.analysis.intervals import Interval
from harness.analysis.stats import median
from harness.analysis.timeline import DATA
from harness.files.results import LoadResult

WAITED_RATIO = 0.05
"""Share of the page load time. A page of 642 modules whose servers run on the same two processors waited for 1.0 to
1.5 s of its 4.1 s, and took 5% longer with TFO, which should have saved as much."""
READ_BY_SCRIPTS = (DATA, "websocket")
"""What scripts fetch (harness.measure.received): no load event waits for it."""
GAP_RATIO = 0.25
"""Two kinds differ by more than this share of the larger one's answers. In loads that nobody disturbed, numbers next to
each other differ by 13 of 63 at most (a student's chipublib.org), and by 9 of 83 (wsj.com of 2013)."""
GAP_LEAST = 2
"""Nor is it a kind of its own that waits for two answers less, of a page of six."""
LEAST_TRIES = 2
"""What only refused loads show, so many must show: once may have been the machine's fault."""
AWAITED_RATIO = 0.1
"""The share by which the answers that the load event waits for may differ without TFO and with it. Two of 139 rows that
were looked at differ by 15% and 21%, both of a student's recording of chipublib.org: there a script comes before or
after the load event, which then waits for 41, 48, 50 or 63 answers. The others differ by 7% at most. (They are the
paper's pages, real and synthetic, also in its own network; recordings of students; pages from HARs.)"""


class TwoKinds(NamedTuple):
    """For how many answers the load events of the two kinds waited (medians), and how many tries are of each kind."""

    few: float
    few_tries: int
    many: float
    many_tries: int


def waited_ms(load: LoadResult) -> float:
    """Return how long a page waited for a processor that others than Chrome had; 0 where that is not known.

    Records of earlier versions do not tell that part from the rest.
    """
    kept = load.record.timekeeping if load.record else None
    if kept is None:
        return 0.0
    return kept.page_waited_for_others_ms if kept.page_waited_for_others_ms is not None else kept.page_waited_ms or 0.0


def loads_that_waited(loads: Sequence[LoadResult]) -> list[LoadResult]:
    """Return the loads whose page waited for more than WAITED_RATIO of its load time."""
    return [load for load in loads if load.plt_ms and waited_ms(load) > WAITED_RATIO * load.plt_ms]


def waits_may_explain(off: Cell, on: Cell, interval: Interval | None) -> bool:
    """Say whether a row's improvement, or slow-down, may come of waits for a processor alone.

    A wait makes a load longer by as much as the page waited, at most; waits of processes that ran at once are added up,
    so no more than half of a load is one. So the side that was slower, by `interval`, gets its median wait taken off:
    an improvement that is still left is not one of waits.
    """
    if interval is None or not interval.excludes_zero:
        return False                    # which side is slower is not known, and the row says so
    slower = off if interval.low_percent > 0 else on
    wait_ms = median([min(waited_ms(load), load.plt_ms / 2) for load in slower.loads if load.plt_ms])
    least_percent = min(abs(interval.low_percent), abs(interval.high_percent))
    return wait_ms >= least_percent / 100 * (off.median_ms or 0.0)


def awaited_answers_of(load: LoadResult) -> int | None:
    """Return for how many answers the load event waited; None where that is not known."""
    if not load.record or not load.record.answers:
        return None
    answers = load.record.answers
    of_scripts = {answer.identity for answer in answers.each if answer.purpose in READ_BY_SCRIPTS}
    return sum(not answer.late and answer.purpose not in READ_BY_SCRIPTS for answer in answers.each) \
        + sum(identity not in of_scripts for identity in answers.from_cache)


def awaited_answers(cells: Sequence[Cell]) -> tuple[float, float] | None:
    """Return for how many answers the load event waited, without and with TFO, where that differs by AWAITED_RATIO.

    Both are medians over the loads that count. Then loads without and with TFO measured different parts of the page.
    """
    counts = [[count for load in cell.loads if (count := awaited_answers_of(load)) is not None] for cell in cells]
    if not all(counts):
        return None
    off, on = map(median, counts)
    return (off, on) if abs(off - on) > max(1.0, AWAITED_RATIO * max(off, on)) else None


def two_kinds(cells: Sequence[Cell]) -> TwoKinds | None:
    """Return the two kinds that the loads of a row's `cells` fall into together; None where there is one.

    Every try of a load is looked at, also one that was refused and made again: if only the last ones counted, chance
    (or the rule that refused the others) would choose the kind. A try with failed requests is none of either kind.
    """
    tries = sorted(_tries(cells))
    gaps = [(more - less, place) for place, ((less, _), (more, _)) in enumerate(pairwise(tries), start=1)]
    widest, place = max(gaps, default=(0, 0))
    if widest <= max(GAP_LEAST, GAP_RATIO * tries[-1][0] if tries else 0):
        return None
    kinds = tries[:place], tries[place:]
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
