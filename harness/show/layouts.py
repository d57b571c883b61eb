"""Layouts of servers side by side: a table, and a figure of connections, handshakes and what TFO improves."""

import textwrap
from collections.abc import Callable, Iterator, Sequence

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from harness.analysis.row import Row
from harness.show.cells import cells
from harness.show.interval_bars import draw_intervals
from harness.show.labels import short_names

COLUMNS = {"Page": "page", "RTT(ms)": "rtt", "layout": "name", "servers": "servers", "connections": "connections",
           "handshakes": "handshakes", "no TFO (s)": "off", "TFO (s)": "on", "saved (s)": "saved",
           "Improv.": "percent", "95% interval": "interval"}
LEGEND = ("servers, connections: that carried the page's requests. handshakes: TCP handshakes on the critical path. "
          "These are medians without TFO.")
COLOURS = (("#0072b2", ""), ("#e69f00", "//"), ("#009e73", ".."), ("#cc79a7", "xx"), ("#56b4e9", "\\\\"),
           ("#999999", "--"))
"""After Okabe and Ito, as in harness.show.sweep; hatching tells the layouts apart in black and white."""
SHARED_SERVERS = "What TCP Fast Open has left to save when host names share servers"
WIDTH = 0.8
"""How wide all bars of a page are together; 1 would leave no room between pages."""
ROOM, LEAST_ROOM = 110, 8
"""How many characters of the pages' names, all of them together, have room side by side; and of one name at least."""
LEGEND_ROOM, PATCH = 130, 7
"""The same of the legend, and what the patch before each of its names takes of that."""


def layout_lines(rows: Sequence[Row]) -> Iterator[str]:
    """Give the table, tab-separated, page by page."""
    yield "\t".join(COLUMNS)
    for row in rows:
        yield "\t".join(cells(row, COLUMNS))
    yield LEGEND


def draw_layouts(rows: Sequence[Row], note: str = "", title: str = SHARED_SERVERS) -> Figure:
    """Draw three panels with a group of bars for each page and RTT, in which each row's `name` has a bar."""
    figure = Figure(figsize=(11, 9), layout="constrained")
    FigureCanvasAgg(figure)
    top, middle, bottom = figure.subplots(3, 1, sharex=True)
    _bars(top, rows, lambda row: row.connections, "{:g}")
    top.set_ylabel("connections")
    _bars(middle, rows, lambda row: row.handshakes, "{:g}")
    middle.set_ylabel("TCP handshakes\non the critical path")
    _bars(bottom, rows, lambda row: row.improvement.percent, "{:.1f}%", errors=True)
    bottom.set_ylabel("improvement by TFO (%)")
    longest = max(len(row.name) for row in rows)
    top.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False, fontsize=9,
               ncols=max(1, min(6, LEGEND_ROOM // (longest + PATCH))))
    figure.suptitle(title, fontsize=12, parse_math=False)
    figure.supxlabel("Medians of the loads; connections and handshakes without TFO. Lines on the bars: 95% interval of "
                     f"the improvement. {note}", fontsize=7.5, color="#444444", parse_math=False)
    return figure


def _bars(axes: Axes, rows: Sequence[Row], value_of: Callable[[Row], float | None], words: str, *,
          errors: bool = False) -> None:
    """Draw a group of bars for each page and RTT, a bar of it for each layout; `words` formats a bar's number."""
    rtts = {row.improvement.rtt_ms: row.improvement.rtt_name for row in rows}
    groups = list(dict.fromkeys((row.url, row.improvement.rtt_ms) for row in rows))
    names = list(dict.fromkeys(row.name for row in rows))
    width = WIDTH / len(names)
    for number, name in enumerate(names):
        mine = [row for row in rows if row.name == name and value_of(row) is not None]
        places = [groups.index((row.url, row.improvement.rtt_ms)) + (number - (len(names) - 1) / 2) * width
                  for row in mine]
        colour, _ = COLOURS[number % len(COLOURS)]
        _, hatch = COLOURS[(number + number // len(COLOURS)) % len(COLOURS)]        # another pair for each of 36 names
        bars = axes.bar(places, [value_of(row) or 0.0 for row in mine], width=width, color=colour, hatch=hatch,
                        edgecolor="#222222", linewidth=0.4, label=name)
        texts = [words.format(value_of(row)) for row in mine]
        if errors:
            points = [row.improvement for row in mine]
            draw_intervals(axes, places, points, ecolor="black", capsize=3)
            for place, point, text in zip(places, points, texts, strict=True):
                top = max(point.percent or 0.0, point.interval.high_percent if point.interval else 0.0, 0.0)
                axes.annotate(text, (place, top), (0, 2), textcoords="offset points", ha="center", fontsize=8)
        else:
            axes.bar_label(bars, texts, fontsize=8, padding=2)
    short = short_names({url: url for url, _ in groups})
    room = max(ROOM // len(groups), LEAST_ROOM)
    axes.set_xticks(range(len(groups)), [
        "\n".join(textwrap.wrap(short[url], room) + textwrap.wrap(f"{rtts[rtt_ms]} ms", room))
        for url, rtt_ms in groups], fontsize=8.5)
    for label in axes.get_xticklabels():
        label.set_parse_math(False)
    axes.margins(y=0.15)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
