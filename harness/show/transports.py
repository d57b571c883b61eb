"""TCP, TFO, early data and QUIC side by side (tfo.py --compare-transports): a table, and a figure of PLT by RTT."""

from collections.abc import Iterator
from statistics import fmean

from matplotlib.figure import Figure

from harness.analysis.row import METRICS, Row
from harness.analysis.selection import Selection
from harness.files.transport import Transport
from harness.show.columns import table_of
from harness.show.figures import Point, draw_curves, framed
from harness.show.improvement import off_percent
from harness.show.labels import short_names, synthetic_words
from harness.show.row_notes import too_few_runs
from harness.show.section import Section, chart_of

NAME = "transports"
"""What the figure's file is called."""
COLUMNS = {"RTT(ms)": "rtt", "Transport": "transport", "Round trips": "round_trips", "PLT (s)": "median_on_ms",
           "Saved (s)": "saved_ms", "Saved": "improvement_percent", "95% interval": "95% interval",
           "Predicted (s)": "predicted_ms", "Early data": "early data"}


def transports_section(selection: Selection) -> Section:
    """Return the section that compares how connections begin."""
    rows = selection.transport_rows
    table = table_of("Page load time (PLT) by how connections begin", rows, COLUMNS)
    label = "Page load time in seconds against RTT in ms, a line for each way in which connections begin."
    return Section("What replaced TFO", [*_words(selection, rows)], [
        chart_of(draw_transports(selection), NAME, label, table)])


def _words(selection: Selection, rows: list[Row]) -> Iterator[str]:
    """Say what the columns mean, and how far off the predictions are."""
    against = Transport(selection.results.transports[0]).words
    yield f"PLT: {METRICS[selection.metric]}. Median of the loads; each followed an untimed visit of its page, whose " \
          "session tickets are all that Chrome kept."
    yield f"Saved: against {against}, in s and in percent. Round trips: from the start of a new connection to the " \
          "first byte of the answer, in theory."
    yield f"Predicted: each load over {against} played again with new connections that begin so many round trips " \
          "sooner. No other load is used for it."
    yield "Early data: connections whose request came in it, of those whose request could; with TFO, how many came " \
          "with the SYN."
    if late := sum(row.early.too_late for row in rows):
        yield f"On {late} of the others Chrome was so busy that it wrote the request when the handshake was over: " \
              "there early data saved nothing."
    if off := off_percent([row.prediction for row in rows if row.prediction]):
        yield f"Predictions are off by {fmean(off):.1f}% on average, {max(off):.1f}% at most, over {len(off)} cells."
    if any(Transport(over).quic for over in selection.results.transports):
        yield "QUIC's servers are in Python: they work 6 ms for a connection and 48 ms for a MB (HTTP/2's: 2 ms for " \
              "either, docs/data/server-speed.tsv), which is not QUIC's fault."
    if not any(row.interval for row in rows):
        yield "No intervals: they take two runs or more."
    yield from too_few_runs(rows)


def draw_transports(selection: Selection) -> Figure:
    """Draw page load times by RTT, a line for each transport, in a panel for each page; bars: all of the loads."""
    results = selection.results
    names = short_names(results.urls)
    figure, panels = framed(
        (9, 1.2 + 3.4 * len(names)), "How a page's connections begin, and its page load time",
        f"Points: medians; bars: from the fastest load to the slowest.{synthetic_words(results, results.rtts_ms)}",
        len(names))
    for axes, (page, name) in zip(panels, names.items(), strict=True):
        rows = selection.of_page(page)
        draw_curves(axes, {f"{over.words} ({over.round_trips})": [
            Point(row.rtt_ms, middle_ms / 1000, min(cell.plts_ms) / 1000, max(cell.plts_ms) / 1000)
            for row in rows for cell in [row.over(over)] if (middle_ms := cell.median_ms) is not None]
            for over in map(Transport, results.transports)}, {row.rtt_ms: row.rtt_name for row in selection.rows})
        axes.set_title(name, fontsize=9, parse_math=False)
        axes.set_ylim(bottom=0)
        axes.set_ylabel("PLT (s)")
    panels[-1].set_xlabel("Round-trip time (ms)")
    return figure
