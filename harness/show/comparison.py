"""Folders of results held against each other: two, in what differs between them for sure; several, side by side.

Of two it is said as text what differs in the set-ups, and in each row of the table (harness.analysis.compare). Of
several that hold the same pages, measured in several ways, what TFO saves in each, as table and figure.
"""

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.analysis.compare import IMPROVEMENT, SURE, Difference, compare, differing_settings
from harness.analysis.row import METRICS, Row
from harness.analysis.selection import Selection
from harness.errors import printable
from harness.files.pages import CLIENT
from harness.show.columns import table_of
from harness.show.figures import Point, draw_intervals, framed, grid, legend_above
from harness.show.labels import NOT_KNOWN, short_names, span
from harness.show.row_notes import doubt_lines, too_few_runs
from harness.show.section import Table, table_lines

OF_TWO = ("RTT(ms)", "what", "n A", "n B", "A", "B", "B - A", "+-", "p", "differs")
OF_MANY = {"RTT(ms)": "rtt", "n": "loads", "servers": "servers", "conns": "connections",
           "handsh.": "handshakes", "no TFO": "median_off_ms", "TFO": "median_on_ms", "saved": "saved_ms",
           "Improv.": "improvement_percent", "95% low": "low_percent", "high": "high_percent",
           "measured": "name"}
"""Names come last: the rest has under 8 characters, so that tabs align it."""
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
ROOM = 110
"""How many characters of the pages' names, all of them together, have room side by side."""
WIDTH = 0.8
"""How wide all bars of a page are together; 1 would leave no room between pages."""


def format_comparison(side_a: Selection, side_b: Selection) -> tuple[str, bool]:
    """Return the text of the comparison, and whether every row of either folder could be compared with the other's.

    The text: the two folders, their set-ups, the table, what its columns mean, what is on one side only.
    """
    differences = [difference for difference in compare(side_a, side_b)
                   if difference.a is not None or difference.b is not None]
    only = [*_listed("Only in A", _only_in(side_a, side_b)), *_listed("Only in B", _only_in(side_b, side_a)),
            *_listed("Measured in one only", (f"{difference.row.title}, {difference.what}" for difference in differences
                                              if difference.a is None or difference.b is None))]
    table = Table("", OF_TWO, [
        (page, [*map(_cells, of_page)])
        for page, of_page in groupby(differences, key=lambda difference: difference.row.page)])
    lines = [
        f"A: {side_a.results.clientdir}", f"B: {side_b.results.clientdir}",
        *(_listed("The set-ups differ in", differing_settings(side_a.results, side_b.results))
          or ["The set-ups do not differ in anything that was recorded."]), "",
        *table_lines(table), "",
        f"no TFO, TFO: median PLT in s, {METRICS[side_a.metric]}. Improv.: in percent, B - A in points.",
        *_legend(differences),
        *_listed("Rows of A to be careful with", doubt_lines(side_a.rows)),
        *_listed("Rows of B to be careful with", doubt_lines(side_b.rows)), *only]
    return "".join("\t".join(map(printable, line.split("\t"))) + "\n" for line in lines), not only


def _only_in(there: Selection, not_there: Selection) -> list[str]:
    return [row.title for place, row in there.by_place.items() if place not in not_there.by_place]


def _cells(difference: Difference) -> list[str]:
    scale, digits, unit = (1, 2, "%") if difference.what == IMPROVEMENT else (1000, 3, "")

    def text(value: float | None, form: str) -> str:
        return NOT_KNOWN if value is None else f"{value / scale:{form}.{digits}f}"

    values = [text(value, "") + (unit if value is not None else "") for value in (difference.a, difference.b)]
    verdict = [NOT_KNOWN, NOT_KNOWN] if difference.p is None else [
        "<0.001" if difference.p < 0.001 else f"{difference.p:.3f}", "yes" if difference.is_sure else "no"]
    return [difference.row.rtt_name, difference.what, str(difference.n_a), str(difference.n_b), *values,
            text(difference.b_minus_a, "+"), text(difference.half_width, ""), *verdict]


def _legend(differences: Sequence[Difference]) -> Iterator[str]:
    runs = [n for difference in differences if difference.p is not None for n in (difference.n_a, difference.n_b)]
    if not runs:
        yield "Nothing was tested: a test needs two runs or more on both sides. Measure more runs."
        return
    yield "+-: half of the 95% interval of the difference of the means. p: Welch's t-test on the runs (Improv.: on " \
          f"pairs of runs), adjusted for {len(runs) // 2} tests (Benjamini-Hochberg)."
    yield f"differs: p < {SURE:g}. It assumes that the runs of a cell, n = {span(min(runs), max(runs))}, vary as a " \
          'normal distribution does. And "no" is not "equal": n runs cannot show what is smaller than +-.'


def _listed(title: str, lines: Iterable[str]) -> list[str]:
    """Return lines under a title; nothing without lines."""
    found = [f"  {line}" for line in lines]
    return [f"{title}:", *found] if found else []


def own_names(folders: Sequence[Path]) -> list[str]:
    """Return a name for each folder of results that no other one has; a client/ goes by that of the folder it is in.

    It is the folder's own, or its whole path: rows and bars are told apart by it.
    """
    paths = [folder.resolve() for folder in folders]
    paths = [path.parent if path.name == CLIENT else path for path in paths]
    names = [path.name for path in paths]
    return names if len({*names}) == len({*paths}) else [*map(str, paths)]


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
    yield from table_lines(table_of("", rows, OF_MANY))
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
    values = {"connections": "connections", "handshakes": "TCP handshakes\non the critical path",
              "percent": "improvement by TFO (%)"}
    for axes, (name, label) in zip(panels, values.items(), strict=True):
        axes.set_ylabel(label)
        _bars(axes, rows, name)
    legend_above(panels[0], 4)
    return figure


def _bars(axes: Axes, rows: Sequence[Row], of: str) -> None:
    """Draw a group of bars for each page and RTT, a bar of it for each folder: the row's value called `of`."""
    is_improvement = of == "percent"
    groups = {(row.url, row.rtt_ms): row.rtt_name for row in rows}
    names = list(dict.fromkeys(row.name for row in rows))
    width = WIDTH / len(names)
    for number, name in enumerate(names):
        points = [Point([*groups].index((row.url, row.rtt_ms)) + (number - (len(names) - 1) / 2) * width, value,
                        *(row.limits_percent if is_improvement else ()))
                  for row in rows if row.name == name and (value := getattr(row, of)) is not None]
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
    room = max(ROOM // len(groups), 8)
    axes.set_xticks(range(len(groups)), [f"{textwrap.fill(short[url], room)}\n{textwrap.fill(f'{rtt_name} ms', room)}"
                                         for (url, _), rtt_name in groups.items()], fontsize=8.5)
    for label in axes.get_xticklabels():
        label.set_parse_math(False)
    axes.margins(y=0.15)
    grid(axes, "y")
