"""Statistics over sites. Each site counts once: its loads say how sure its own value is, not how sites differ.

Intervals and bands are bootstrapped over sites (Efron and Tibshirani, An Introduction to the Bootstrap, 1993): they
say what other sites, drawn in the same way, would give. They say nothing about sites of which the list is not a sample.
The interval of a share is Clopper and Pearson's (1934): of five sites that are all faster each draw says 100%, which
they may be, one time in 40, where 48% of all are.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.analysis.intervals import RESAMPLES
from harness.analysis.stats import CONFIDENCE
from harness.sweep.site_rows import AtRtt, SiteRow

LIMITS = ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)
FEWEST = 5
"""Sites. Fewer tell the bootstrap too little of how sites differ (harness.analysis.intervals.ENOUGH_PAIRS)."""
MOST_POINTS = 400
"""Points that a curve and its band are drawn through."""
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A value over sites with its 95% interval, whose limits are None for fewer than FEWEST sites."""

    value: float
    low: float | None
    high: float | None
    sites: int


@dataclass(frozen=True)
class Distribution:
    """The share of sites (0 to 1) whose improvement is at most `x` percent, with a pointwise 95% band.

    `low` and `high` are empty for fewer than FEWEST sites.
    """

    x: Floats
    share: Floats
    low: Floats
    high: Floats
    sites: int


def median_improvement(rows: Sequence[SiteRow], rtt_ms: float, seed: int = 1) -> Estimate | None:
    """Return the median of the sites' improvements at an RTT, in percent; None without a site."""
    values = improvements(rows, rtt_ms)
    return _estimate(values, lambda sample: float(np.median(sample)), seed) if values.size else None


def share_faster(rows: Sequence[SiteRow], rtt_ms: float) -> Estimate | None:
    """Return the share of sites (0 to 1) that are faster with TFO: all of the site's interval lies above 0.

    Sites without an interval do not count; None when no site has one.
    """
    found = [at.verdict == "faster" for row in rows if (at := row.at_rtt(rtt_ms)) and at.verdict != "unknown"]
    return _share(sum(found), len(found)) if found else None


def distribution(rows: Sequence[SiteRow], rtt_ms: float, seed: int = 1) -> Distribution | None:
    """Return how the improvement at an RTT is distributed over sites; None without a site."""
    values = np.sort(improvements(rows, rtt_ms))
    if not values.size:
        return None
    x: Floats = values
    if values.size > MOST_POINTS:
        x = np.asarray(np.quantile(values, np.linspace(0, 1, MOST_POINTS)), float)
    share = np.searchsorted(values, x, side="right") / values.size
    empty = np.array([])
    if values.size < FEWEST:
        return Distribution(x, share, empty, empty, values.size)
    shares = [np.searchsorted(np.sort(draw), x, side="right") / values.size for draw in _draws(values, seed)]
    low, high = np.quantile(shares, LIMITS, axis=0)
    return Distribution(x, share, low, high, values.size)


def improvements(rows: Sequence[SiteRow], rtt_ms: float) -> Floats:
    """Return the improvement of every site at an RTT, in percent."""
    return np.array([at.percent for row in rows if (at := row.at_rtt(rtt_ms))], float)


def theory_slope(points: Sequence[AtRtt], seed: int = 1) -> Estimate | None:
    """Return the slope of the line through the origin of improvement against handshakes x RTT / PLT (least squares).

    Theory says 1: each handshake on the critical path that is saved makes the load event come one RTT earlier. None
    without a point that has handshakes.
    """
    pairs = np.array([(point.theory_percent, point.percent) for point in points if point.theory_percent], float)
    if not pairs.size:
        return None
    return _estimate(pairs, lambda sample: float((sample[:, 0] * sample[:, 1]).sum() / (sample[:, 0] ** 2).sum()), seed)


def _draws(values: Floats, seed: int) -> Iterator[Floats]:
    """Give RESAMPLES draws, with replacement, of as many sites as there are; each row of `values` is a site."""
    rng = np.random.default_rng(seed)
    for _ in range(RESAMPLES):
        yield values[rng.integers(0, len(values), len(values))]


def _share(count: int, sites: int) -> Estimate:
    """Return the share of sites of which something holds, with its exact interval."""
    from scipy import stats  # half a second to import

    if sites < FEWEST:
        return Estimate(count / sites, None, None, sites)
    interval = stats.binomtest(count, sites).proportion_ci(CONFIDENCE, "exact")
    return Estimate(count / sites, float(interval.low), float(interval.high), sites)


def _estimate(values: Floats, statistic: Callable[[Floats], float], seed: int) -> Estimate:
    """Return a statistic of sites with its percentile interval."""
    value = float(statistic(values))
    if len(values) < FEWEST:
        return Estimate(value, None, None, len(values))
    low, high = np.quantile([statistic(draw) for draw in _draws(values, seed)], LIMITS)
    return Estimate(value, float(low), float(high), len(values))
