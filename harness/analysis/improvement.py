"""What TFO improves for one page at one RTT, computed in one place for the table, the figures and the report."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from harness.analysis.intervals import Interval, improvement_interval
from harness.analysis.kinds_of_loads import TwoKinds, two_kinds
from harness.analysis.selection import Cell, Selection
from harness.analysis.stats import improvement_percent
from harness.analysis.waiting import Waited, loads_that_waited, waits_may_explain
from harness.files.results import Results


@dataclass(frozen=True)
class Improvement:
    """One page at one RTT. Medians of PLT in ms without and with TFO, None where not measured; `percent` less with TFO.

    `pairs` is how many runs count both without and with TFO, `interval` the 95% interval of `percent` from them, None
    from fewer than two. Both are None in a row of `two_kinds` of loads. `waited` are loads whose page waited for a
    processor for long; where these waits may be the reason for the improvement, `explained_by_waits`, it is not
    significant.
    """

    page: str
    rtt_ms: float
    off_ms: float | None
    on_ms: float | None
    percent: float | None
    pairs: int
    interval: Interval | None
    own_name: str = ""
    two_kinds: TwoKinds | None = None
    waited: tuple[Waited, ...] = ()
    explained_by_waits: bool = False

    @property
    def rtt_name(self) -> str:
        """What the RTT is called, in ms: `own_name`, where it stands for several."""
        return self.own_name or f"{self.rtt_ms:g}"

    @property
    def saved_ms(self) -> float | None:
        """How much shorter the PLT is with TFO, in ms; None where no improvement is known."""
        return None if self.percent is None or self.off_ms is None or self.on_ms is None else self.off_ms - self.on_ms

    @property
    def errors_percent(self) -> tuple[float, float]:
        """How far the interval's limits lie below and above the improvement, in points; 0 without an interval.

        One is negative where the improvement lies outside: it is of all loads, the interval of pairs of them.
        """
        if self.percent is None or self.interval is None:
            return 0.0, 0.0
        return self.percent - self.interval.low_percent, self.interval.high_percent - self.percent

    @property
    def significant(self) -> bool:
        """Whether 0 lies outside of the interval, and nothing else than TFO is known that may be the reason."""
        return self.interval is not None and self.interval.excludes_zero and not self.explained_by_waits

    @property
    def helps(self) -> bool:
        """Whether all of the interval is an improvement, a significant one."""
        return self.significant and self.interval is not None and self.interval.low_percent > 0

    @property
    def hurts(self) -> bool:
        """Whether all of the interval is a slow-down, a significant one."""
        return self.significant and self.interval is not None and self.interval.high_percent < 0


@lru_cache(maxsize=4096)    # the interval takes a bootstrap, and seven parts of the output want it
def improvement(selection: Selection, page: str, rtt_ms: float) -> Improvement:
    """Return what TFO improves for `page` at `rtt_ms`. Computed once for each `selection`, which must not change."""
    off_ms, on_ms = (selection.median_ms(Cell(page, rtt_ms, tfo)) for tfo in (0, 1))
    kinds, pairs = two_kinds(selection, page, rtt_ms), selection.pairs(page, rtt_ms)
    percent = improvement_percent(off_ms, on_ms) if off_ms and on_ms and not kinds else None
    interval = None if kinds else improvement_interval(*pairs)
    waited = tuple(loads_that_waited(selection, page, rtt_ms))
    return Improvement(page, rtt_ms, off_ms, on_ms, percent, len(pairs[0]), interval, selection.rtt_name(rtt_ms), kinds,
                       waited, bool(waited and not kinds) and waits_may_explain(selection, page, rtt_ms, interval))


def improvements(results: Results, selection: Selection) -> list[Improvement]:
    """Return the improvement of every page at every RTT, in the table's order."""
    return [improvement(selection, page, rtt_ms) for page in results.urls for rtt_ms in results.rtts_ms]


def curve(selection: Selection, page: str, rtts_ms: Sequence[float]) -> list[Improvement]:
    """Return one page's improvements in order of RTT, without those RTTs at which it was not measured both ways."""
    found = (improvement(selection, page, rtt_ms) for rtt_ms in sorted(rtts_ms))
    return [point for point in found if point.percent is not None]


def threshold_ms(points: Sequence[Improvement]) -> float | None:
    """Return the smallest RTT from which on TFO helps at every RTT measured, None when not even at the largest."""
    threshold = None
    for point in sorted(points, key=lambda point: point.rtt_ms, reverse=True):
        if not point.helps:
            break
        threshold = point.rtt_ms
    return threshold
