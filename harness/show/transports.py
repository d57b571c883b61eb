"""TCP, TFO, early data and QUIC side by side (tfo.py --compare-transports): a table, and a figure of PLT by RTT."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from harness.analysis.intervals import ENOUGH_PAIRS
from harness.analysis.selection import METRICS, Cell, Selection
from harness.analysis.transports import Compared, compared
from harness.errors import printable
from harness.files.results import Results
from harness.files.transport import Transport
from harness.show.labels import NOT_KNOWN, percent, seconds, short_names, synthetic_words

NAME = "transports"
"""What the figure's file is called."""
COLUMNS = ("RTT(ms)", "Transport", "Round trips", "PLT (s)", "Saved (s)", "Saved", "95% interval", "Predicted (s)",
           "Early data")
COLORS = {Transport.TCP: "#4d4d4d", Transport.TFO: "#0072b2", Transport.EARLY: "#d55e00",
          Transport.TFO_EARLY: "#009e73", Transport.QUIC: "#cc79a7", Transport.QUIC_EARLY: "#e69f00"}
PAGES_IN_A_ROW = 2


def transport_rows(results: Results, selection: Selection) -> Iterator[tuple[str, list[list[str]]]]:
    """Give for each page what stands in its rows, under COLUMNS."""
    rows = compared(results, selection)
    for page, of_page in groupby(rows, key=lambda row: row.page):
        yield page, [_cells(selection, row) for row in of_page]


def transport_lines(results: Results, selection: Selection) -> Iterator[str]:
    """Give the table, tab-separated, and under it what its columns mean."""
    yield "\t".join(("Page", *COLUMNS))
    for page, rows in transport_rows(results, selection):
        yield printable(page)
        yield from ("\t" + "\t".join(row) for row in rows)
    yield ""
    yield from transport_notes(results, selection)


def transport_notes(results: Results, selection: Selection) -> Iterator[str]:
    """Say what the columns mean, and how far off the predictions are."""
    against = Transport(results.tfos[0]).words
    yield f"PLT: {METRICS[selection.metric]}. Median of the loads; each followed an untimed visit of its page, whose " \
          "session tickets are all that Chrome kept."
    yield f"Saved: against {against}, in s and in percent. Round trips: from the start of a new connection to the " \
          "first byte of the answer, in theory."
    yield f"Predicted: each load over {against} played again with new connections that begin so many round trips " \
          "sooner. No other load is used for it."
    yield "Early data: connections whose request came in it, of those whose request could; with TFO, how many came " \
          "with the SYN."
    rows = [row for row in compared(results, selection) if row.saved_ms is not None]
    off = [abs(row.predicted_ms - row.plt_ms) / row.plt_ms for row in rows if row.predicted_ms and row.plt_ms]
    if off:
        yield f"Predictions are off by {sum(off) / len(off):.1%} on average, {max(off):.1%} at most, over " \
              f"{len(off)} cells."
    fewest = min((row.interval.pairs for row in rows if row.interval), default=None)
    if fewest is None:
        yield "No intervals: they take two runs or more."
    elif fewest < ENOUGH_PAIRS:
        yield f"Intervals of {fewest} pairs of runs hold the truth less often than in 95% of experiments."
    if any(experiment.settings.get("compare_transports") for experiment in results.experiments) \
            and Transport.QUIC not in results.tfos:
        yield "QUIC was not measured: this version has no server for it."


def _cells(selection: Selection, row: Compared) -> list[str]:
    interval = row.interval
    share = None if row.saved_ms is None or row.plt_ms is None else row.saved_ms / (row.plt_ms + row.saved_ms) * 100
    in_syn = f" ({row.in_syn} with the SYN)" if row.over.tfo and row.over.early else ""
    return [selection.rtt_name(row.rtt_ms), row.over.words, str(row.over.round_trips), seconds(row.plt_ms),
            seconds(row.saved_ms), percent(share),
            f"{percent(interval.low_percent)} to {percent(interval.high_percent)}" if interval else NOT_KNOWN,
            seconds(row.predicted_ms), f"{row.early} of {row.could}{in_syn}" if row.could else NOT_KNOWN]


def draw_transports(results: Results, selection: Selection) -> Figure:
    """Draw page load times by RTT, a line for each transport, in a plot for each page; lines: all of the loads."""
    names = short_names(results.urls)
    rows = -(-len(names) // PAGES_IN_A_ROW)
    figure = Figure(figsize=(9, 0.9 + 3.2 * rows), layout="constrained")
    FigureCanvasAgg(figure)
    plots = figure.subplots(rows, min(len(names), PAGES_IN_A_ROW), squeeze=False, sharex=True).flat
    for axes, (page, name) in zip(plots, names.items(), strict=False):
        for transport in map(Transport, results.tfos):
            _draw_line(axes, selection, page, results.rtts_ms, transport)
        axes.set_title(name, fontsize=9, parse_math=False)
        axes.set_ylim(bottom=0)
        axes.set_xticks(results.rtts_ms, labels=map(selection.rtt_name, results.rtts_ms))
        axes.set_ylabel("PLT (s)")
        axes.grid(axis="y", color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in list(plots):
        axes.set_visible(False)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, fontsize=8, frameon=False,
                  title="How a page's connections begin")
    figure.supxlabel(f"Round-trip time (ms). Points: medians; bars: from the fastest load to the slowest."
                     f"{synthetic_words(results, results.rtts_ms)}", fontsize=8, color="#444444")
    return figure


def _draw_line(axes: Axes, selection: Selection, page: str, rtts_ms: Sequence[float], transport: Transport) -> None:
    places = [(rtt_ms, [plt / 1000 for plt in selection.plts_ms(cell)], selection.median_ms(cell))
              for rtt_ms in rtts_ms for cell in [Cell(page, rtt_ms, transport)]]
    known = [(rtt_ms, values, middle / 1000) for rtt_ms, values, middle in places if middle is not None]
    axes.errorbar([rtt_ms for rtt_ms, *_ in known], [middle for *_, middle in known],
                  yerr=[[middle - min(values) for _, values, middle in known],
                        [max(values) - middle for _, values, middle in known]],
                  color=COLORS[transport], marker="o", markersize=4, linewidth=1.5, capsize=3, elinewidth=1,
                  label=f"{transport.words} ({transport.round_trips})")
