"""How well an improvement is to be known before a page is done (tfo.py --until-ci; harness.measure.adaptive)."""

from dataclasses import dataclass

MINIMUM_PAIRS = 6
"""No interval of fewer pairs ends a cell, unless --min-pairs says so. How often the "95%" interval that did so held
the true improvement, in 600 simulated experiments each (normal, long-tailed and outlier-ridden noise of 1 to 4.5% a
load, --until-ci 3, at most 20 runs; pytest tests/measure/test_adaptive.py -k coverage repeats it in small):

    minimum     3       5       6       8      10
    held     70-80%  91-95%  91-95%  92-96%  94-96%

Six is also the least of which the smallest and the largest hold the true median with 95% confidence
(harness.analysis.stats.median_confidence: 1 - 2 * (1/2)^6 = 97%)."""
MOST_RUNS = 20
"""Measured runs of a page at which --until-ci gives up by default: about 20 times 2 loads of 6 s for each page."""


@dataclass(frozen=True)
class Goal:
    """When to stop: the half-width of the 95% interval is under `points` percentage points, or `max_runs` are done.

    No page is done with fewer than `min_pairs` pairs, however narrow its interval is.
    """

    points: float
    max_runs: int = MOST_RUNS
    min_pairs: int = MINIMUM_PAIRS
