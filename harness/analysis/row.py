"""A row of the table: one page at one RTT. All that tables, figures and files say of it; each is computed once.

Its cells are the page's loads with TFO off and on, or over another Transport, and what they come to.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property

from harness.analysis.doubts import WAITED_RATIO, awaited_answers, doubtful_urls, waited_ms, waits_may_explain
from harness.analysis.explanation import Explanation, Prediction, explain, predict
from harness.analysis.stats import Interval, improvement_interval, improvement_percent, median_if_any
from harness.files.load_parts import EarlyCounts
from harness.files.load_record import LoadRecord
from harness.files.results import LoadResult, Results
from harness.files.transport import Transport
from harness.system.tcp import without_port

METRICS = {
    "load": "from navigationStart to loadEventEnd: what the paper calls page load time",
    "last": "from the start of the load to the end of its last transaction: what the 2013 tool called page load time",
    "fcp": "from navigationStart to first contentful paint, when a visitor sees first text or a first picture",
    "lcp": "from navigationStart to largest contentful paint, when a visitor sees the largest part of the page",
}
TFO_NAMES = ("TFO off", "TFO on")
IN_SENTENCES = ("without TFO", "with TFO")
BEYOND_RATIO = 0.05
"""The share of the PLT that TFO may save beyond what explains it. In seven of 139 rows that were looked at it saved
more. Four are of the paper's network, where three loads are too few (1.8 s of 5.1 s saved, 0.4 s explained); one has a
race, and so no improvement today (harness.analysis.doubts); in one Chrome had a connection ready only with TFO; and one
is a page of 0.7 s. In 131 of the others it was 2.9% at most."""
BEYOND_LEAST_MS = 25.0
"""Pages of a third of a second vary by so much, whatever the reason."""


@dataclass(frozen=True, eq=False)
class Cell:
    """Its `loads` that count by `metric`, in order of their runs; none where it was not measured.

    `transport` is one of harness.files.transport.Transport: 0 and 1 are TFO off and on.
    `left_out` are measured loads that do not count, each with its reason.
    `rtt_name` is what the RTT is called, in ms: "100", or "recorded 12-180" where each server had its own.
    `cold`: its loads are the first ones of 2013's tool, since there are no others. Two cells are never equal, so that
    what was computed of one can be kept for it.
    """

    page: str
    rtt_ms: float
    transport: int
    metric: str
    rtt_name: str
    loads: tuple[LoadResult, ...] = ()
    left_out: tuple[tuple[LoadResult, str], ...] = ()
    cold: bool = False

    @cached_property
    def by_run(self) -> dict[tuple[float, int], float]:
        """Page load times in ms, by delay and run: what a load of the other cell is paired by."""
        return {(load.delaynet_ms, load.run): value for load in self.loads if (value := plt_ms(load, self.metric))}

    @cached_property
    def plts_ms(self) -> list[float]:
        """Page load times in ms, by the metric in use."""
        return [*self.by_run.values()]

    @cached_property
    def median_ms(self) -> float | None:
        """Median page load time, None if it was not measured."""
        return median_if_any(self.plts_ms)

    @property
    def name(self) -> str:
        """What it is called in sentences, its RTT as in the table."""
        how = IN_SENTENCES[self.transport] if self.transport < 2 else f"over {Transport(self.transport).words}"
        return f"{self.page} at {self.rtt_name} ms {how}"

    @property
    def title(self) -> str:
        """RTT and TFO, as they are written at an axis."""
        return f"{self.rtt_name} ms, {TFO_NAMES[self.transport]}"


def plt_ms(load: LoadResult, metric: str) -> float | None:
    """Return the load's page load time in ms by `metric` (a key of METRICS), None if it is not known."""
    if metric in ("fcp", "lcp"):
        return getattr(load.record, f"{metric}_ms", None)
    return load.plt_ms if metric == "load" else load.last_ms


@dataclass(frozen=True, eq=False)
class Row:
    """One page at one RTT. `url` is the page's, `name` what the folder is called where several stand side by side.

    What its loads do not tell is None. Times are in ms.
    """

    results: Results
    url: str
    off: Cell
    on: Cell
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
    def race(self) -> tuple[float, float] | None:
        """For how many answers the load event waited without and with TFO, where that differs by much.

        Then no improvement is known.
        """
        return awaited_answers(self.off.loads, self.on.loads)

    @cached_property
    def percent(self) -> float | None:
        """How much less the median PLT is with TFO, in percent; negative is a slow-down."""
        off_ms, on_ms = self.off.median_ms, self.on.median_ms
        return improvement_percent(off_ms, on_ms) if off_ms and on_ms and not self.race else None

    @cached_property
    def interval(self) -> Interval | None:
        """The 95% interval of the improvement; None from fewer than two pairs of runs."""
        return None if self.race else improvement_interval(*self.pairs)

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
        """Loads whose page waited for a processor for more than WAITED_RATIO of its load time."""
        return [load for load in self.loads if load.plt_ms and waited_ms(load) > WAITED_RATIO * load.plt_ms]

    @cached_property
    def explained_by_waits(self) -> bool:
        """Whether these waits may be the reason for the improvement."""
        return bool(self.waited and not self.race) and waits_may_explain(
            self.off.loads, self.on.loads, self.interval, self.off.median_ms or 0.0)

    @property
    def significant(self) -> bool:
        """Whether 0 lies outside of the interval, and nothing else than TFO is known that may be the reason."""
        return self.interval is not None and self.interval.excludes_zero and not self.explained_by_waits

    @property
    def helps(self) -> bool:
        """Whether all of the interval is an improvement, a significant one."""
        return self.significant and self.interval is not None and self.interval.low_percent > 0

    @cached_property
    def explanations(self) -> list[Explanation]:
        """Of each load of its first cell that can be explained: its critical path, and what it predicts for the second.

        Only loads over TCP can be played again.
        """
        over = Transport(self.on.transport)
        loads = self.off.loads if self.off.transport == Transport.TCP else ()
        return [found for load in loads if (found := explain(load, self.rtt_ms, over))]

    @cached_property
    def prediction(self) -> Prediction | None:
        """PLT with TFO as predicted, up to the load event, whatever metric is used: critical paths lead there.

        None where the browser had no cookie of some server: then nobody knows beforehand where TFO saves anything.
        """
        has_cookies = all(experiment.cookies == "warm" for experiment in self.results.experiments
                          if experiment.rtt_ms == self.rtt_ms)
        return predict(self.explanations, self.on.loads) if has_cookies else None

    @cached_property
    def early(self) -> EarlyCounts:
        """The sums over the loads of its second cell; all 0 where nothing is known of early data."""
        counts = [load.record.early_data for load in self.on.loads if load.record and load.record.early_data]
        names = [field.name for field in fields(EarlyCounts)]
        return EarlyCounts(**{name: sum(getattr(found, name) for found in counts) for name in names})

    @cached_property
    def unexplained_saving(self) -> tuple[float, float] | None:
        """What TFO saved and how much of it can be explained, in ms, where the rest is more than chance makes it.

        What a load without TFO explains is the longer of two: the handshakes on its critical path, and what is saved
        when its requests are played again without their handshakes. Of several loads the one counts that explains most.
        """
        explained_ms = max((max(found.ms("connect"), found.plt_ms - found.predicted_plt_ms)
                            for found in self.explanations), default=None)
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
        return median_if_any([found.handshakes for found in self.explanations])

    def _median_off(self, count: Callable[[LoadRecord], float | None]) -> float | None:
        values = (count(load.record) for load in self.off.loads if load.record)
        return median_if_any([value for value in values if value is not None])


def threshold(rows: Sequence[Row]) -> Row | None:
    """Return of one page's `rows` the one with the smallest RTT from which on TFO helps at every RTT measured.

    None when it does not even at the largest.
    """
    found = None
    for row in sorted(rows, key=lambda row: row.rtt_ms, reverse=True):
        if not row.helps:
            break
        found = row
    return found
