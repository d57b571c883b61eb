"""One figure per page: where the time until the load event goes, without TFO and with it, at every RTT."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from harness.analysis.explanation import Explanation
from harness.analysis.selection import Cell, Selection
from harness.analysis.shown import ShownLoad, shown_load
from harness.files.results import Results
from harness.show.answers import doubtful_words
from harness.show.inline_svg import BAR
from harness.show.labels import TFO_NAMES, span, synthetic_words

BAR_HEIGHT = 0.8


@dataclass(frozen=True)
class Style:
    """How one kind of time is drawn. Kinds differ in lightness and hatching, too, for whom colours look alike."""

    label: str
    face: str
    hatch: str = ""


STYLES = {
    "dns": Style("DNS", "#333333"),
    "connect": Style("connect (TCP handshake)", "#d55e00", "////"),
    "tls": Style("TLS handshake", "#f0e442", "xxxx"),
    "wait": Style("wait for the answer", "#9ecae1"),
    "receive": Style("receive", "#08519c"),
    "queue": Style("queue for a connection", "#cc79a7", "\\\\\\\\"),
    "cpu": Style("CPU and timers", "#e5e5e5"),
}
"""From Okabe and Ito's palette for any colour vision (https://jfly.uni-koeln.de/color/) and ColorBrewer's Blues."""


@dataclass(frozen=True)
class Bar:
    """The load that is shown for a cell, explained."""

    rtt_ms: float
    tfo: int
    shown: ShownLoad
    explanation: Explanation
    rtt_name: str

    @property
    def title(self) -> str:
        """RTT and TFO, as they are written at the axis."""
        return f"{self.rtt_name} ms, {TFO_NAMES[self.tfo]}"


def breakdown_path(outputdir: Path, name: str) -> Path:
    """Return the path of a page's breakdown; `name` is what harness.show.labels.figure_names calls the page."""
    return outputdir / f"breakdown-{name}.png"


def draw_breakdown(results: Results, selection: Selection, page: str) -> Figure | None:
    """Draw a page's breakdown; None when no load of it can be explained (logs of 2013)."""
    bars = explained_loads(results, selection, page)
    if not bars:
        return None
    figure = Figure(figsize=(11, 2.6 + 0.46 * len(bars)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    rtts_ms = sorted({bar.rtt_ms for bar in bars})
    places = [2.4 * rtts_ms.index(bar.rtt_ms) + bar.tfo for bar in bars]
    _stack(axes, bars, places)
    _label_axes(axes, bars, places)
    figure.suptitle(textwrap.fill(f"Where the Time Goes: {results.urls[page]}", 98), fontsize=12, parse_math=False)
    figure.supxlabel(_small_print(bars, synthetic_words(results, rtts_ms)), fontsize=7.5, color="#444444",
                     parse_math=False)
    return figure


def explained_loads(results: Results, selection: Selection, page: str) -> list[Bar]:
    """Return a page's bars in order of RTT, TFO off before on; a cell whose load cannot be explained has none."""
    return [Bar(rtt_ms, tfo, shown, shown.explanation, selection.rtt_name(rtt_ms))
            for rtt_ms in results.rtts_ms for tfo in (0, 1)
            if (shown := shown_load(selection, Cell(page, rtt_ms, tfo))) and shown.explanation]


def _stack(axes: Axes, bars: list[Bar], ys: list[float]) -> None:
    lefts = [0.0] * len(bars)
    for kind, style in STYLES.items():
        widths = [bar.explanation.breakdown_ms[kind] for bar in bars]
        if kind == "queue" and not any(widths):
            continue
        drawn = axes.barh(ys, widths, left=lefts, height=BAR_HEIGHT, color=style.face, hatch=style.hatch,
                          edgecolor="#222222", linewidth=0.4, label=style.label, zorder=2)
        for row, patch in enumerate(drawn):
            patch.set_gid(f"{BAR}0-{row}")
        lefts = [left + width for left, width in zip(lefts, widths, strict=True)]
    for bar, y, end in zip(bars, ys, lefts, strict=True):
        count = bar.explanation.handshakes
        axes.text(end, y, f"  {end / 1000:.3f} s, {count} handshake{'' if count == 1 else 's'}", va="center",
                  fontsize=9)


def _label_axes(axes: Axes, bars: list[Bar], places: list[float]) -> None:
    axes.invert_yaxis()
    axes.set_yticks(places, [bar.title for bar in bars])
    axes.set_ylabel("RTT")
    axes.set_xlim(0, 1.22 * max(sum(bar.explanation.breakdown_ms.values()) for bar in bars))
    axes.set_xlabel("Time on the critical path, from the start of the load to the load event (ms)")
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4, fontsize=9, frameon=False)


def which_loads(bars: Sequence[Bar]) -> str:
    """Say in a sentence which loads the bars show; n is among how many each was chosen."""
    counts = [bar.shown.among for bar in bars]
    lower = " (of an even number the lower middle one)" if any(count % 2 == 0 for count in counts) else ""
    readable = " whose files can be read" if any(bar.shown.among < bar.shown.loads for bar in bars) else ""
    if max(counts) == 1:
        return f"Each bar: one load{', the only one' if readable else ''}{readable}."
    return f"Each bar: the load of the median PLT{lower}, of {span(min(counts), max(counts))} loads{readable}."


def _small_print(bars: Sequence[Bar], synthetic: str) -> str:
    """Return what stands under the figure, in lines that are no longer than it is wide."""
    return "\n".join([
        which_loads(bars) + synthetic,
        "What was not on the critical path is not in it; which request waited for which is inferred "
        "(docs/prediction.md).",
        *(f"{bar.title}:{doubtful_words(bar.shown.doubtful)}" for bar in bars if bar.shown.doubtful)])
