"""One figure per page and RTT: when each request started and ended, without TFO and with it."""

import textwrap
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from harness.analysis.selection import Cell, Selection
from harness.analysis.shown import ShownLoad, load_with_requests
from harness.errors import InputError
from harness.files.results import Results
from harness.files.text_log import Transaction
from harness.show.answers import doubtful_words
from harness.show.figure_files import FORMATS
from harness.show.inline_svg import BAR
from harness.show.labels import TFO_NAMES, synthetic_words
from harness.show.records import ANSWERS, ShownRequest, shown_requests
from harness.system.atomic import written_beside

FACES = ("#9ecae1", "#8c2d04")
"""Light blue behind, dark brown in front. They differ most in lightness (CIE L* 79 and 33), so they stay apart on a
black-and-white print and for any kind of colour blindness."""
EDGES = ("#2171b5", "#4d1a03")
LINES = ("--", "-")
PAINT_LINES = {"FCP": ":", "LCP": "-."}
BAR_HEIGHT = 0.84
DPI = 130
SAME_EACH_TIME = {"svg.hashsalt": "TFO Lab", "pdf.fonttype": 42}
"""Names inside an SVG come from this salt. A PDF holds TrueType fonts: many publishers refuse Type 3."""


T = TypeVar("T", Transaction, ShownRequest)
Pair = tuple[ShownRequest | None, ShownRequest | None]
"""The same request without and with TFO."""


def figure_path(outputdir: Path, name: str, rtt_ms: float, ending: str = "png") -> Path:
    """Return the path of the figure of a page at one RTT; `ending` is one of FORMATS.

    `name` is what harness.show.labels.figure_names calls the page.
    """
    return outputdir / f"timing-{name}-{rtt_ms:g}.{ending}"


@dataclass(frozen=True, eq=False)
class Compared:
    """The two loads that a figure shows, without and with TFO; their requests in pairs, in the order of the bars."""

    loads: tuple[ShownLoad | None, ShownLoad | None]
    pairs: list[Pair]

    def requests(self, tfo: int) -> list[tuple[int, ShownRequest]]:
        """Return the requests of one load, each with its place from 1 on."""
        return [(place, request) for place, pair in enumerate(self.pairs, start=1) if (request := pair[tfo])]


@lru_cache(maxsize=256)
def compare_loads(selection: Selection, page: str, rtt_ms: float) -> Compared | None:
    """Return the loads that stand for a page at one RTT; None when there is none, neither without TFO nor with it."""
    off, on = (load_with_requests(selection, Cell(page, rtt_ms, tfo)) for tfo in (0, 1))
    if off is None and on is None:
        return None
    return Compared((off, on), pair_requests(*(shown_requests(shown) if shown else [] for shown in (off, on))))


def draw_figure(results: Results, selection: Selection, page: str, rtt_ms: float) -> Figure | None:
    """Draw one page at one RTT; return None when there is no load of it, neither without TFO nor with it."""
    compared = compare_loads(selection, page, rtt_ms)
    if compared is None:
        return None
    count = len(compared.pairs)
    figure = Figure(figsize=(11, min(2.6 + 0.11 * count, 14) if count > 12 else 3.9), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for tfo, shown in enumerate(compared.loads):
        if shown:
            _draw_load(axes, shown, tfo, compared.requests(tfo))
    _draw_answers(axes, compared)
    _label_axes(axes, count)
    title = f"TFO Timing Breakdown: {results.urls[page]} at {selection.rtt_name(rtt_ms)} ms RTT"
    figure.suptitle(textwrap.fill(title, 98), fontsize=12, parse_math=False)
    _legend(axes)
    figure.supxlabel(_small_print(*compared.loads) + synthetic_words(results, [rtt_ms]), fontsize=7.5, color="#444444",
                     parse_math=False)
    return figure


def save_figure(figure: Figure, path: Path) -> None:
    """Write `figure` to `path`, in one step and in the format of its ending (one of FORMATS), making its folder.

    The same figure gives the same bytes, since there are no dates and no random names in it. Raises InputError when it
    cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with written_beside(path) as beside, rc_context(SAME_EACH_TIME):
            figure.savefig(beside, dpi=DPI, metadata=FORMATS[path.suffix[1:]])
    except OSError as error:
        raise InputError(f"{path}:1: cannot be written ({error.strerror}); choose another --outputdir") from None


def pair_requests(off: Sequence[T], on: Sequence[T]) -> list[tuple[T | None, T | None]]:
    """Pair the requests of the two loads, in the order of the figure's bars; None where one load has no such request.

    The order is the one in which the load without TFO started its requests, so that its bars step down and to the right
    as in a browser's own waterfall. Two requests are a pair if they are for the same URL: the second for a URL pairs
    with the second. Their order does not count, since the browser may send two requests the other way round. Those that
    only the load with TFO made come last, in order of their start.
    """
    waiting: dict[str, list[T]] = defaultdict(list)
    for request in sorted(on, key=_by_start):
        waiting[request.url].append(request)
    pairs: list[tuple[T | None, T | None]] = [
        (request, waiting[request.url].pop(0) if waiting[request.url] else None)
        for request in sorted(off, key=_by_start)]
    left = sorted((request for requests in waiting.values() for request in requests), key=_by_start)
    return pairs + [(None, request) for request in left]


def _by_start(request: T) -> tuple[float, float]:
    return request.start_ms, request.end_ms


def _draw_load(axes: Axes, shown: ShownLoad, tfo: int, bars: Sequence[tuple[int, ShownRequest]]) -> None:
    """Draw the bars and the load event of one load. Those with TFO are in front, at 3/4 of the height.

    Bars on the critical path have a thick edge. In report.html each names its row in the table of requests.
    """
    path = {step.entry for step in (shown.explanation.steps if shown.explanation else ()) if step.entry >= 0}
    drawn = axes.barh([place for place, _ in bars], [request.end_ms - request.start_ms for _, request in bars],
                      left=[request.start_ms for _, request in bars], height=BAR_HEIGHT * (1, 0.75)[tfo],
                      color=FACES[tfo], edgecolor=EDGES[tfo], linewidth=0.4, zorder=2 + tfo, label=TFO_NAMES[tfo])
    for bar, (place, request) in zip(drawn, bars, strict=True):
        bar.set_gid(f"{BAR}{place - 1}")
        if request.entry in path:
            bar.set(linewidth=1.3, edgecolor="black")
    ends = [("Load event", shown.load.plt_ms, 1.5)]
    if record := shown.load.record:
        ends += [("FCP", record.fcp_ms, 0.7), ("LCP", record.lcp_ms, 1.0)]
    for name, at_ms, width in ends:
        if at_ms:
            axes.axvline(at_ms, color=EDGES[tfo], linestyle=LINES[tfo] if name == "Load event" else PAINT_LINES[name],
                         linewidth=width, zorder=4, label=f"{name}, {TFO_NAMES[tfo]} ({at_ms / 1000:.3f} s)")


def _draw_answers(axes: Axes, compared: Compared) -> None:
    """Mark the bars of requests that were not answered by what was recorded for them."""
    for (kind, words), marker in zip(ANSWERS.items(), ("D", "x", "o"), strict=True):
        found = [(request.start_ms, place) for tfo in (0, 1) for place, request in compared.requests(tfo)
                 if request.answer == kind]
        if found:
            starts, places = zip(*found, strict=True)
            axes.scatter(starts, places, s=14, marker=marker, facecolors="none" if marker != "x" else None,
                         c=None if marker != "x" else "black", edgecolors="black" if marker != "x" else None,
                         linewidths=0.9, zorder=5, label=words)


def _label_axes(axes: Axes, requests: int) -> None:
    axes.set_ylim(requests + 0.6, 0.4)      # request 1 on top, time to the right: a waterfall
    axes.set_xlim(left=0)
    axes.set_ylabel("Request index")
    axes.set_xlabel("Time since the start of the load (ms)")
    step = 1 if requests <= 12 else 5 if requests <= 60 else 10
    axes.set_yticks(sorted({1, *range(step, requests + 1, step)}))
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _legend(axes: Axes) -> None:
    """Draw the legend between title and bars, where it hides no bar and takes no width from them; off is left of on."""
    handles, labels = axes.get_legend_handles_labels()
    kinds = ("TFO", "Load event", "FCP", "LCP", *ANSWERS.values())
    order = sorted(range(len(labels)), key=lambda at: next(
        place for place, kind in enumerate(kinds) if labels[at].startswith(kind)))
    axes.legend([handles[at] for at in order], [labels[at] for at in order], loc="lower center",
                bbox_to_anchor=(0.5, 1.0), ncols=min(len(order), 4), fontsize=9, frameon=False)


def _small_print(off: ShownLoad | None, on: ShownLoad | None) -> str:
    shown_loads = list(zip(TFO_NAMES, (off, on), strict=True))
    loads = [f"{name}: {shown.which}, {len(shown.requests)} requests." if shown else f"{name}: no load to draw."
             for name, shown in shown_loads]
    doubtful = [f"\n{name}:{doubtful_words(shown.doubtful)}" for name, shown in shown_loads if shown and shown.doubtful]
    index = "Index: order of start without TFO. Both bars of an index are the same URL; a lone bar is what the other " \
        "load did not request, or not get to its end." if off and on else "Index: order of start."
    return " ".join(loads) + "".join(doubtful) + f"\n{index}"
