"""PLT with TFO as predicted from the loads without it, beside what was measured."""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.analysis.explanation import Explanation, explain
from harness.analysis.selection import Cell, Selection
from harness.analysis.stats import median, median_if_any
from harness.files.results import LoadResult


@dataclass(frozen=True)
class Prediction:
    """One page at one RTT; times in ms. `measured_ms` is the median with TFO, None when it was not measured.

    `handshakes` are the lowest and the highest number on the critical path of the `loads` without TFO that could be
    explained. `simple_ms` is PLT - handshakes x RTT, `predicted_ms` what playing the loads again gives; both medians.
    """

    page: str
    rtt_ms: float
    loads: int
    off_ms: float
    handshakes: tuple[int, int]
    simple_ms: float
    predicted_ms: float
    measured_ms: float | None

    def difference_percent(self, predicted_ms: float) -> float | None:
        """Return by how much a prediction is above what was measured, in percent of that; None when nothing was."""
        return (predicted_ms - self.measured_ms) / self.measured_ms * 100 if self.measured_ms else None


def predict(selection: Selection, page: str, rtt_ms: float) -> Prediction | None:
    """Return the prediction for one page and RTT; None without a load without TFO that has a HAR (logs of 2013)."""
    off, on = (selection.cells.get(Cell(page, rtt_ms, tfo), []) for tfo in (0, 1))
    explained = [(load, explanation) for load in off if (explanation := explain(load, rtt_ms))]
    if not explained:
        return None
    explanations = [explanation for _, explanation in explained]
    counts = [explanation.handshakes for explanation in explanations]
    return Prediction(
        page, rtt_ms, len(explained), _median_plt([load for load, _ in explained]) or 0.0, (min(counts), max(counts)),
        _median(explanations, "simple_prediction_ms"), _median(explanations, "predicted_plt_ms"), _median_plt(on))


def _median(explanations: Sequence[Explanation], name: str) -> float:
    return median([getattr(explanation, name) for explanation in explanations])


def _median_plt(loads: Sequence[LoadResult]) -> float | None:
    return median_if_any([load.plt_ms for load in loads if load.plt_ms is not None])
