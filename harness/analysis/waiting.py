"""Loads whose page had to wait for a processor that others had: another program, or the experiment's own servers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.analysis.cell import Cell
from harness.analysis.intervals import Interval, improvement_interval
from harness.analysis.stats import improvement_percent
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
    """Say whether a row's improvement may come of waits for a processor alone.

    A wait makes a load longer by as much as the page waited, at most. So each load of the side that was slower gets
    its wait taken off, and no load of the faster side: an improvement that is still left is not one of waits.
    `interval` is the row's, None from fewer than two pairs; then the median of the loads there are decides.
    """
    runs = sorted(off.by_run.keys() & on.by_run.keys())
    if not runs:
        return False
    off_ms, on_ms = ([cell.by_run[run] for run in runs] for cell in (off, on))
    slower = _sign(interval or _interval(off_ms, on_ms))
    if not slower:
        return False                    # which side is slower is not known, and the row says so
    if slower > 0:
        off_ms = _without_waits(off, runs)
    else:
        on_ms = _without_waits(on, runs)
    return _sign(_interval(off_ms, on_ms)) != slower


def _without_waits(cell: Cell, runs: Sequence[tuple[float, int]]) -> list[float]:
    """Return the PLT in ms of these runs without the waits; no more than half of a load is one.

    Waits of processes that ran at once are added up.
    """
    waits_ms = {(load.delaynet_ms, load.run): waited_ms(load) or 0.0 for load in cell.loads}
    return [cell.by_run[run] - min(waits_ms[run], cell.by_run[run] / 2) for run in runs]


def _interval(off_ms: Sequence[float], on_ms: Sequence[float]) -> Interval:
    """Return the interval of the improvement; of one pair it is the improvement itself."""
    percent = improvement_percent(off_ms[0], on_ms[0])
    return improvement_interval(off_ms, on_ms) or Interval(percent, percent, 1)


def _sign(interval: Interval) -> int:
    """Return 1 where loads with TFO are surely faster, -1 where they are surely slower, else 0."""
    return (interval.low_percent > 0) - (interval.high_percent < 0)
