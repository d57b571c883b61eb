"""What each Transport saves of the page load time against TCP, measured and as predicted from the loads over TCP."""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.analysis.explanation import predicted_over
from harness.analysis.intervals import Interval, improvement_interval
from harness.analysis.selection import Cell, Selection
from harness.analysis.stats import median
from harness.files.results import LoadResult, Results
from harness.files.transport import Transport


@dataclass(frozen=True)
class Compared:
    """One page at one RTT over one transport; times in ms, None where not known.

    `plt_ms` is the median of `loads` loads, `saved_ms` how much shorter it is than over the first transport measured,
    `interval` of that in percent; `predicted_ms` is the median of what those loads would have taken over this one. Of
    `could` connections `early` brought their request in early data, of `in_syn` of these it came with the SYN.
    """

    page: str
    rtt_ms: float
    over: Transport
    loads: int
    plt_ms: float | None
    saved_ms: float | None
    interval: Interval | None
    predicted_ms: float | None
    could: int
    early: int
    in_syn: int


def is_compared(results: Results) -> bool:
    """Tell whether transports were measured beside each other, each load after another visit of its page."""
    return any(experiment.warm_pairs for experiment in results.experiments)


def compared(results: Results, selection: Selection) -> list[Compared]:
    """Return each page at each RTT over each transport, in this order: the first is what others are held against."""
    return [_compared(selection, page, rtt_ms, results.tfos[0], each)
            for page in results.urls for rtt_ms in results.rtts_ms for each in results.tfos]


def _compared(selection: Selection, page: str, rtt_ms: float, against: int, transport: int) -> Compared:
    base, cell = Cell(page, rtt_ms, against), Cell(page, rtt_ms, transport)
    base_ms, plt_ms = selection.median_ms(base), selection.median_ms(cell)
    loads, other = selection.cells[cell], transport != against
    counts = [load.record.early_data for load in loads if load.record and load.record.early_data]
    return Compared(
        page, rtt_ms, Transport(transport), len(loads), plt_ms,
        base_ms - plt_ms if other and base_ms is not None and plt_ms is not None else None,
        improvement_interval(*selection.pairs(page, rtt_ms, (against, transport))) if other else None,
        _predicted_ms(selection.cells[base], rtt_ms, Transport(against), Transport(transport)) if other else None,
        *(sum(getattr(each, name) for each in counts) for name in ("possible", "sent", "in_syn")))


def _predicted_ms(loads: Sequence[LoadResult], rtt_ms: float, against: Transport, over: Transport) -> float | None:
    """Return what the `loads`, which were made over TCP, would have taken; None where that is not known."""
    if against is not Transport.TCP:
        return None
    found = [plt_ms for load in loads if (plt_ms := predicted_over(load, rtt_ms, over)) is not None]
    return median(found) if found else None
