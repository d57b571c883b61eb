"""Which loads enter the table and the figures, and why the others do not: `select` makes the rows of a folder.

Table, export, report, figures and notes are all made of these rows (harness.analysis.row).
"""

from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

from harness.analysis.row import Cell, Row, plt_ms
from harness.files.results import LoadResult, Results


@dataclass(frozen=True, eq=False)
class Selection:
    """The rows of a folder's table by `metric`, in its order: page by page, then by RTT.

    `metric` is another one than was asked for with logs of 2013, which know no load event.
    """

    results: Results
    metric: str
    rows: tuple[Row, ...]

    @cached_property
    def cells(self) -> list[Cell]:
        """All cells, without TFO and with it, and over other transports."""
        return [cell for row in self.rows for cell in (*row.cells, *row.others)]

    @property
    def left_out(self) -> list[tuple[LoadResult, str]]:
        """Measured loads that do not count, each with its reason."""
        return [refused for cell in self.cells for refused in cell.left_out]

    @property
    def missing(self) -> list[Cell]:
        """Cells that should have been measured and were not."""
        return [cell for cell in self.cells if not cell.loads and cell.transport in self.results.transports]

    def of_page(self, page: str) -> list[Row]:
        """Return a page's rows, in order of RTT."""
        return [row for row in self.rows if row.page == page]

    @property
    def compares_transports(self) -> bool:
        """Whether transports were measured beside each other, each load after another visit of its page."""
        return any(experiment.warm_pairs for experiment in self.results.experiments)

    @property
    def transport_rows(self) -> list[Row]:
        """A row for each page at each RTT and each transport, in this order; `on` is the cell over that transport.

        `off` is the cell over the first transport measured, which the others are held against; in its own row `off` is
        empty, so that nothing is saved there.
        """
        first = self.results.transports[0]
        return [replace(row, off=row.over(first) if each != first else replace(row.over(first), loads=()),
                        on=row.over(each), others=())
                for row in self.rows for each in self.results.transports]

    @cached_property
    def by_place(self) -> dict[tuple[str, float], Row]:
        """The rows by page and RTT."""
        return {(row.page, row.rtt_ms): row for row in self.rows}


def select(results: Results, metric: str) -> Selection:
    """Choose the loads that count by `metric`: valid ones of measured runs. Logs of 2013 use `last`.

    Run 0 is the warm-up and never counts, with one exception: a cell of 2013 logs that has nothing else.
    """
    used = "last" if results.old else metric
    loads: dict[tuple[str, float, int], list[LoadResult]] = defaultdict(list)
    for load in sorted(results.loads, key=lambda load: load.run):
        loads[load.page, load.rtt_ms, load.transport].append(load)
    rows = []
    for page, rtt_ms in product(results.urls, results.rtts_ms):
        off, on, *others = (_cell(results, loads[page, rtt_ms, transport], (page, rtt_ms, transport), used)
                            for transport in sorted({0, 1, *results.transports}))
        rows.append(Row(results, results.urls[page], off, on, others=tuple(others)))
    return Selection(results, used, tuple(rows))


def _cell(results: Results, loads: list[LoadResult], place: tuple[str, float, int], metric: str) -> Cell:
    """Return the cell of these loads of a page at an RTT over a transport, its `place`."""
    measured = [load for load in loads if load.run > 0]
    cold = results.old and not measured
    reasons = [(load, _why_not(load, metric)) for load in (loads if cold else measured)]
    return Cell(*place, metric, results.rtt_names.get(place[1], f"{place[1]:g}"),
                tuple(load for load, reason in reasons if not reason),
                tuple((load, reason) for load, reason in reasons if reason), cold)


def _why_not(load: LoadResult, metric: str) -> str:
    """Return why a measured load does not count, "" when it does."""
    if not load.valid:
        return "; ".join(load.why_not)
    return "" if plt_ms(load, metric) else f"it has no time by --metric {metric}"
