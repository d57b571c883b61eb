"""The same pages measured in several ways, each in a folder of its own: what TFO saves in each, as one table."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from harness.analysis.intervals import ENOUGH_PAIRS
from harness.analysis.row import Row, rows_of
from harness.analysis.selection import Selection
from harness.errors import printable
from harness.files.results import Results
from harness.show.cells import cells

NAME = "measured"
COLUMNS = {"RTT(ms)": "rtt", NAME: "name", "n": "loads", "conns": "connections", "handsh.": "handshakes of all",
           "no TFO": "off", "TFO": "on", "saved": "saved", "Improv.": "percent", "95% low": "low",
           "high": "high"}
TAB = 8
"""Columns between a terminal's tab stops."""
LEGEND = (
    "n: loads without TFO and with it. conns: connections that a load without TFO sent a request on (median).",
    "handsh.: TCP handshakes on that load's critical path (lowest to highest). no TFO, TFO, saved: median PLT in s, "
    "and their difference.",
    f"95% low, high: limits of the improvement, as in ./plot.py --detail; of fewer than {ENOUGH_PAIRS} pairs of loads "
    "they are too narrow.",
)

Measured = tuple[str, Results, Selection]
"""What the folder is called, and what is in it."""


def side_by_side_rows(folders: Sequence[Measured]) -> list[Row]:
    """Return a row for each folder and each page and RTT in it. A row has the folder's name and the page's address."""
    return [replace(row, name=name, url=_address(row.url)) for name, results, selection in folders
            for row in rows_of(results, selection)]


def side_by_side_lines(rows: Sequence[Row]) -> Iterator[str]:
    """Give the table, tab-separated: a page's rows under its address, one for each RTT and folder that has it."""
    width = max((len(row.name) for row in rows), default=0) // TAB * TAB + TAB - 1  # so that tabs align what follows
    yield "\t".join(["Page", *(name.ljust(width) if name == NAME else name for name in COLUMNS)])
    for address in dict.fromkeys(row.url for row in rows):
        yield printable(address)
        of_page = [row for row in rows if row.url == address]
        for row in sorted(of_page, key=lambda row: row.improvement.rtt_ms):
            yield "\t" + "\t".join(cells(replace(row, name=row.name.ljust(width)), COLUMNS))
    yield ""
    yield from LEGEND


def _address(url: str) -> str:
    """Return a page's URL without its scheme: the same page over http and https is one page.

    Of a page that is known by its file's name only (no load of it says its URL), that name.
    """
    return url.partition("://")[2] or url
