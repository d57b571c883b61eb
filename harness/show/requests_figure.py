"""One figure per page and RTT: when each request started and ended, without TFO and with it."""

import textwrap
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

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
from harness.show.labels import TFO_NAMES, synthetic_words
from harness.system.atomic import written_beside

FACES = ("#9ecae1", "#8c2d04")
"""Light blue behind, dark brown in front. They differ most in lightness (CIE L* 79 and 33), so they stay apart on a
black-and-white print and for any kind of colour blindness."""
EDGES = ("#2171b5", "#4d1a03")
LINES = ("--", "-")
BAR_HEIGHT = 0.84
DPI = 130
SAME_EACH_TIME = {"svg.hashsalt": "TFO Lab", "pdf.fonttype": 42}
"""Names inside an SVG come from this salt. A PDF holds TrueType fonts: many publishers refuse Type 3."""


def figure_path(outputdir: Path, name: str, rtt_ms: float, ending: str = "png") -> Path:
    """Return the path of the figure of a page at one RTT; `ending` is one of FORMATS.

    `name` is what harness.show.labels.figure_names calls the page.
    """
    return outputdir / f"timing-{name}-{rtt_ms:g}.{ending}"


def draw_figure(results: Results, selection: Selection, page: str, rtt_ms: float) -> Figure | None:
    """Draw one page at one RTT; return None when there is no load of it, neither without TFO nor with it."""
    off, on = (load_with_requests(selection, Cell(page, rtt_ms, tfo)) for tfo in (0, 1))
    if off is None and on is None:
        return None
    pairs = pair_requests(off.requests if off else [], on.requests if on else [])
    figure = Figure(figsize=(11, min(2.6 + 0.11 * len(pairs), 14) if len(pairs) > 12 else 3.9), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for tfo, shown in enumerate((off, on)):
        if shown:
            _draw_load(axes, shown, tfo, [pair[tfo] for pair in pairs])
    _label_axes(axes, len(pairs))
    title = f"TFO Timing Breakdown: {results.urls[page]} at {selection.rtt_name(rtt_ms)} ms RTT"
    figure.suptitle(textwrap.fill(title, 98), fontsize=12, parse_math=False)
    _legend(axes)
    figure.supxlabel(_small_print(off, on) + synthetic_words(results, [rtt_ms]), fontsize=7.5, color="#444444",
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


def pair_requests(off: Sequence[Transaction], on: Sequence[Transaction],
                  ) -> list[tuple[Transaction | None, Transaction | None]]:
    """Pair the requests of the two loads, in the order of the figure's bars; None where one load has no such request.

    The order is the one in which the load without TFO started its requests, so that its bars step down and to the right
    as in a browser's own waterfall. Two requests are a pair if they are for the same URL: the second for a URL pairs
    with the second. Their order does not count, since the browser may send two requests the other way round. Those that
    only the load with TFO made come last, in order of their start.
    """
    waiting: dict[str, list[Transaction]] = defaultdict(list)
    for request in sorted(on, key=_by_start):
        waiting[request.url].append(request)
    pairs: list[tuple[Transaction | None, Transaction | None]] = [
        (request, waiting[request.url].pop(0) if waiting[request.url] else None)
        for request in sorted(off, key=_by_start)]
    left = sorted((request for requests in waiting.values() for request in requests), key=_by_start)
    return pairs + [(None, request) for request in left]


def _by_start(request: Transaction) -> tuple[float, float]:
    return request.start_ms, request.end_ms


def _draw_load(axes: Axes, shown: ShownLoad, tfo: int, requests: Sequence[Transaction | None]) -> None:
    """Draw the bars and the load event of one load. Those with TFO are in front, at 3/4 of the height."""
    bars = [(index, request) for index, request in enumerate(requests, start=1) if request]
    axes.barh([index for index, _ in bars], [request.end_ms - request.start_ms for _, request in bars],
              left=[request.start_ms for _, request in bars], height=BAR_HEIGHT * (0.75 if tfo else 1),
              color=FACES[tfo], edgecolor=EDGES[tfo], linewidth=0.4, zorder=2 + tfo, label=TFO_NAMES[tfo])
    if shown.load.plt_ms:
        axes.axvline(shown.load.plt_ms, color=EDGES[tfo], linestyle=LINES[tfo], linewidth=1.5, zorder=4,
                     label=f"Load event, {TFO_NAMES[tfo]} ({shown.load.plt_ms / 1000:.3f} s)")


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
    order = sorted(range(len(labels)), key=lambda at: (labels[at].startswith("Load event"), TFO_NAMES[1] in labels[at]))
    axes.legend([handles[at] for at in order], [labels[at] for at in order], loc="lower center",
                bbox_to_anchor=(0.5, 1.0), ncols=len(order), fontsize=9, frameon=False)


def _small_print(off: ShownLoad | None, on: ShownLoad | None) -> str:
    shown_loads = list(zip(TFO_NAMES, (off, on), strict=True))
    loads = [f"{name}: {shown.which}, {len(shown.requests)} requests." if shown else f"{name}: no load to draw."
             for name, shown in shown_loads]
    doubtful = [f"\n{name}:{doubtful_words(shown.doubtful)}" for name, shown in shown_loads if shown and shown.doubtful]
    index = "Index: order of start without TFO. Both bars of an index are the same URL; a lone bar is what the other " \
        "load did not request, or not get to its end." if off and on else "Index: order of start."
    return " ".join(loads) + "".join(doubtful) + f"\n{index}"
