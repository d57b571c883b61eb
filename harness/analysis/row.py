"""A row of the table: one page at one RTT, with all that tables, figures and files say of it. Each is computed once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from harness.analysis.answers import doubtful_urls
from harness.analysis.cell import Cell
from harness.analysis.doubts import TwoKinds, awaited_answers, loads_that_waited, two_kinds, waits_may_explain
from harness.analysis.explanation import Explanation, Prediction, explain, predict
from harness.analysis.intervals import Interval, improvement_interval
from harness.analysis.stats import improvement_percent, median_if_any
from harness.files.load_record import LoadRecord
from harness.files.results import LoadResult, Results
from harness.system.tcp import without_port

BEYOND_RATIO = 0.05
"""The share of the PLT that TFO may save beyond what explains it. In seven of 139 rows that were looked at it saved
more. Four are of the paper's network, where three loads are too few (1.8 s of 5.1 s saved, 0.4 s explained); one has a
race (harness.analysis.doubts); in one Chrome had a connection ready only with TFO; and one is a page of 0.7 s. In 131
of the others it was 2.9% at most."""
BEYOND_LEAST_MS = 25.0
"""Pages of a third of a second vary by so much, whatever the reason."""


@dataclass(frozen=True, eq=False)
class Row:
    """One page at one RTT. `url` is the page's, `name` what the folder is called where several stand side by side.

    `most_loads` is how many loads the cell of the table has that has most.

    What its loads do not tell is None. Times are in ms.
    """

    results: Results
    url: str
    off: Cell
    on: Cell
    most_loads: int = 1
    name: str = ""
    others: tuple[Cell, ...] = ()
    """Its cells over other transports (tfo.py --compare-transports)."""

    @property
    def cells(self) -> tuple[Cell, Cell]:
        """Its cells without TFO and with it."""
        return self.off, self.on

    def over(self, transport: int) -> Cell:
        """Return its cell over a harness.files.transport.Transport. StopIteration where that was not measured."""
        return next(cell for cell in (*self.cells, *self.others) if cell.transport == transport)

    @property
    def page(self) -> str:
        """The page's file name."""
        return self.off.page

    @property
    def rtt_ms(self) -> float:
        """Its RTT."""
        return self.off.rtt_ms

    @property
    def rtt_name(self) -> str:
        """What the RTT is called, in ms."""
        return self.off.rtt_name

    @property
    def title(self) -> str:
        """What the row is called in sentences."""
        return f"{self.page} at {self.rtt_name} ms"

    @property
    def loads(self) -> list[LoadResult]:
        """All its loads that count."""
        return [load for cell in self.cells for load in cell.loads]

    @cached_property
    def pairs(self) -> tuple[list[float], list[float]]:
        """PLT without and with TFO of the runs that count in both, in their order."""
        both = sorted(self.off.by_run.keys() & self.on.by_run.keys())
        return [self.off.by_run[run] for run in both], [self.on.by_run[run] for run in both]

    @cached_property
    def two_kinds(self) -> TwoKinds | None:
        """The kinds that its loads fall into, if there are two: then no improvement is known."""
        return two_kinds(self.cells)

    @cached_property
    def percent(self) -> float | None:
        """How much less the median PLT is with TFO, in percent; negative is a slow-down."""
        off_ms, on_ms = self.off.median_ms, self.on.median_ms
        return improvement_percent(off_ms, on_ms) if off_ms and on_ms and not self.two_kinds else None

    @cached_property
    def interval(self) -> Interval | None:
        """The 95% interval of the improvement; None from fewer than two pairs of runs."""
        return None if self.two_kinds else improvement_interval(*self.pairs)

    @property
    def limits_percent(self) -> tuple[float | None, float | None]:
        """The interval's limits, each None without one."""
        return (self.interval.low_percent, self.interval.high_percent) if self.interval else (None, None)

    @property
    def saved_ms(self) -> float | None:
        """How much shorter the PLT is with TFO; None where no improvement is known."""
        off_ms, on_ms = self.off.median_ms, self.on.median_ms
        return None if self.percent is None or off_ms is None or on_ms is None else off_ms - on_ms

    @cached_property
    def waited(self) -> list[LoadResult]:
        """Loads whose page waited for a processor for long."""
        return loads_that_waited(self.loads)

    @cached_property
    def explained_by_waits(self) -> bool:
        """Whether these waits may be the reason for the improvement."""
        return bool(self.waited and not self.two_kinds) and waits_may_explain(*self.cells, self.interval)

    @property
    def significant(self) -> bool:
        """Whether 0 lies outside of the interval, and nothing else than TFO is known that may be the reason."""
        return self.interval is not None and self.interval.excludes_zero and not self.explained_by_waits

    @property
    def helps(self) -> bool:
        """Whether all of the interval is an improvement, a significant one."""
        return self.significant and self.interval is not None and self.interval.low_percent > 0

    @cached_property
    def explanations(self) -> list[tuple[LoadResult, Explanation]]:
        """The loads without TFO that can be explained, each with its critical path and what it predicts."""
        return [(load, found) for load in self.off.loads if (found := explain(load, self.rtt_ms))]

    @cached_property
    def prediction(self) -> Prediction | None:
        """PLT with TFO as predicted, up to the load event, whatever metric is used: critical paths lead there."""
        return predict(self.explanations, self.on.loads)

    @cached_property
    def awaited_answers(self) -> tuple[float, float] | None:
        """For how many answers the load event waited without and with TFO, where that differs by much."""
        return awaited_answers(self.cells)

    @cached_property
    def unexplained_saving(self) -> tuple[float, float] | None:
        """What TFO saved and how much of it can be explained, in ms, where the rest is more than chance makes it.

        What a load without TFO explains is the longer of two: the handshakes on its critical path, and what is saved
        when its requests are played again without their handshakes. Of several loads the one counts that explains most.
        """
        explained_ms = max((max(found.breakdown_ms["connect"], load.plt_ms - found.predicted_plt_ms)
                            for load, found in self.explanations if load.plt_ms), default=None)
        if self.off.metric != "load" or self.saved_ms is None or self.off.median_ms is None or explained_ms is None:
            return None
        beyond = self.saved_ms - explained_ms > max(BEYOND_LEAST_MS, BEYOND_RATIO * self.off.median_ms)
        return (self.saved_ms, explained_ms) if beyond else None

    @cached_property
    def doubtful(self) -> dict[int, list[str]]:
        """URLs on critical paths whose answers were not recorded for them, without TFO (0) and with it (1)."""
        return {cell.transport: list(dict.fromkeys(
            url for load in cell.loads for url in doubtful_urls(load))) for cell in self.cells}

    @cached_property
    def servers(self) -> float | None:
        """How many servers the page's requests went to (median, without TFO)."""
        return self._median_off(lambda record: len(
            {without_port(connection.address) for connection in record.connections or ()}) or None)

    @cached_property
    def connections(self) -> float | None:
        """How many connections carried them (median, without TFO)."""
        return self._median_off(lambda record: record.connections_with_request)

    @cached_property
    def handshakes(self) -> float | None:
        """How many TCP handshakes lay on the critical path (median, without TFO)."""
        return median_if_any([found.handshakes for _, found in self.explanations])

    def _median_off(self, count: Callable[[LoadRecord], float | None]) -> float | None:
        values = (count(load.record) for load in self.off.loads if load.record)
        return median_if_any([value for value in values if value is not None])


def threshold_ms(rows: Sequence[Row]) -> float | None:
    """Return the smallest RTT from which on TFO helps at every RTT measured, None when not even at the largest.

    `rows` are one page's.
    """
    threshold = None
    for row in sorted(rows, key=lambda row: row.rtt_ms, reverse=True):
        if not row.helps:
            break
        threshold = row.rtt_ms
    return threshold
