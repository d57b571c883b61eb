"""The same pages measured in several ways, each in a folder of its own: what TFO saves in each, as table and figure."""

import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.analysis.row import Row
from harness.analysis.selection import Selection
from harness.analysis.setups import differing_settings
from harness.errors import printable
from harness.files.pages import CLIENT
from harness.show.columns import texts
from harness.show.figures import Point, draw_intervals, framed, grid, legend_above
from harness.show.labels import short_names
from harness.show.notes import too_few_runs

NAME = "measured"
COLUMNS = {"RTT(ms)": "rtt", NAME: "name", "n": "loads", "servers": "servers", "conns": "connections",
           "handsh.": "handshakes", "no TFO": "median_off_ms", "TFO": "median_on_ms", "saved": "saved_ms",
           "Improv.": "improvement_percent", "95% low": "low_percent", "high": "high_percent"}
TAB = 8
"""Columns between a terminal's tab stops."""
LEGEND = (
    "n: loads without TFO and with it. servers, conns: that carried the requests of a load without TFO (median).",
    "handsh.: TCP handshakes on that load's critical path (lowest to highest). no TFO, TFO, saved: median PLT in s, "
    "and their difference.",
    "95% low, high: limits of the improvement, as in ./plot.py --detail.",
)
TITLE = "What TCP Fast Open saves of the same pages, measured in several ways"
COLOURS = (("#0072b2", ""), ("#e69f00", "//"), ("#009e73", ".."), ("#cc79a7", "xx"), ("#56b4e9", "\\\\"),
           ("#999999", "--"))
"""After Okabe and Ito, as in harness.show.figures; hatching tells the folders apart in black and white."""
WIDTH = 0.8
"""How wide all bars of a page are together; 1 would leave no room between pages."""
ROOM, LEAST_ROOM = 110, 8
"""How many characters of the pages' names, all of them together, have room side by side; and of one name at least."""
LEGEND_ROOM, PATCH = 130, 7
"""The same of the legend, and what the patch before each of its names takes of that."""


def own_names(folders: Sequence[Path]) -> list[str]:
    """Return a name for each folder of results that no other one has; a client/ goes by that of the folder it is in.

    It is the folder's own, with its parent's if need be, or its whole path: rows and bars are told apart by it.
    """
    paths = [folder.resolve() for folder in folders]
    paths = [path.parent if path.name == CLIENT else path for path in paths]
    for parts in (1, 2):
        names = ["/".join(path.parts[-parts:]) for path in paths]
        if len({*names}) == len({*paths}):
            return names
    return [*map(str, paths)]


def side_by_side_rows(selections: Sequence[Selection]) -> list[Row]:
    """Return a row for each folder and each page and RTT in it, page by page, then by RTT.

    A row has the folder's name, and the page's URL without its scheme: the same page over http and https is one page.
    Of a page that is known by its file's name only (no load of it says its URL), that name.
    """
    names = own_names([selection.results.clientdir for selection in selections])
    rows = [replace(row, name=name, url=row.url.partition("://")[2] or row.url)
            for name, selection in zip(names, selections, strict=True) for row in selection.rows]
    urls = [*dict.fromkeys(row.url for row in rows)]
    return sorted(rows, key=lambda row: (urls.index(row.url), row.rtt_ms))


def side_by_side_lines(rows: Sequence[Row]) -> Iterator[str]:
    """Give the table, tab-separated: a page's rows under its address, one for each RTT and folder that has it."""
    width = max((len(row.name) for row in rows), default=0) // TAB * TAB + TAB - 1  # so that tabs align what follows
    yield "\t".join(["Page", *(name.ljust(width) if name == NAME else name for name in COLUMNS)])
    for place, row in enumerate(rows):
        if not place or rows[place - 1].url != row.url:
            yield printable(row.url)
        yield "\t" + "\t".join(map(printable, texts(replace(row, name=row.name.ljust(width)), COLUMNS)))
    yield ""
    yield from LEGEND
    yield from too_few_runs(rows)


def setup_lines(selections: Sequence[Selection]) -> Iterator[str]:
    """Say what differs between the first folder's set-up and each other's: all of it may make the difference."""
    first, *others = zip(own_names([selection.results.clientdir for selection in selections]), selections, strict=True)
    for name, selection in others:
        yield from (f"{first[0]} | {name}: {line}" for line in differing_settings(first[1].results, selection.results))


def draw_side_by_side(rows: Sequence[Row], note: str = "") -> Figure:
    """Draw three panels with a group of bars for each page and RTT, in which each row's `name` has a bar."""
    figure, panels = framed((11, 9), TITLE, "Medians of the loads; connections and handshakes without TFO. Lines on "
                            f"the bars: 95% interval of the improvement. {note}", panels=3)
    values: dict[str, Callable[[Row], float | None]] = {
        "connections": lambda row: row.connections,
        "TCP handshakes\non the critical path": lambda row: row.handshakes,
        "improvement by TFO (%)": lambda row: row.percent}
    for axes, (label, value_of) in zip(panels, values.items(), strict=True):
        axes.set_ylabel(label)
        _bars(axes, rows, value_of, is_improvement=axes is panels[-1])
    longest = max(len(row.name) for row in rows)
    legend_above(panels[0], max(1, min(6, LEGEND_ROOM // (longest + PATCH))))
    return figure


def _bars(axes: Axes, rows: Sequence[Row], value_of: Callable[[Row], float | None], *, is_improvement: bool) -> None:
    """Draw a group of bars for each page and RTT, a bar of it for each folder."""
    groups = {(row.url, row.rtt_ms): row.rtt_name for row in rows}
    names = list(dict.fromkeys(row.name for row in rows))
    width = WIDTH / len(names)
    for number, name in enumerate(names):
        points = [Point([*groups].index((row.url, row.rtt_ms)) + (number - (len(names) - 1) / 2) * width, value,
                        *(row.limits_percent if is_improvement else ()))
                  for row in rows if row.name == name and (value := value_of(row)) is not None]
        colour, _ = COLOURS[number % len(COLOURS)]
        _, hatch = COLOURS[(number + number // len(COLOURS)) % len(COLOURS)]        # another pair for each of 36 names
        axes.bar([point.x for point in points], [point.y for point in points], width=width, color=colour, hatch=hatch,
                 edgecolor="#222222", linewidth=0.4, label=name)
        draw_intervals(axes, points, ecolor="black", capsize=3)
        for point in points:
            axes.annotate(f"{point.y:.1f}%" if is_improvement else f"{point.y:g}",
                          (point.x, max(point.y, point.high or 0.0, 0.0)), (0, 2), textcoords="offset points",
                          ha="center", fontsize=8)
    short = short_names({url: url for url, _ in groups})
    room = max(ROOM // len(groups), LEAST_ROOM)
    axes.set_xticks(range(len(groups)), [
        "\n".join(textwrap.wrap(short[url], room) + textwrap.wrap(f"{rtt_name} ms", room))
        for (url, _), rtt_name in groups.items()], fontsize=8.5)
    for label in axes.get_xticklabels():
        label.set_parse_math(False)
    axes.margins(y=0.15)
    grid(axes, "y")
