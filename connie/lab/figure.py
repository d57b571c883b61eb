"""One figure per profile: how many connects were done after how long, by strategy, without and with faults."""

import math
import textwrap
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from connie.lab.profiles import Profile
from connie.lab.results import ORDER, Results
from connie.lab.scenarios import FAULTS

STYLES = {"connie_connect": ("#d55e00", "-", 2.4), "cached_dns_connect": ("#e69f00", "--", 1.6),
          "create_connection": ("#000000", "-", 1.4), "asyncio": ("#0072b2", "-", 1.4),
          "aiohappyeyeballs": ("#56b4e9", "-.", 1.8), "curl": ("#009e73", ":", 2.0)}
"""Colour, line and width. Okabe and Ito's colours for any colour vision; lines differ, too."""

SHOWN = ("none", "dead", "dead-fastest", "refuse", "dead-v6", "recovering")
COLUMNS = 2


def draw(profile: Profile, results: Results) -> Figure:
    """Draw a panel for each fault that was measured and is of SHOWN."""
    measured = {fault for fault, _ in results.cells}
    faults = [fault for fault in SHOWN if fault in measured]
    rows = math.ceil(len(faults) / COLUMNS)
    figure = Figure(figsize=(11, 1.2 + 3.2 * rows), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(rows, COLUMNS, squeeze=False, sharex=True, sharey=True)
    for axes in panels.flat[len(faults):]:
        axes.set_axis_off()
    for axes, fault in zip(panels.flat, faults, strict=False):
        _draw_panel(axes, fault, results)
    figure.suptitle(f"Connect times: {profile.title}", fontsize=13)
    handles, labels = panels.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return figure


def _draw_panel(axes: Axes, fault: str, results: Results) -> None:
    """Draw the curves of all strategies with one fault."""
    for strategy in ORDER:
        times_ms = results.connect_ms(fault, strategy)
        if times_ms:
            colour, line, width = STYLES[strategy]
            axes.step(*steps(times_ms), where="post", color=colour, linestyle=line, linewidth=width, label=strategy)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis="x", labelbottom=True)
    axes.set_ylim(0, 1.02)
    axes.set_title(textwrap.fill(f"{fault}: {FAULTS[fault][0]}", 70), fontsize=9.5)
    axes.set_xlabel("connect time (ms), name lookup included")
    axes.set_ylabel("share of connects done")
    axes.grid(visible=True, which="major", linewidth=0.4, alpha=0.5)


def steps(times_ms: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return the ECDF's corners. Failed connects (infinite) are part of all: then the curve ends below 1."""
    done = sorted(time_ms for time_ms in times_ms if math.isfinite(time_ms))
    return done, [(index + 1) / len(times_ms) for index in range(len(done))]
