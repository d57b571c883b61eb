"""One page at one RTT, with all that tables, figures and files say of it."""

from dataclasses import dataclass
from functools import cached_property

from harness.analysis.explanation import explain
from harness.analysis.improvement import Improvement, improvement
from harness.analysis.prediction import Prediction, predict
from harness.analysis.selection import Cell, Selection
from harness.analysis.stats import median_if_any
from harness.files.results import LoadResult, Results
from harness.system.tcp import without_port


@dataclass(frozen=True)
class Row:
    """A row of the table. `name` is what the folder is called where several stand side by side, `url` the page's.

    Times are in ms. What its loads without TFO tell is None where none of them tells it.
    """

    results: Results
    selection: Selection
    page: str
    rtt_ms: float
    url: str
    name: str = ""

    def loads(self, tfo: int) -> list[LoadResult]:
        """Return the loads that count, without TFO (0) or with it (1)."""
        return self.selection.cells.get(Cell(self.page, self.rtt_ms, tfo), [])

    def plts_ms(self, tfo: int) -> list[float]:
        """Return their page load times."""
        return self.selection.plts_ms(Cell(self.page, self.rtt_ms, tfo))

    def left_out(self, tfo: int) -> int:
        """Return how many measured loads do not count."""
        cell = Cell(self.page, self.rtt_ms, tfo)
        return sum(Cell(load.page, load.rtt_ms, load.transport) == cell for load, _ in self.selection.left_out)

    @cached_property
    def improvement(self) -> Improvement:
        """What TFO improves, and the medians of PLT."""
        return improvement(self.selection, self.page, self.rtt_ms)

    @cached_property
    def prediction(self) -> Prediction | None:
        """PLT with TFO as predicted, up to the load event, whatever metric is used: critical paths lead there."""
        return predict(self.selection, self.page, self.rtt_ms)

    @cached_property
    def servers(self) -> float | None:
        """How many servers the page's requests went to (median, without TFO)."""
        found = [{without_port(connection.address) for connection in (load.record and load.record.connections) or ()}
                 for load in self.loads(0)]
        return median_if_any([len(addresses) for addresses in found if addresses])

    @cached_property
    def connections(self) -> float | None:
        """How many connections carried them (median, without TFO)."""
        return median_if_any([load.record.connections_with_request for load in self.loads(0)
                              if load.record and load.record.connections_with_request is not None])

    @cached_property
    def handshakes(self) -> float | None:
        """How many TCP handshakes lay on the critical path (median, without TFO)."""
        return median_if_any([explanation.handshakes for load in self.loads(0)
                              if (explanation := explain(load, self.rtt_ms))])


def rows_of(results: Results, selection: Selection) -> list[Row]:
    """Return the rows of a folder's table, in its order: page by page, then by RTT."""
    return [Row(results, selection, page, rtt_ms, url)
            for page, url in results.urls.items() for rtt_ms in results.rtts_ms]
