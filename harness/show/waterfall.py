"""When each request of a page at one RTT started and ended, without TFO and with it: a figure, and its numbers."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from harness.analysis.row import TFO_NAMES, Row, plt_ms
from harness.analysis.shown import ANSWERS, PHASES, ShownLoad, ShownRequest, shown_load
from harness.show.figures import BAR, framed, grid, legend_above
from harness.show.labels import NOT_KNOWN, doubtful_words, seconds, synthetic_words
from harness.show.section import Section, Table, chart_of

FACES = ("#9ecae1", "#8c2d04")
"""Light blue behind, dark brown in front. They differ most in lightness (CIE L* 79 and 33), so they stay apart on a
black-and-white print and for any kind of colour blindness."""
EDGES = ("#2171b5", "#4d1a03")
MOMENTS = {"load event": (("--", "-"), 1.5), "FCP": ((":", ":"), 0.7), "LCP": (("-.", "-."), 1.0)}
"""How the lines at the load event and at paints are drawn without TFO and with it, and how wide."""
BAR_HEIGHT = 0.84
MOST_TICKS = 20
OF_BOTH = "Index: order of start without TFO. Both bars of an index are the same URL; a lone bar is what the other " \
          "load did not request, or not get to its end."
OF_ONE = "Index: order of start."

Pair = tuple[ShownRequest | None, ShownRequest | None]
"""The same request without and with TFO."""


@dataclass(frozen=True)
class Compared:
    """The two loads that a figure shows, without and with TFO; their requests in pairs, in the order of the bars."""

    row: Row
    loads: tuple[ShownLoad | None, ShownLoad | None]
    pairs: list[Pair]

    def requests(self, tfo: int) -> list[tuple[int, ShownRequest]]:
        """Return the requests of one load, each with its place from 1 on."""
        return [(place, request) for place, pair in enumerate(self.pairs, start=1) if (request := pair[tfo])]


def compare_loads(row: Row) -> Compared | None:
    """Return the loads that stand for a row; None when there is none, neither without TFO nor with it."""
    off, on = (shown_load(cell) for cell in row.cells)
    if not off and not on:
        return None
    return Compared(row, (off, on), pair_requests(*(shown.requests if shown else () for shown in (off, on))))


def draw_requests(row: Row) -> Figure | None:
    """Draw one page at one RTT; return None when there is no load of it, neither without TFO nor with it."""
    compared = compare_loads(row)
    return _draw(compared) if compared else None


def _draw(compared: Compared) -> Figure:
    row, bars = compared.row, len(compared.pairs)
    figure, [axes] = framed((11, min(2.6 + 0.11 * bars, 14) if bars > 12 else 3.9),
                            f"TFO Timing Breakdown: {row.url} at {row.rtt_name} ms RTT",
                            "\n".join([*_words(compared), OF_BOTH if all(compared.loads) else OF_ONE])
                            + synthetic_words(row.results, [row.rtt_ms]))
    for tfo, shown in enumerate(compared.loads):
        if shown:
            _draw_load(axes, shown, tfo, compared.requests(tfo))
    _draw_answers(axes, compared)
    axes.set_ylim(bars + 0.6, 0.4)         # request 1 on top, time to the right: a waterfall
    axes.set_xlim(left=0)
    axes.set_ylabel("Request index")
    axes.set_xlabel("Time since the start of the load (ms)")
    axes.yaxis.set_major_locator(MaxNLocator(MOST_TICKS, integer=True, steps=[1, 2, 5, 10]))
    grid(axes, "x")
    legend_above(axes, 4)
    return figure


def pair_requests(off: Sequence[ShownRequest], on: Sequence[ShownRequest]) -> list[Pair]:
    """Pair the requests of the two loads, in the order of the figure's bars; None where one load has no such request.

    The order is the one in which the load without TFO started its requests, so that its bars step down and to the right
    as in a browser's own waterfall. Two requests are a pair if they are for the same URL: the second for a URL pairs
    with the second. Their order does not count, since the browser may send two requests the other way round. Those that
    only the load with TFO made come last. Both are in order of their start.
    """
    first, second = map(_numbered, (off, on))
    return [(first.get(key), second.get(key)) for key in {**first, **second}]


def _numbered(requests: Sequence[ShownRequest]) -> dict[tuple[str, int], ShownRequest]:
    """Return requests by URL and how many there were for it before."""
    before: defaultdict[str, Iterator[int]] = defaultdict(count)
    return {(request.url, next(before[request.url])): request for request in requests}


def _draw_load(axes: Axes, shown: ShownLoad, tfo: int, bars: Sequence[tuple[int, ShownRequest]]) -> None:
    """Draw the bars and the load event of one load. Those with TFO are in front, at 3/4 of the height.

    Bars on the critical path have a thick edge. In report.html each names its row in the table of requests.
    """
    path = {step.entry for step in (shown.explanation.steps if shown.explanation else ()) if step.entry >= 0}
    drawn = axes.barh([place for place, _ in bars], [request.end_ms - request.start_ms for _, request in bars],
                      left=[request.start_ms for _, request in bars], height=BAR_HEIGHT * (1, 0.75)[tfo],
                      color=FACES[tfo], edgecolor=EDGES[tfo], linewidth=0.4, zorder=2 + tfo, label=TFO_NAMES[tfo],
                      clip_on=False)
    for bar, (place, request) in zip(drawn, bars, strict=True):
        bar.set_gid(f"{BAR}{place - 1}")
        if request.entry in path:
            bar.set(linewidth=1.3, edgecolor="black")
    for what, at_ms in _moments(shown):
        lines, width = MOMENTS[what]
        axes.axvline(at_ms, color=EDGES[tfo], linestyle=lines[tfo], linewidth=width, zorder=4,
                     label=f"{what}, {TFO_NAMES[tfo]} ({seconds(at_ms)} s)")


def _moments(shown: ShownLoad) -> list[tuple[str, float]]:
    """Return which of MOMENTS there were in a load, and when, in ms."""
    times_ms = (plt_ms(shown.load, metric) for metric in ("load", "fcp", "lcp"))
    return [(what, at_ms) for what, at_ms in zip(MOMENTS, times_ms, strict=True) if at_ms]


def _draw_answers(axes: Axes, compared: Compared) -> None:
    """Mark the bars of requests that were not answered by what was recorded for them."""
    for (kind, words), marker in zip(ANSWERS.items(), ("D", "x", "o"), strict=True):
        found = [(request.start_ms, place) for tfo in (0, 1) for place, request in compared.requests(tfo)
                 if request.answer == kind]
        if found:
            axes.plot(*zip(*found, strict=True), linestyle="none", marker=marker, markersize=3.7, color="black",
                      markerfacecolor="none", markeredgewidth=0.9, zorder=5, label=words)


def requests_section(row: Row, key: str) -> Section | None:
    """Return the figure with what it shows in sentences and its numbers; None where there is no load to draw."""
    compared = compare_loads(row)
    if compared is None:
        return None
    words = [*_words(compared)]
    label = " ".join([f"Waterfall of {len(compared.pairs)} requests.", *words])
    return Section(f"Requests at {row.rtt_name} ms RTT", words,
                   [chart_of(_draw(compared), key, label, request_table(compared))], view=True)


def _words(compared: Compared) -> Iterator[str]:
    """Say of each of both loads which one it is, and when what happened."""
    for name, shown in zip(TFO_NAMES, compared.loads, strict=True):
        if shown is None:
            yield f"{name}: no load to draw."
            continue
        events = "".join(f", {what} after {seconds(at_ms)} s" for what, at_ms in _moments(shown))
        known = [phases for request in shown.requests if (phases := request.phases_ms)]
        connecting = f"; {seconds(sum(phases['connect'] for phases in known))} s of connecting in all requests together"
        yield f"{name}: {shown.which}, {len(shown.requests)} requests{events}{connecting if known else ''}." \
              f"{doubtful_words(shown.doubtful)}"


def request_table(compared: Compared) -> Table:
    """Return every request of both loads, two rows under its URL."""
    measured = [f"{name} (ms)" for name in ("Start", *PHASES, "End")]
    order = " without TFO" if all(compared.loads) else ""
    row = compared.row
    caption = f"Requests of {row.url} at {row.rtt_name} ms RTT, in the order of their start{order}"
    return Table(caption, ["Load", *measured, "Bytes", "Status", "Connection"], [
        (f"{position}. {next(request.url for request in pair if request)}",
         [_cells(name, request) for name, request in zip(TFO_NAMES, pair, strict=True) if request])
        for position, pair in enumerate(compared.pairs, start=1)], style="requests")


def _cells(name: str, request: ShownRequest) -> list[str]:
    found = request.exchange
    phases = request.phases_ms or dict.fromkeys(PHASES)
    times = [NOT_KNOWN if ms is None else f"{ms:.0f}" for ms in (request.start_ms, *phases.values(), request.end_ms)]
    size = f"{found.answer.body_bytes:,}" if found.answer.body_bytes >= 0 else NOT_KNOWN
    return [name, *times, size, request.status or NOT_KNOWN, found.connection or NOT_KNOWN]
