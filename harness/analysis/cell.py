"""A cell: one page at one RTT, with TFO off or on, or over another Transport. Its loads that count, and what they
come to.
"""

from dataclasses import dataclass
from functools import cached_property

from harness.analysis.stats import median_if_any
from harness.files.results import LoadResult
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
TFO_NAMES = ("TFO off", "TFO on")


@dataclass(frozen=True, eq=False)
class Cell:
    """Its `loads` that count by `metric`, in order of their runs; none where it was not measured.

    `transport` is one of harness.files.transport.Transport: 0 and 1 are TFO off and on.
    `left_out` are measured loads that do not count, each with its reason; `again` are tries that were made again.
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
    again: tuple[LoadResult, ...] = ()
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
        tfo = ("without TFO", "with TFO")
        how = tfo[self.transport] if self.transport < len(tfo) else f"over {Transport(self.transport).words}"
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
