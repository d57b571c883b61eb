"""Loads whose page had to wait for a processor that others had: another program, or the experiment's own servers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.analysis.cell import Cell
from harness.analysis.intervals import Interval
from harness.analysis.stats import median
from harness.files.results import LoadResult

WAITED_RATIO = 0.05
"""Share of the page load time. A page of 642 modules whose servers run on the same two processors waited for 1.0 to
1.5 s of its 4.1 s, and took 5% longer with TFO, which should have saved as much."""


@dataclass(frozen=True)
class Waited:
    """A load that waited for a processor for `waited_ms` of its `plt_ms`."""

    load: LoadResult
    waited_ms: float
    plt_ms: float


def waited_ms(load: LoadResult) -> float | None:
    """Return how long a page waited for a processor that others than Chrome had; None where that is not known.

    Records of earlier versions do not tell that part from the rest.
    """
    kept = load.record.timekeeping if load.record else None
    if kept is None:
        return None
    return kept.page_waited_ms if kept.page_waited_for_others_ms is None else kept.page_waited_for_others_ms


def loads_that_waited(cells: Sequence[Cell]) -> Iterator[Waited]:
    """Give the loads that count whose page waited for more than WAITED_RATIO of its load time."""
    for load in (load for cell in cells for load in cell.loads):
        if load.plt_ms and (waited := waited_ms(load)) is not None and waited > WAITED_RATIO * load.plt_ms:
            yield Waited(load, waited, load.plt_ms)


def waits_may_explain(off: Cell, on: Cell, interval: Interval | None) -> bool:
    """Say whether a row's improvement, or slow-down, may come of waits for a processor alone.

    A wait makes a load longer by as much as the page waited, at most; waits of processes that ran at once are added up,
    so no more than half of a load is one. So the side that was slower, by `interval`, gets its median wait taken off:
    an improvement that is still left is not one of waits.
    """
    if interval is None or not interval.excludes_zero:
        return False                    # which side is slower is not known, and the row says so
    slower = off if interval.low_percent > 0 else on
    wait_ms = median([min(waited_ms(load) or 0.0, load.plt_ms / 2) for load in slower.loads if load.plt_ms])
    least_percent = min(abs(interval.low_percent), abs(interval.high_percent))
    return wait_ms >= least_percent / 100 * (off.median_ms or 0.0)
