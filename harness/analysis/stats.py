"""The few statistics the table needs."""

import math
import statistics
from collections.abc import Sequence

CONFIDENCE = 0.95
"""How sure every interval of this project is meant to be: where a text says 95%, it means this."""


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
