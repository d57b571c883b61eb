"""The table that puts the theory beside the measurement: PLT with TFO as predicted from the loads without it."""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.explanation import Explanation, explain
from harness.results import LoadResult, Results
from harness.selection import Cell, Selection

HEADER = "Page\tRTT(ms)\tPLT: no TFO (s)\tHandshakes\tPredicted (s)\tPLT: TFO (s)\tDifference"
NOT_MEASURED = "-"
NOTES = (
    "Handshakes: TCP handshakes on the critical path of the loads without TFO (lowest to highest where they differ).",
    "Predicted: each load without TFO played again with every new connection one RTT shorter; the median of these. No "
    "load with TFO is used for it.",
    "Difference: (predicted - measured) / measured; positive when TFO saved more than predicted.",
)


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
    counts = [one.handshakes for one in explanations]
    return Prediction(
        page, rtt_ms, len(explained), _median_plt([load for load, _ in explained]) or 0.0, (min(counts), max(counts)),
        _median(explanations, "simple_prediction_ms"), _median(explanations, "predicted_plt_ms"), _median_plt(on))


def prediction_lines(results: Results, selection: Selection) -> Iterator[str]:
    """The table predicted / measured / difference, tab-separated, and the lines under it that say what it means.

    PLT is the load event's time here, whatever `selection.metric` is: it is what has a critical path.
    """
    yield HEADER
    predictions = []
    for page in results.urls:
        yield page
        for rtt_ms in results.rtts_ms:
            one = predict(selection, page, rtt_ms)
            yield f"\t{rtt_ms:g}\t" + (_columns(one) if one else "\t".join([NOT_MEASURED] * 5))
            predictions += [one] if one else []
    yield ""
    if not predictions:
        yield "No prediction: it needs loads without TFO and their HAR files, which logs of 2013 do not have."
        return
    yield from NOTES
    yield from _accuracy(predictions)


def _columns(one: Prediction) -> str:
    low, high = one.handshakes
    difference = one.difference_percent(one.predicted_ms)
    return "\t".join((
        f"{one.off_ms / 1000:.3f}", f"{low}" if low == high else f"{low} to {high}", f"{one.predicted_ms / 1000:.3f}",
        NOT_MEASURED if one.measured_ms is None else f"{one.measured_ms / 1000:.3f}",
        NOT_MEASURED if difference is None else f"{round(difference, 1) + 0.0:+.1f}%"))     # + 0.0: no "-0.0%"


def _accuracy(predictions: Sequence[Prediction]) -> Iterator[str]:
    """How far off the predictions are, and how far the simple rule of a student's own arithmetic would be."""
    replayed = [abs(off) for one in predictions if (off := one.difference_percent(one.predicted_ms)) is not None]
    simple = [abs(off) for one in predictions if (off := one.difference_percent(one.simple_ms)) is not None]
    if replayed:
        yield f"Off by {statistics.fmean(replayed):.1f}% on average, {max(replayed):.1f}% at most, over " \
              f"{len(replayed)} cells; PLT - handshakes x RTT would be off by {statistics.fmean(simple):.1f}% on " \
              f"average, {max(simple):.1f}% at most."


def _median(explanations: Sequence[Explanation], name: str) -> float:
    return float(statistics.median(getattr(one, name) for one in explanations))


def _median_plt(loads: Sequence[LoadResult]) -> float | None:
    values = [load.plt_ms for load in loads if load.plt_ms is not None]
    return float(statistics.median(values)) if values else None
