"""Statistics over sites. Each site counts once: its loads say how sure its own value is, not how sites differ.

Intervals are bootstrapped over sites (Efron and Tibshirani, An Introduction to the Bootstrap, 1993): they say what
other sites, drawn in the same way, would give. They say nothing about sites of which the list is not a sample. The
interval of a share is Clopper and Pearson's (1934): of five sites that are all faster each draw says 100%, which they
may be, one time in 40, where 48% of all are.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.analysis.stats import CONFIDENCE, Statistic, bootstrap
from harness.sweep.site_rows import SiteRow

FEWEST = 5
"""Sites. Fewer tell too little of how sites differ (harness.analysis.stats.ENOUGH_PAIRS)."""
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A value over sites with its 95% interval, whose limits are None for fewer than FEWEST sites."""

    value: float
    sites: int
    low: float | None = None
    high: float | None = None


Distribution = Sequence[tuple[float, Estimate]]
"""Improvements in percent from the least on, and the share of sites with at most that."""


def median_improvement(rows: Sequence[SiteRow]) -> Estimate:
    """Return the median of the sites' improvements at one RTT, in percent."""
    return _estimate(np.median, [row["improvement_percent"] for row in rows])


def is_faster(row: SiteRow) -> bool:
    """Tell whether a site is faster with TFO for sure: all of its own interval lies above 0."""
    return bool(row["significant"] and row["low_percent"] > 0)


def share_faster(rows: Sequence[SiteRow]) -> Estimate | None:
    """Return the share of sites (0 to 1) that are faster with TFO for sure.

    Sites without an interval do not count; None when no site has one.
    """
    known = [is_faster(row) for row in rows if row["low_percent"] is not None]
    return _share(sum(known), len(known)) if known else None


def distribution(rows: Sequence[SiteRow]) -> Distribution:
    """Return how the improvement at one RTT is distributed over sites."""
    percents = sorted(row["improvement_percent"] for row in rows)
    return [(percent, _share(bisect_right(percents, percent), len(percents))) for percent in percents]


def theory_slope(rows: Sequence[SiteRow]) -> Estimate | None:
    """Return the slope of the line through the origin of improvement against handshakes x RTT / PLT (least squares).

    Theory says 1: each handshake on the critical path that is saved makes the load event come one RTT earlier. None
    without a site that has handshakes.
    """
    pairs = [(row["theory_percent"], row["improvement_percent"]) for row in rows if row["theory_percent"]]
    return _estimate(_slope, *map(list, zip(*pairs, strict=True))) if pairs else None


def _slope(theory: Floats, measured: Floats, axis: int) -> Floats:
    return np.asarray((theory * measured).sum(axis=axis) / (theory ** 2).sum(axis=axis))


def _estimate(statistic: Statistic, *samples: Sequence[float]) -> Estimate:
    """Return a statistic of sites with its percentile interval."""
    value, sites = float(statistic(*map(np.asarray, samples), axis=-1)), len(samples[0])
    return Estimate(value, sites, *(bootstrap(statistic, *samples) if sites >= FEWEST else ()))


def _share(count: int, sites: int) -> Estimate:
    from scipy import stats  # half a second to import

    limits = stats.binomtest(count, sites).proportion_ci(CONFIDENCE, "exact") if sites >= FEWEST else ()
    return Estimate(count / sites, sites, *map(float, limits))
