"""What a server had to do at each rate of requests: samples, and their means with intervals (the paper's Figure 6)."""

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace

from harness.analysis.stats import CONFIDENCE

HELD_RATIO = 0.01
"""How far the rate at which requests were begun may be off."""
KEPT_UP_MS = 100.0
"""When half of the requests wait longer, they come faster than they are answered, and only the queue grows."""


@dataclass(frozen=True)
class LoadSample:
    """One rate (requests a second), once. `cpu` is the busy share of the server's core, `held` the rate at which
    requests were begun. Latencies are from when a request was due. `syn_data`, `packets` (both ways) and `wake_ups` of
    the server's processes are for each request.
    """

    mode: str
    rate: float
    repeat: int
    held: float
    failed: int
    cpu: float
    p50_ms: float
    p99_ms: float
    syn_data: float
    packets: float
    wake_ups: float

    @property
    def counts(self) -> bool:
        """Whether the client held the rate, the server kept up with it, and all requests were answered."""
        return (self.failed == 0 and abs(self.held - self.rate) <= HELD_RATIO * self.rate
                and self.p50_ms <= KEPT_UP_MS)


@dataclass(frozen=True)
class LoadPoint:
    """`mean` of all samples of one mode and rate; `half_width` is half of the 95% interval of its `cpu`, or NaN."""

    mean: LoadSample
    half_width: float


def load_points(samples: Iterable[LoadSample]) -> list[LoadPoint]:
    """Return a point for each rate and mode of which all samples count, by mode and rate."""
    groups: dict[tuple[str, float], list[LoadSample]] = defaultdict(list)
    for sample in samples:
        groups[sample.mode, sample.rate].append(sample)
    return [LoadPoint(_mean(group), half_width([sample.cpu for sample in group]))
            for _, group in sorted(groups.items()) if all(sample.counts for sample in group)]


def _mean(group: Sequence[LoadSample]) -> LoadSample:
    numbers = [each.name for each in fields(LoadSample) if each.name != "mode"]
    return replace(group[0], **{name: statistics.fmean(getattr(sample, name) for sample in group) for name in numbers})


def half_width(values: Sequence[float]) -> float:
    """Return half of the 95% interval of the mean, by Student's t; NaN for a single value, which says nothing of it."""
    from scipy import stats  # half a second to import

    if len(values) < 2:
        return math.nan
    return float(stats.t.ppf((1 + CONFIDENCE) / 2, len(values) - 1) * stats.sem(values))


def percentile_ms(histogram: Sequence[Sequence[float]], share: float) -> float:
    """Return a percentile (`share` from 0 to 1) of a histogram of pairs (us, count) in order; 0 for an empty one."""
    total, seen = sum(count for _, count in histogram), 0.0
    for latency_us, count in histogram:
        seen += count
        if seen >= share * total:
            return latency_us / 1000
    return 0.0
