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

from harness.analysis.stats import CONFIDENCE, RESAMPLES
from harness.sweep.site_rows import AtRtt

LIMITS = ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)
FEWEST = 5
"""Sites. Fewer tell the bootstrap too little of how sites differ (harness.analysis.stats.ENOUGH_PAIRS)."""
MOST_POINTS = 400
"""Points that a curve and its band are drawn through."""
SEED = 1
"""Of the draws: the same sites give the same intervals."""
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


def median_improvement(found: Sequence[AtRtt]) -> Estimate:
    """Return the median of the sites' improvements at one RTT, in percent."""
    return _estimate(_percents(found), lambda sample: float(np.median(sample)))


def share_faster(found: Sequence[AtRtt]) -> Estimate | None:
    """Return the share of sites (0 to 1) that are faster with TFO: all of the site's interval lies above 0.

    Sites without an interval do not count; None when no site has one.
    """
    from scipy import stats  # half a second to import

    known = [at.helps for at in found if at.interval]
    if not known:
        return None
    count, sites = sum(known), len(known)
    if sites < FEWEST:
        return Estimate(count / sites, None, None, sites)
    interval = stats.binomtest(count, sites).proportion_ci(CONFIDENCE, "exact")
    return Estimate(count / sites, float(interval.low), float(interval.high), sites)


def distribution(found: Sequence[AtRtt]) -> Distribution:
    """Return how the improvement at one RTT is distributed over sites."""
    values = np.sort(_percents(found))
    x = values if values.size <= MOST_POINTS else np.asarray(np.quantile(values, np.linspace(0, 1, MOST_POINTS)), float)

    def shares(sample: Floats) -> Floats:
        return np.asarray(np.searchsorted(np.sort(sample), x, side="right") / sample.size, float)

    low, high = np.quantile([shares(draw) for draw in _draws(values)], LIMITS, axis=0) \
        if values.size >= FEWEST else (np.array([]), np.array([]))
    return Distribution(x, shares(values), low, high, values.size)


def theory_slope(found: Sequence[AtRtt]) -> Estimate | None:
    """Return the slope of the line through the origin of improvement against handshakes x RTT / PLT (least squares).

    Theory says 1: each handshake on the critical path that is saved makes the load event come one RTT earlier. None
    without a site that has handshakes.
    """
    pairs = np.array([(at.theory_percent, at.percent) for at in found if at.theory_percent], float)
    if not pairs.size:
        return None
    return _estimate(pairs, lambda sample: float((sample[:, 0] * sample[:, 1]).sum() / (sample[:, 0] ** 2).sum()))


def _percents(found: Sequence[AtRtt]) -> Floats:
    return np.array([at.percent for at in found], float)


def _draws(values: Floats) -> Iterator[Floats]:
    """Give RESAMPLES draws, with replacement, of as many sites as there are; each row of `values` is a site."""
    rng = np.random.default_rng(SEED)
    for _ in range(RESAMPLES):
        yield values[rng.integers(0, len(values), len(values))]


def _estimate(values: Floats, statistic: Callable[[Floats], float]) -> Estimate:
    """Return a statistic of sites with its percentile interval."""
    value = float(statistic(values))
    if len(values) < FEWEST:
        return Estimate(value, None, None, len(values))
    low, high = np.quantile([statistic(draw) for draw in _draws(values)], LIMITS)
    return Estimate(value, float(low), float(high), len(values))
