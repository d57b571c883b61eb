"""What a server had to do at each rate of requests: samples, their means with intervals, a table, and a figure.

The figure is one like the paper's Figure 6.
"""

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from harness.analysis.stats import CONFIDENCE
from harness.show.labels import NOT_KNOWN

HELD_RATIO = 0.01
"""How far the rate at which requests were begun may be off."""
KEPT_UP_MS = 100.0
"""When half of the requests wait longer, they come faster than they are answered, and only the queue grows."""


@dataclass(frozen=True)
class LoadSample:
    """One rate (requests a second), once. `cpu` is the busy share of the server's core, `held` the rate at which
    requests were begun. Latencies are from when a request was due. `syn_data` and `packets` (both ways) are for each
    request.
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
    means: dict[str, Any] = {each.name: statistics.fmean(getattr(sample, each.name) for sample in group)
                             for each in fields(LoadSample) if each.name != "mode"}
    return replace(group[0], **means)


def half_width(values: Sequence[float]) -> float:
    """Return half of the 95% interval of the mean, by Student's t; NaN for a single value, which says nothing of it."""
    from scipy import stats  # half a second to import

    if len(values) < 2:
        return math.nan
    return float(stats.t.ppf((1 + CONFIDENCE) / 2, len(values) - 1) * stats.sem(values))


def percentile_ms(histogram: Sequence[Sequence[float]], share: float) -> float:
    """Return a percentile (`share` from 0 to 1) of a histogram of pairs (us, count); 0 for an empty one."""
    import numpy as np

    if not histogram:
        return 0.0
    latencies_us, counts = zip(*histogram, strict=True)
    return float(np.quantile(np.repeat(latencies_us, counts), share, method="inverted_cdf")) / 1000


STYLES = {"off": ("no TFO", "o", "#4477aa"), "on": ("TFO", "s", "#228833"),
          "refused": ("TFO, cookie refused", "^", "#cc3311")}
"""Each mode's name, marker and colour."""
HEADER = "requests/s\tmode\tcore busy (%)\t+-\tp50 (ms)\tp99 (ms)\tin the SYN (%)\tpackets"


def server_load_lines(points: Sequence[LoadPoint]) -> Iterator[str]:
    """Give the table, rate by rate, tab-separated."""
    yield HEADER
    for point in sorted(points, key=lambda point: point.mean.rate):
        mean, half_width = point.mean, NOT_KNOWN if math.isnan(point.half_width) else f"{100 * point.half_width:.1f}"
        yield (f"{mean.rate:g}\t{STYLES[mean.mode][0]}\t{100 * mean.cpu:.1f}\t{half_width}\t{mean.p50_ms:.2f}"
               f"\t{mean.p99_ms:.2f}\t{100 * mean.syn_data:.1f}\t{mean.packets:.2f}")


def draw_server_load(points: Sequence[LoadPoint], path: Path) -> None:
    """Draw one curve for each mode, and write the figure to `path`, whose suffix is its format."""
    from matplotlib.figure import Figure  # a second to import

    from harness.show.figures import save_figure

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.subplots()
    for mode, (label, marker, colour) in STYLES.items():
        curve = [point for point in points if point.mean.mode == mode]
        if curve:
            axes.errorbar([point.mean.rate for point in curve], [100 * point.mean.cpu for point in curve],
                          yerr=[100 * point.half_width for point in curve], label=label, marker=marker,
                          color=colour, capsize=3, markersize=5, linewidth=1.2)
    axes.set_xlabel("requests a second (HTTP/1.0, 5 kB)")
    axes.set_ylabel("server's core busy (%)")
    axes.set_ylim(0, 105)
    axes.set_xlim(left=0)
    axes.set_title("nginx: CPU utilisation against the rate of requests", fontsize=11)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    save_figure(figure, path)
