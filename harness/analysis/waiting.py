"""Loads whose page had to wait for a processor that others had: another program, or the experiment's own servers."""

from collections.abc import Iterator
from dataclasses import dataclass

from harness.analysis.intervals import Interval, improvement_interval
from harness.analysis.selection import Cell, Selection, plt_ms
from harness.analysis.stats import improvement_percent
from harness.files.load_parts import Timekeeping
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


def waited_ms(kept: Timekeeping) -> float | None:
    """Return how long a page waited for a processor that others than Chrome had; None where that is not known.

    Records of earlier versions do not tell that part from the rest.
    """
    return kept.page_waited_ms if kept.page_waited_for_others_ms is None else kept.page_waited_for_others_ms


def loads_that_waited(selection: Selection, page: str, rtt_ms: float) -> Iterator[Waited]:
    """Give the loads that count in a row whose page waited for more than WAITED_RATIO of its load time."""
    for tfo in (0, 1):
        for load in selection.cells.get(Cell(page, rtt_ms, tfo), ()):
            kept = load.record.timekeeping if load.record else None
            waited = waited_ms(kept) if kept else None
            if waited is not None and load.plt_ms and waited > WAITED_RATIO * load.plt_ms:
                yield Waited(load, waited, load.plt_ms)


def waits_may_explain(selection: Selection, page: str, rtt_ms: float, interval: Interval | None) -> bool:
    """Say whether a row's improvement may come of waits for a processor alone.

    A wait makes a load longer by as much as the page waited, at most. So each load of the side that was slower gets
    its wait taken off, and no load of the faster side: an improvement that is still left is not one of waits.
    `interval` is the row's, None from fewer than two pairs; then the median of the loads there are decides.
    """
    off, on = (_plts_and_waits(selection, Cell(page, rtt_ms, tfo)) for tfo in (0, 1))
    runs = sorted(off.keys() & on.keys())
    if not runs:
        return False
    slower = _sign(interval or _interval([off[run][0] for run in runs], [on[run][0] for run in runs]))
    if not slower:
        return False                    # which side is slower is not known, and the row says so
    left = _interval([off[run][0] - (off[run][1] if slower > 0 else 0.0) for run in runs],
                     [on[run][0] - (on[run][1] if slower < 0 else 0.0) for run in runs])
    return _sign(left) != slower


def _plts_and_waits(selection: Selection, cell: Cell) -> dict[tuple[float, int], tuple[float, float]]:
    """Return the PLT and the wait in ms of each load of a cell, by its delay in ms and its run."""
    found = {}
    for load in selection.cells.get(cell, ()):
        kept = load.record.timekeeping if load.record else None
        if (plt := plt_ms(load, selection.metric)) is not None:
            # More than half of a load is not taken off: waits of processes that ran at once are added up.
            found[load.delaynet_ms, load.run] = plt, min(waited_ms(kept) or 0.0 if kept else 0.0, plt / 2)
    return found


def _interval(off_ms: list[float], on_ms: list[float]) -> Interval:
    """Return the interval of the improvement; of one pair it is the improvement itself."""
    percent = improvement_percent(off_ms[0], on_ms[0])
    return improvement_interval(off_ms, on_ms) or Interval(percent, percent, 1)


def _sign(interval: Interval) -> int:
    """Return 1 where loads with TFO are surely faster, -1 where they are surely slower, else 0."""
    return (interval.low_percent > 0) - (interval.high_percent < 0)
