"""Draws the intervals of improvements as bars, each where it lies.

That need not be around the improvement: where loads failed on one side, the medians know of more loads than the pairs.
"""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes

from harness.analysis.improvement import Improvement


def draw_intervals(axes: Axes, places: Sequence[float], points: Sequence[Improvement], **style: Any) -> None:
    """Draw the interval of each of `points` that has one, at its place; `style` is that of Axes.errorbar()."""
    known = [(place, point.interval) for place, point in zip(places, points, strict=True) if point.interval]
    if known:
        axes.errorbar([place for place, _ in known],
                      [(interval.low_percent + interval.high_percent) / 2 for _, interval in known],
                      yerr=[interval.half_width_points for _, interval in known], fmt="none", elinewidth=1, **style)
