"""How sure a comparison of two percentiles is: a bootstrap interval in which failed connects take part.

Percentiles are of nearest rank, as in the tables: nothing is interpolated, so a limit may be FAILED like a percentile.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from connie.lab.results import rank
from harness.analysis.intervals import RESAMPLES

CONFIDENCE_PERCENT = 95
MOST_NUMBERS = 10**6
"""That are drawn at a time."""
Floats = npt.NDArray[np.float64]
Compare = Callable[[float, float], float]
"""Takes a percentile of ours and one of theirs, either of which may be FAILED; never returns NaN."""


def interval(compare: Compare, percent: float, ours: Sequence[float], theirs: Sequence[float], *,
             paired: bool = False) -> tuple[float, float]:
    """Return the 95% percentile-bootstrap interval of `compare` of both percentiles; NaN for fewer than 2 values.

    `paired`: ours[i] and theirs[i] are of the same round, and are drawn together.
    """
    if min(len(ours), len(theirs)) < 2:
        return math.nan, math.nan
    rng = np.random.default_rng(1)
    if paired:
        drawn = _percentiles(rng, np.asarray([ours, theirs], float), percent)
    else:
        drawn = np.concatenate([_percentiles(rng, np.asarray([sample], float), percent) for sample in (ours, theirs)])
    found = [compare(our_value, their_value) for our_value, their_value in drawn.T.tolist()]
    outside = (100 - CONFIDENCE_PERCENT) / 2
    return rank(found, outside), rank(found, 100 - outside)


def _percentiles(rng: np.random.Generator, rows: Floats, percent: float) -> Floats:
    """Return for each row its percentile in RESAMPLES draws of columns, with replacement: a row of so many numbers."""
    count = rows.shape[1]
    index = max(0, math.ceil(count * percent / 100) - 1)            # as connie.lab.results.rank has it
    found = []
    for begin in range(0, RESAMPLES, at_once := max(1, MOST_NUMBERS // count)):
        draws = rng.integers(0, count, (min(at_once, RESAMPLES - begin), count))
        found.append(np.partition(rows[:, draws], index, axis=2)[:, :, index])
    return np.concatenate(found, axis=1)
