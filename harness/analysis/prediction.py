"""PLT with TFO as predicted from the loads without it, beside what was measured."""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.analysis.cell import Cell
from harness.analysis.explanation import Explanation
from harness.analysis.stats import median, median_if_any
from harness.files.results import LoadResult


@dataclass(frozen=True)
class Prediction:
    """Of a row; times in ms. `measured_ms` is the median with TFO, None when it was not measured.

    `handshakes` are the lowest and the highest number on the critical path of the `loads` without TFO that could be
    explained. `simple_ms` is PLT - handshakes x RTT, `predicted_ms` what playing the loads again gives; both medians.
    """

    loads: int
    off_ms: float
    handshakes: tuple[int, int]
    simple_ms: float
    predicted_ms: float
    measured_ms: float | None

    def difference_percent(self, predicted_ms: float) -> float | None:
        """Return by how much a prediction is above what was measured, in percent of that; None when nothing was."""
        return (predicted_ms - self.measured_ms) / self.measured_ms * 100 if self.measured_ms else None


def predict(explained: Sequence[tuple[LoadResult, Explanation]], on: Cell) -> Prediction | None:
    """Return the prediction from the `explained` loads without TFO, `on` are those with it.

    None without a load that has a HAR (logs of 2013).
    """
    if not explained:
        return None
    explanations = [explanation for _, explanation in explained]
    counts = [explanation.handshakes for explanation in explanations]
    return Prediction(
        len(explained), _median_plt([load for load, _ in explained]) or 0.0, (min(counts), max(counts)),
        median([found.simple_prediction_ms for found in explanations]),
        median([found.predicted_plt_ms for found in explanations]), _median_plt(on.loads))


def _median_plt(loads: Sequence[LoadResult]) -> float | None:
    return median_if_any([load.plt_ms for load in loads if load.plt_ms is not None])
