"""Which loads enter the table and the figures, and why the others do not."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from harness.analysis.stats import median
from harness.files.results import LoadResult, Results
from harness.files.transport import Transport

METRICS = {
    "load": "from navigationStart to loadEventEnd: what the paper calls page load time",
    "last": "from the start of the load to the end of its last transaction: what the 2013 tool called page load time",
    "fcp": "from navigationStart to first contentful paint, when a visitor sees first text or a first picture",
    "lcp": "from navigationStart to largest contentful paint, when a visitor sees the largest part of the page",
}
NOT_REACHED = {"load": "no load event", "last": "no transaction", "fcp": "no first contentful paint is known",
               "lcp": "no largest contentful paint is known"}
"""Why a load without a time by a metric does not count."""


@dataclass(frozen=True)
class Cell:
    """One page at one RTT with TFO off (0) or on (1), or over another harness.files.transport.Transport."""

    page: str
    rtt_ms: float
    tfo: int


@dataclass(frozen=True, eq=False)
class Selection:
    """The loads of each cell that count by `metric`, in order of their runs; a cell that was not measured has none.

    `left_out` are measured loads that do not count, each with its reason. `cold` are cells that had to take run 0. Two
    selections are never equal, so that what was computed of one can be kept for it (functools.lru_cache). `rtt_names`
    are those of harness.files.results.Results. `refused` are by cell the tries of measured loads that do not count:
    those in `left_out`, and those that were made again.
    """

    metric: str
    asked_metric: str
    cells: dict[Cell, list[LoadResult]]
    left_out: list[tuple[LoadResult, str]]
    cold: list[Cell]
    rtt_names: dict[float, str] = field(default_factory=dict)
    refused: dict[Cell, list[LoadResult]] = field(default_factory=lambda: defaultdict(list))

    def rtt_name(self, rtt_ms: float) -> str:
        """Return what an RTT is called, in ms: "100", or "recorded 12-180" where each server had its own."""
        return self.rtt_names.get(rtt_ms, f"{rtt_ms:g}")

    def cell_name(self, cell: Cell) -> str:
        """Return what a cell is called in sentences, its RTT as in the table."""
        how = ("without TFO", "with TFO")[cell.tfo] if cell.tfo < 2 else f"over {Transport(cell.tfo).words}"
        return f"{cell.page} at {self.rtt_name(cell.rtt_ms)} ms {how}"

    def plts_ms(self, cell: Cell) -> list[float]:
        """Page load times of a cell in ms, by the metric in use."""
        return [value for load in self.cells[cell] if (value := plt_ms(load, self.metric))]

    def median_ms(self, cell: Cell) -> float | None:
        """Median page load time of a cell in ms, None if it was not measured."""
        values = self.plts_ms(cell)
        return median(values) if values else None

    def pairs(self, page: str, rtt_ms: float, transports: Sequence[int] = (0, 1)) -> tuple[list[float], list[float]]:
        """PLT in ms without and with TFO (or two other `transports`) of the runs that count in both, in their order."""
        off, on = ({(load.delaynet_ms, load.run): value for load in self.cells[Cell(page, rtt_ms, tfo)]
                    if (value := plt_ms(load, self.metric))} for tfo in transports)
        both = sorted(off.keys() & on.keys())
        return [off[run] for run in both], [on[run] for run in both]

    def missing(self, tfos: Sequence[int]) -> list[Cell]:
        """Cells that should have been measured with one of `tfos` and were not."""
        return [cell for cell, loads in self.cells.items() if not loads and cell.tfo in tfos]


def plt_ms(load: LoadResult, metric: str) -> float | None:
    """Return the load's page load time in ms by `metric` (a key of METRICS), None if it is not known."""
    if metric in ("fcp", "lcp"):
        return getattr(load.record, f"{metric}_ms", None)
    return load.plt_ms if metric == "load" else load.last_ms


def select(results: Results, metric: str) -> Selection:
    """Choose the loads that count: valid ones of measured runs. Logs of 2013 know no load event and use `last`.

    Run 0 is the warm-up and never counts, with one exception: a cell of 2013 logs that has nothing else.
    """
    used = "last" if results.old else metric
    selection = Selection(used, metric, {}, [], [], results.rtt_names)
    of_cell: dict[Cell, list[LoadResult]] = defaultdict(list)
    for load in results.loads:
        of_cell[Cell(load.page, load.rtt_ms, load.transport)].append(load)
    for cell in _all_cells(results):
        loads = of_cell[cell]
        measured = sorted((load for load in loads if load.run > 0), key=lambda load: load.run)
        if not measured and results.old:
            measured = loads
            if loads:
                selection.cold.append(cell)
        reasons = [(load, _why_not(load, used)) for load in measured]
        selection.cells[cell] = [load for load, reason in reasons if not reason]
        selection.left_out.extend((load, reason) for load, reason in reasons if reason)
    for load in (*(load for load, _ in selection.left_out), *(load for load in results.again if load.run > 0)):
        selection.refused[Cell(load.page, load.rtt_ms, load.transport)].append(load)
    return selection


def _all_cells(results: Results) -> Iterable[Cell]:
    transports = sorted({0, 1, *results.tfos})
    return (Cell(page, rtt_ms, each) for page in results.urls for rtt_ms in results.rtts_ms for each in transports)


def _why_not(load: LoadResult, metric: str) -> str:
    if not load.valid:
        return "; ".join(load.why_not)
    if not plt_ms(load, metric):
        return NOT_REACHED[metric]
    return ""
