"""The same pages measured in several ways, each in a folder of its own: what TFO saves in each, as one table."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median

from harness.analysis.compare import Side
from harness.analysis.improvement import improvement
from harness.analysis.intervals import ENOUGH_PAIRS
from harness.analysis.layouts import LayoutRow, layout_rows
from harness.analysis.prediction import predict
from harness.analysis.selection import Cell, Selection
from harness.errors import printable
from harness.files.results import Results
from harness.show.labels import NOT_KNOWN, percent, seconds

COLUMNS = ("Page", "RTT(ms)", "measured", "n", "conns", "handsh.", "no TFO", "TFO", "saved", "Improv.", "95% low",
           "high")
TAB = 8
LEGEND = (
    "n: loads without TFO and with it. conns: connections that a load without TFO sent a request on (median).",
    "handsh.: TCP handshakes on that load's critical path (lowest to highest). no TFO, TFO, saved: median PLT in s, "
    "and their difference.",
    f"95% low, high: limits of the improvement, as in ./plot.py --detail; of fewer than {ENOUGH_PAIRS} pairs of loads "
    "they are too narrow.",
)

Measured = tuple[str, Results, Selection]
"""What the folder is called, and what is in it."""


def side_by_side_lines(folders: Sequence[Measured]) -> Iterator[str]:
    """Give the table, tab-separated: a page's rows under its address, one for each RTT and folder that has it."""
    width = max(len(name) for name, _, _ in folders) // TAB * TAB + TAB - 1     # so that tabs align what follows
    folders = [(name.ljust(width), results, selection) for name, results, selection in folders]
    yield "\t".join([*COLUMNS[:2], COLUMNS[2].ljust(width), *COLUMNS[3:]])
    for address in dict.fromkeys(_address(url) for _, results, _ in folders for url in results.urls.values()):
        yield printable(address)
        rtts_ms = sorted({rtt_ms for _, results, _ in folders for rtt_ms in results.rtts_ms})
        for rtt_ms in rtts_ms:
            yield from _rows(folders, address, rtt_ms)
    yield ""
    yield from LEGEND


def side_by_side_rows(folders: Sequence[Measured]) -> list[LayoutRow]:
    """Return what harness.show.layouts draws: a bar for each folder, by its name."""
    return [replace(row, name=name, url=_address(row.url)) for name, results, selection in folders
            for row in layout_rows([Side(results, selection)])]


def _address(url: str) -> str:
    """Return a page's URL without its scheme: the same page over http and https is one page."""
    return url.partition("://")[2]


def _rows(folders: Sequence[Measured], address: str, rtt_ms: float) -> Iterator[str]:
    for name, results, selection in folders:
        for page, url in results.urls.items():
            if _address(url) == address and rtt_ms in results.rtts_ms:
                yield "\t".join(("", f"{rtt_ms:g}", printable(name), *_values(selection, page, rtt_ms)))


def _values(selection: Selection, page: str, rtt_ms: float) -> tuple[str, ...]:
    row, prediction = improvement(selection, page, rtt_ms), predict(selection, page, rtt_ms)
    off, on = (selection.cells[Cell(page, rtt_ms, tfo)] for tfo in (0, 1))
    saved_ms = None if row.off_ms is None or row.on_ms is None else row.off_ms - row.on_ms
    opened = [load.record.connections_with_request for load in off
              if load.record and load.record.connections_with_request is not None]
    low, high = prediction.handshakes if prediction else (None, None)
    return (f"{len(off)}, {len(on)}", f"{median(opened):g}" if opened else NOT_KNOWN,
            NOT_KNOWN if low is None else f"{low}" if low == high else f"{low} to {high}",
            seconds(row.off_ms), seconds(row.on_ms), seconds(saved_ms), percent(row.percent),
            *((percent(row.interval.low_percent), percent(row.interval.high_percent)) if row.interval
              else (NOT_KNOWN, NOT_KNOWN)))
