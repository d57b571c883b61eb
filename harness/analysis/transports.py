"""What each Transport saves of the page load time against TCP, measured and as predicted from the loads over TCP."""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.analysis.cell import Cell
from harness.analysis.explanation import predicted_over
from harness.analysis.intervals import Interval, improvement_interval
from harness.analysis.row import Row
from harness.analysis.selection import Selection
from harness.analysis.stats import improvement_percent, median_if_any
from harness.files.results import LoadResult, Results
from harness.files.transport import Transport

QUIC_CONNECTION_MS, QUIC_MB_MS = 12.0, 110.0
"""What the servers, which are in Python, work for a connection over QUIC and for a MB of answers, in ms of a processor:
measured in November 2026 on the machine of docs/experiments.md. A connection over HTTP/2 takes 5 ms."""


@dataclass(frozen=True)
class Compared:
    """One page at one RTT over one transport, which is that of `cell`; times in ms, None where not known.

    `saved_ms` is how much shorter the median PLT is than over the first transport measured, `interval` of that in
    percent; `predicted_ms` is the median of what those loads would have taken over this one. Of `could` connections
    `early` brought their request in early data, of `in_syn` of these it came with the SYN.
    """

    row: Row
    cell: Cell
    saved_ms: float | None
    interval: Interval | None
    predicted_ms: float | None
    could: int
    early: int
    in_syn: int

    @property
    def over(self) -> Transport:
        """How its loads' connections began."""
        return Transport(self.cell.transport)

    @property
    def plt_ms(self) -> float | None:
        """The median of its loads."""
        return self.cell.median_ms

    @property
    def most_work_ms(self) -> float:
        """Return for how long a load over QUIC can have waited for its servers' processor; 0 over TCP.

        At most: servers work beside each other, and while others' answers are on their way.
        """
        records = [load.record for load in self.cell.loads if load.record and self.over.quic]
        work_ms = [QUIC_CONNECTION_MS * len(record.connections or ()) + QUIC_MB_MS * (record.bytes or 0) / 1e6
                   for record in records]
        return median_if_any(work_ms) or 0.0

    @property
    def saved_percent(self) -> float | None:
        """What is saved, in percent of the first transport's PLT; negative is a slow-down."""
        if self.saved_ms is None or self.plt_ms is None:
            return None
        return improvement_percent(self.plt_ms + self.saved_ms, self.plt_ms)


def is_compared(results: Results) -> bool:
    """Tell whether transports were measured beside each other, each load after another visit of its page."""
    return any(experiment.warm_pairs for experiment in results.experiments)


def compared(selection: Selection) -> list[Compared]:
    """Return each page at each RTT over each transport, in this order: the first is what others are held against."""
    transports = selection.results.transports
    return [_compared(row, transports[0], each) for row in selection.rows for each in transports]


def _compared(row: Row, against: int, transport: int) -> Compared:
    base, cell, other = row.over(against), row.over(transport), transport != against
    counts = [load.record.early_data for load in cell.loads if load.record and load.record.early_data]
    both = sorted(base.by_run.keys() & cell.by_run.keys())
    return Compared(
        row, cell,
        base.median_ms - cell.median_ms if other and base.median_ms and cell.median_ms else None,
        improvement_interval([base.by_run[run] for run in both], [cell.by_run[run] for run in both]) if other else None,
        _predicted_ms(base.loads, row.rtt_ms, Transport(against), Transport(transport)) if other else None,
        *(sum(getattr(each, name) for each in counts) for name in ("possible", "sent", "in_syn")))


def _predicted_ms(loads: Sequence[LoadResult], rtt_ms: float, against: Transport, over: Transport) -> float | None:
    """Return what the `loads`, which were made over TCP, would have taken; None where that is not known."""
    if against is not Transport.TCP:
        return None
    return median_if_any([plt_ms for load in loads if (plt_ms := predicted_over(load, rtt_ms, over)) is not None])
