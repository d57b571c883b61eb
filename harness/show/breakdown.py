"""Where the time until a page's load event goes, without TFO and with it, at every RTT: a figure, and its tables."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.analysis.explanation import Explanation
from harness.analysis.row import Row
from harness.analysis.shown import ShownLoad, shown_load
from harness.errors import many
from harness.show.figures import BAR, framed, grid, legend_above
from harness.show.labels import doubtful_words, synthetic_words
from harness.show.section import Section, Table, chart_of, plain_table

UNEXPLAINED = "No load of this page can be explained: that takes one that counts, has a load event, and a HAR and a " \
              "record beside its log (logs of 2013 have neither)."
WHICH_LOADS = "Each bar: the load of the median PLT (of an even number the lower one)."
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


Bar = tuple[ShownLoad, Explanation]
"""The load that is shown for a cell, explained."""


def explained_loads(rows: Sequence[Row]) -> list[Bar]:
    """Return a page's bars in order of RTT, TFO off before on; a cell whose load cannot be explained has none."""
    return [(shown, shown.explanation) for row in rows for cell in row.cells
            if (shown := shown_load(cell)) and shown.explanation]


def _doubts(bars: Sequence[Bar]) -> list[str]:
    """Say of each bar what on its critical path was not recorded."""
    return [f"{shown.cell.title}:{doubtful_words(shown.doubtful)}" for shown, _ in bars if shown.doubtful]


def draw_breakdown(rows: Sequence[Row]) -> Figure | None:
    """Draw the breakdown of a page's `rows`; None when no load of it can be explained (logs of 2013)."""
    bars = explained_loads(rows)
    return _draw(rows, bars) if bars else None


def _draw(rows: Sequence[Row], bars: Sequence[Bar]) -> Figure:
    rtts_ms = sorted({shown.cell.rtt_ms for shown, _ in bars})
    figure, [axes] = framed(
        (11, 2.6 + 0.46 * len(bars)), f"Where the Time Goes: {rows[0].url}", "\n".join([
            WHICH_LOADS + synthetic_words(rows[0].results, rtts_ms),
            "What was not on the critical path is not in it; which request waited for which is inferred "
            "(docs/prediction.md).", *_doubts(bars)]))
    places = [2.4 * rtts_ms.index(shown.cell.rtt_ms) + shown.cell.transport for shown, _ in bars]
    _stack(axes, bars, places)
    axes.invert_yaxis()
    axes.set_yticks(places, [shown.cell.title for shown, _ in bars])
    axes.set_ylabel("RTT")
    axes.set_xlim(0, 1.22 * max(why.plt_ms for _, why in bars))
    axes.set_xlabel("Time on the critical path, from the start of the load to the load event (ms)")
    grid(axes, "x")
    legend_above(axes, 4)
    return figure


def _stack(axes: Axes, bars: Sequence[Bar], ys: list[float]) -> None:
    lefts = [0.0] * len(bars)
    for kind, style in STYLES.items():
        widths = [why.ms(kind) for _, why in bars]
        if kind == "queue" and not any(widths):
            continue
        drawn = axes.barh(ys, widths, left=lefts, height=BAR_HEIGHT, color=style.face, hatch=style.hatch,
                          edgecolor="#222222", linewidth=0.4, label=style.label, zorder=2, clip_on=False)
        for row, patch in enumerate(drawn):
            patch.set_gid(f"{BAR}0-{row}")
        lefts = [left + width for left, width in zip(lefts, widths, strict=True)]
    for (_, why), y, end in zip(bars, ys, lefts, strict=True):
        handshakes = many(why.handshakes, "handshake")
        axes.text(end, y, f"  {end / 1000:.3f} s, {handshakes}", va="center", fontsize=9)


def breakdown_section(rows: Sequence[Row], key: str) -> Section:
    """Return what each kind of step took on the critical path of the page's drawn loads."""
    bars, title, url = explained_loads(rows), "Where the time goes", rows[0].url
    if not bars:
        return Section(title, [UNEXPLAINED])
    kinds = [kind for kind in STYLES if any(why.ms(kind) for _, why in bars)]
    times = plain_table(
        f"Time on the critical path of {url} (ms)",
        ["RTT and TFO", "Run", "Load event", "TCP handshakes", *(STYLES[kind].label for kind in kinds)],
        [[shown.cell.title, str(shown.load.run), f"{why.plt_ms:.0f}", str(why.handshakes),
          *(f"{why.ms(kind):.0f}" for kind in kinds)] for shown, why in bars])
    steps = Table(f"The critical path of {url}, step by step", ["Step", "Start (ms)", "End (ms)", "Took (ms)", "URL"], [
        (shown.cell.title, [[step.kind, f"{step.start_ms:.0f}", f"{step.end_ms:.0f}", f"{step.length_ms:.0f}", step.url]
                            for step in why.steps]) for shown, why in bars],
        fold="The critical path, step by step", style="words")
    words = ["The critical path is the chain of waits that ends with the load event: shorten any of them and PLT gets "
             "shorter, until another chain is the longest. What ran beside it is not in it; which request waited for "
             f"which is inferred. {WHICH_LOADS}", *_doubts(bars)]
    label = "Stacked bars: time on the critical path by kind; the table has the numbers."
    return Section(title, words, [chart_of(_draw(rows, bars), key, label, times), steps])
