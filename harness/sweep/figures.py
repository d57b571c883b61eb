"""The two figures of a sweep: how the improvement is distributed over sites, and how it compares with theory."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from harness.show.figures import STYLES
from harness.sweep.over_sites import Distribution, Estimate
from harness.sweep.site_rows import SiteRow

SIZE = (8.0, 5.2)


def draw_ecdf(found: dict[float, Distribution], title: str) -> Figure:
    """Draw the share of sites whose improvement is at most x, for each RTT (ms), with its 95% band."""
    figure, axes = _axes(title)
    for (rtt_ms, curve), (colour, _, line) in zip(sorted(found.items()), _styles(len(found)), strict=True):
        x = np.concatenate([curve.x[:1], curve.x])
        axes.step(x, np.concatenate([[0.0], curve.share]), where="post", color=colour, linestyle=line,
                  label=f"RTT {rtt_ms:g} ms, {curve.sites} sites")
        if curve.low.size:
            axes.fill_between(curve.x, curve.low, curve.high, step="post", color=colour, alpha=0.15, linewidth=0)
    axes.axvline(0, color="#666666", linewidth=0.8)
    axes.set_xlabel("Improvement of page load time with TFO (%)")
    axes.set_ylabel("Share of sites with at most that")
    axes.set_ylim(0, 1.02)
    axes.legend(loc="lower right", fontsize=9)
    return figure


def draw_theory(rows: Sequence[SiteRow], slopes: dict[float, Estimate], title: str) -> Figure:
    """Draw each site's improvement against handshakes x RTT / PLT, which is what theory says, with theory's line."""
    figure, axes = _axes(title)
    most = 1.0
    for (rtt_ms, slope), (colour, marker, _) in zip(sorted(slopes.items()), _styles(len(slopes)), strict=True):
        points = [at for row in rows if (at := row.at_rtt(rtt_ms)) and at.theory_percent is not None]
        x, y = [at.theory_percent or 0.0 for at in points], [at.percent for at in points]
        below = [max(0.0, at.percent - at.low_percent) if at.low_percent is not None else 0.0 for at in points]
        above = [max(0.0, at.high_percent - at.percent) if at.high_percent is not None else 0.0 for at in points]
        axes.errorbar(x, y, yerr=[below, above], fmt=marker, color=colour, markersize=4.5, elinewidth=0.6, alpha=0.8,
                      label=f"RTT {rtt_ms:g} ms, slope {slope.value:.2f}{_interval(slope)}")
        most = max([most, *x, *y])
    axes.plot([0, most], [0, most], color="#000000", linewidth=1, label="theory: slope 1")
    axes.axhline(0, color="#666666", linewidth=0.8)
    axes.set_xlabel("Handshakes on the critical path that TFO can save x RTT / PLT (%)")
    axes.set_ylabel("Improvement of page load time with TFO (%)")
    axes.legend(loc="upper left", fontsize=9)
    return figure


def _interval(estimate: Estimate) -> str:
    return "" if estimate.low is None else f" ({estimate.low:.2f} to {estimate.high:.2f})"


def _styles(count: int) -> Sequence[tuple[str, str, str]]:
    return [STYLES[number % len(STYLES)] for number in range(count)]


def _axes(title: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=SIZE, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set_title(title, fontsize=11)
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes
