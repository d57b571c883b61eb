"""The two figures of a sweep: how the improvement is distributed over sites, and how it compares with theory."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from harness.show.figures import STYLES
from harness.sweep.over_sites import distribution, theory_slope
from harness.sweep.site_rows import AtRtt

SIZE = (8.0, 5.2)
ByRtt = Mapping[float, Sequence[AtRtt]]
"""All sites that were measured at each RTT (ms)."""


def draw_ecdf(sites: ByRtt, title: str) -> Figure:
    """Draw the share of sites whose improvement is at most x, for each RTT, with its 95% band."""
    figure, axes = _axes(title, "Improvement of page load time with TFO (%)", "Share of sites with at most that")
    for number, (rtt_ms, found) in enumerate(sites.items()):
        (colour, _, line), curve = STYLES[number % len(STYLES)], distribution(found)
        x = np.concatenate([curve.x[:1], curve.x])
        axes.step(x, np.concatenate([[0.0], curve.share]), where="post", color=colour, linestyle=line,
                  label=f"RTT {rtt_ms:g} ms, {curve.sites} sites")
        if curve.low.size:
            axes.fill_between(curve.x, curve.low, curve.high, step="post", color=colour, alpha=0.15, linewidth=0)
    axes.axvline(0, color="#666666", linewidth=0.8)
    axes.set_ylim(0, 1.02)
    axes.legend(loc="lower right", fontsize=9)
    return figure


def draw_theory(sites: ByRtt, title: str) -> Figure:
    """Draw each site's improvement against handshakes x RTT / PLT, which is what theory says, with theory's line."""
    figure, axes = _axes(title, "Handshakes on the critical path that TFO can save x RTT / PLT (%)",
                         "Improvement of page load time with TFO (%)")
    most = 1.0
    for number, (rtt_ms, found) in enumerate(sites.items()):
        (colour, marker, _), slope = STYLES[number % len(STYLES)], theory_slope(found)
        points = [(at.theory_percent, at) for at in found if at.theory_percent is not None]
        x, y = [theory for theory, _ in points], [at.percent for _, at in points]
        errors = np.clip(np.array([at.errors_percent for _, at in points]).reshape(-1, 2), 0, None)
        words = "" if slope is None else f", slope {slope.value:.2f}" + (
            f" ({slope.low:.2f} to {slope.high:.2f})" if slope.low is not None else "")
        axes.errorbar(x, y, yerr=errors.T, fmt=marker, color=colour, markersize=4.5, elinewidth=0.6, alpha=0.8,
                      label=f"RTT {rtt_ms:g} ms{words}")
        most = max([most, *x, *y])
    axes.plot([0, most], [0, most], color="#000000", linewidth=1, label="theory: slope 1")
    axes.axhline(0, color="#666666", linewidth=0.8)
    axes.legend(loc="upper left", fontsize=9)
    return figure


def _axes(title: str, x: str, y: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=SIZE, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set(title=title, xlabel=x, ylabel=y, axisbelow=True)
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes
