"""A server's CPU utilisation against the rate of requests: a table, and a figure like the paper's Figure 6."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from experiments.load_points import LoadPoint
from harness.show.labels import NOT_KNOWN

STYLES = {"off": ("no TFO", "o", "#4477aa"), "on": ("TFO", "s", "#228833"),
          "refused": ("TFO, cookie refused", "^", "#cc3311")}
"""Each mode's name, marker and colour."""
HEADER = "requests/s\tmode\tcore busy (%)\t+-\tp50 (ms)\tp99 (ms)\tin the SYN (%)\tpackets\twake-ups"


def server_load_lines(points: Sequence[LoadPoint]) -> Iterator[str]:
    """Give the table, rate by rate, tab-separated."""
    yield HEADER
    for point in sorted(points, key=lambda point: point.mean.rate):
        mean, half_width = point.mean, NOT_KNOWN if math.isnan(point.half_width) else f"{100 * point.half_width:.1f}"
        yield (f"{mean.rate:g}\t{STYLES[mean.mode][0]}\t{100 * mean.cpu:.1f}\t{half_width}\t{mean.p50_ms:.2f}"
               f"\t{mean.p99_ms:.2f}\t{100 * mean.syn_data:.1f}\t{mean.packets:.2f}\t{mean.wake_ups:.2f}")


def draw_server_load(points: Sequence[LoadPoint], server: str, path: Path) -> None:
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
    axes.set_title(f"{server}: CPU utilisation against the rate of requests", fontsize=11)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    save_figure(figure, path)
