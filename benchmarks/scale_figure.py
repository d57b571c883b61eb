"""The figure of benchmarks/scale.py: time, memory and RTT error against the number of servers."""

from collections.abc import Mapping
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from harness.system.atomic import written_beside

LINES = {
    "star up": ("#08519c", "o"), "delayed": ("#6baed6", "s"), "servers up": ("#d55e00", "^"),
    "servers gone": ("#e69f00", "v"), "star gone": ("#333333", "D"),
    "servers' memory": ("#d55e00", "^"), "star memory": ("#08519c", "o"),
    "p50": ("#08519c", "o"), "p99": ("#d55e00", "^"), "largest": ("#333333", "D"),
}
"""Colours by Okabe and Ito and from ColorBrewer's Blues, for any colour vision; markers tell them apart in print."""

By = Mapping[int, Mapping[str, float]]
"""Values of several names by the number of servers."""


def draw(medians: By, rtt_errors_ms: By, path: Path) -> None:
    """Draw times (s), memory (MB) and RTT errors (ms) by the number of servers, and save the figure."""
    figure = Figure(figsize=(11, 3.8), layout="constrained")
    FigureCanvasAgg(figure)
    times, memory, errors = figure.subplots(1, 3)
    _lines(times, medians, ("star up", "delayed", "servers up", "servers gone", "star gone"), linear=True)
    _lines(memory, medians, ("servers' memory", "star memory"), linear=True)
    _lines(errors, rtt_errors_ms, ("largest", "p99", "p50"), linear=False)
    for axes, title, unit in ((times, "Time", "s"), (memory, "Memory", "MB"), (errors, "RTT error", "ms")):
        axes.set(title=title, xlabel="servers", ylabel=unit, xlim=(0, None), ylim=(0, None))
        axes.grid(alpha=0.3)
        axes.legend(frameon=False, fontsize=8)
    with written_beside(path) as beside:
        figure.savefig(beside, dpi=110, format=path.suffix.lstrip("."))


def _lines(axes: Axes, values: By, names: tuple[str, ...], *, linear: bool) -> None:
    smallest, largest = min(values), max(values)
    for name in names:
        colour, marker = LINES[name]
        axes.plot(list(values), [of[name] for of in values.values()], color=colour, marker=marker, markersize=4,
                  label=name)
        if linear:
            ends = [values[smallest][name], values[smallest][name] * largest / smallest]
            axes.plot([smallest, largest], ends, color=colour, linestyle=":", linewidth=1)
