"""What many timed calls of one strategy come to, and the line that says so."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class CallTimes:
    """The calls of one strategy: seconds of those that succeeded, in their order, and what the others failed with."""

    times_s: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the value below which `percent` (0 to 100) of `values` lie, interpolated between neighbours.

    The commonest definition: Hyndman and Fan's type 7 (1996), numpy's default. Infinite values may be among them; what
    lies between one of these and a number is infinite. Raises ValueError without values.
    """
    if not values:
        raise ValueError("no values, so no percentile")
    ordered = sorted(values)
    rank = (len(ordered) - 1) * percent / 100
    below = int(rank)
    if rank == below or math.isinf(ordered[below]):
        return ordered[below]
    above = below + 1
    return ordered[below] + (ordered[above] - ordered[below]) * (rank - below)


def format_line(name: str, series: CallTimes) -> str:
    """Return the line of 2013 with what it lacked behind it. All times in seconds.

        connie_connect: count 300, total 18.6567, per call: 0.0622, std dev: 0.0030, median: 0.061812, ...

    count is that of the calls that succeeded, and 2013's figures are about those. Median and percentiles are of all
    calls, failed ones counted as slower than all others, or who gives up would look quick: `failed` stands for one that
    lies among these. The standard deviation is that of a
    sample, sqrt(sum((x - mean)**2) / (n - 1)). The tool of 2013 divided by n outside the root, and so printed a value
    that is sqrt(n) times too small. What 2013 had has 2013's
    four decimals, the rest six: on loopback a connect takes some 0.00005 s. `-` stands for what so few calls do not
    tell.
    """
    times_s = series.times_s
    deviation = statistics.stdev(times_s) if len(times_s) > 1 else None
    all_s = [*times_s, *[math.inf] * len(series.errors)]
    mean, middle, p95, p99 = ((statistics.fmean(times_s), *(percentile(all_s, percent) for percent in (50, 95, 99)))
                              if times_s else (None,) * 4)
    return (f"{name}: count {len(times_s)}, total {sum(times_s):.4f}, per call: {_seconds(mean)}, "
            f"std dev: {_seconds(deviation)}, median: {_seconds(middle, 6)}, p95: {_seconds(p95, 6)}, "
            f"p99: {_seconds(p99, 6)}, errors: {len(series.errors)}")


def _seconds(value: float | None, digits: int = 4) -> str:
    if value is None:
        return "-"
    return "failed" if math.isinf(value) else f"{value:.{digits}f}"
