"""Medians, spreads, and how sure a cell's improvement is.

That is a bootstrap confidence interval over pairs of loads, one without and one with TFO.

Loads of the same run are a pair: they were made one after the other, so what slowed the machine slowed both, and
pairing takes that out (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 8).
"""

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

Statistic = Callable[..., Any]
"""A function of samples, as arrays, that works along an `axis`."""

CONFIDENCE = 0.95
"""How sure every interval of this project is meant to be: where a text says 95%, it means this."""
SEED = 1
RESAMPLES = 9999
"""SciPy's own default; its limits then move by less than 0.1 percentage points from seed to seed."""
ENOUGH_PAIRS = 5
"""From so many pairs on a 95% interval holds the true improvement about as often as it claims.

The bootstrap only knows the values it was given. Of 3 pairs there are no more than 10 different resamples, so its
limits are those of the best and the worst pair. The truth lies between them in 75% of experiments, 1 - 2 * (1/2)^n, as
between the smallest and the largest of n values (harness.analysis.stats.median_confidence).

How often a "95%" interval really held the true improvement, in 2000 simulated experiments for each n and kind of noise:
2% normal, 2% log-normal with a long tail, and Student's t with 3 degrees of freedom for outliers (pytest
tests/analysis/test_stats.py -k coverage repeats it):

    n           2       3       4       5       6       7       8      10      20
    percentile  49%     76%     88%    93-94%  94-95%  93-95%  94-95%  95-96%  96-97%
    BCa         49%  74-75%  83-85%  88-90%  91-92%  92-93%  91-93%  93-94%  94-95%

Hence method="percentile": SciPy's default BCa corrects a bias and a skew it has to estimate from the leave-one-out
samples, and of a median of few values that estimate is poor.
"""


def median(values: Sequence[float]) -> float:
    """Return the median of at least one value, in the unit of `values`. Raises statistics.StatisticsError for none."""
    return float(statistics.median(values))


def median_if_any(values: Sequence[float]) -> float | None:
    """Return the median, None of no values."""
    return median(values) if values else None


def coefficient_of_variation(values: Sequence[float]) -> float | None:
    """Return the sample standard deviation (n - 1) over the mean: a spread without a unit, 0.01 is 1%.

    None for fewer than two values, or a mean of 0: there it says nothing.
    """
    if len(values) < 2 or (mean := statistics.fmean(values)) == 0:
        return None
    return statistics.stdev(values) / mean


def median_confidence(n: int) -> float:
    """Return how sure it is that the true median lies between the smallest and the largest of `n` independent runs.

    It does not when all runs fall on one side of it, each with a chance of 1/2: 1 - 2 * (1/2)^n, whatever the
    distribution (the sign test's interval: Conover, Practical Nonparametric Statistics, section 3.2). 75% for 3 runs.
    """
    return 1 - 2 * math.pow(0.5, n)


def improvement_percent(off: float, on: float) -> float:
    """Return how much less `on` (with TFO) is than `off` (without), in percent of `off`; negative is a slow-down.

    Both in the same unit; `off` must be greater than 0, otherwise ValueError.
    """
    if off <= 0:
        raise ValueError(f"cannot compare with {off}: a page load takes time")
    return (off - on) / off * 100


@dataclass(frozen=True)
class Interval:
    """A 95% confidence interval of an improvement, in percent of the PLT without TFO.

    `pairs` is how many pairs of loads it comes from.
    """

    low_percent: float
    high_percent: float
    pairs: int

    @property
    def half_width_points(self) -> float:
        """Half of its width in percentage points: what one writes behind a plus-minus sign."""
        return (self.high_percent - self.low_percent) / 2

    @property
    def excludes_zero(self) -> bool:
        """Whether "no improvement at all" lies outside, so that the improvement has a sign one can believe."""
        return self.low_percent > 0 or self.high_percent < 0

    @property
    def enough(self) -> bool:
        """Whether there are pairs enough for a 95% interval to be as sure as it claims."""
        return self.pairs >= ENOUGH_PAIRS


def improvement_interval(off_ms: Sequence[float], on_ms: Sequence[float], *,
                         resamples: int = RESAMPLES) -> Interval | None:
    """Return the confidence interval of the improvement of the medians, as the table prints it; None for < 2 pairs.

    off_ms[i] and on_ms[i] are the PLT in ms of one pair, without and with TFO, each greater than 0 (otherwise, or when
    the two differ in length: ValueError). Pairs that are all alike give an interval of width 0: nothing in the data
    says how far off they may be.
    """
    if len(off_ms) != len(on_ms) or min(off_ms, default=1) <= 0 or min(on_ms, default=1) <= 0:
        raise ValueError(f"not pairs of page load times: {list(off_ms)} and {list(on_ms)}")
    if len(off_ms) < 2:
        return None
    return Interval(*bootstrap(_improvement_of_medians, off_ms, on_ms, resamples=resamples), len(off_ms))


MOST_AT_ONCE = 10**7
"""Numbers that a bootstrap draws at once, 80 MB: a sweep has thousands of sites."""


def bootstrap(statistic: Statistic, *samples: Sequence[float], resamples: int = RESAMPLES) -> tuple[float, float]:
    """Return the limits of a statistic's 95% interval over resampled places of the `samples`, which are as long.

    Percentile bootstrap by scipy.stats.bootstrap, with the same seed each time.
    """
    import numpy as np  # 0.1 s to import, and SciPy half a second; scripts that need no interval start without them
    from scipy import stats

    result = stats.bootstrap([np.asarray(sample, float) for sample in samples], statistic, paired=True,
                             vectorized=True, n_resamples=resamples, confidence_level=CONFIDENCE, method="percentile",
                             batch=max(1, MOST_AT_ONCE // len(samples[0])),
                             rng=np.random.default_rng(SEED))
    return float(result.confidence_interval.low), float(result.confidence_interval.high)


def _improvement_of_medians(off_ms: "Floats", on_ms: "Floats", axis: int) -> "Floats":
    import numpy as np

    off, on = np.median(off_ms, axis=axis), np.median(on_ms, axis=axis)
    return np.asarray((off - on) / off * 100)
