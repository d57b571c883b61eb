"""The table that compares theory with measurement: PLT with TFO, predicted from the loads without TFO, and measured."""

import statistics
from collections.abc import Iterator, Sequence

from harness.analysis.answers import doubtful_without_tfo
from harness.analysis.prediction import Prediction
from harness.analysis.row import rows_of
from harness.analysis.selection import Selection
from harness.errors import printable
from harness.files.results import Results
from harness.show.answers import doubtful_words
from harness.show.cells import tabbed
from harness.show.notes import NoteKind, doubt_lines

COLUMNS = {"RTT(ms)": "rtt", "PLT: no TFO (s)": "explained off", "Handshakes": "handshakes of all",
           "Predicted (s)": "predicted", "PLT: TFO (s)": "explained on", "Difference": "difference"}
NOTES = (
    "Handshakes: TCP handshakes on the critical path of the loads without TFO (lowest to highest where they differ).",
    "Predicted: each load without TFO played again with every new connection one RTT shorter; the median of these. No "
    "load with TFO is used for it.",
    "Difference: (predicted - measured) / measured; positive when TFO saved more than predicted.",
)
OF_LOAD_EVENT = "PLT here: up to the load event, to which critical paths lead; the other tables have another metric."
NOT_ALL_COOKIES = "A connection that began before a cookie for its server had come is predicted to save nothing."
CLEAN_PATH = "Predicted: for a path without the middlebox or the balancer, so the difference is what these cost."
SIMULATED = "Simulated, not measured (there are no loads with TFO): PLT with TFO as predicted from the loads without it"
UNPREDICTED = "No prediction: it needs loads without TFO and their HAR files, which logs of 2013 do not have."


def prediction_lines(results: Results, selection: Selection) -> Iterator[str]:
    """Give the table predicted / measured / difference, tab-separated, and under it what its columns mean."""
    yield from tabbed(rows_of(results, selection), COLUMNS)
    yield ""
    yield from map(printable, prediction_notes(results, selection))


def simulation_lines(results: Results, selection: Selection) -> Iterator[str]:
    """Give the same table for when TFO could not be measured, with a line above it that says so."""
    yield SIMULATED
    yield from prediction_lines(results, selection)


def prediction_notes(results: Results, selection: Selection) -> Iterator[str]:
    """Give the lines under the table: what its columns mean, and how far off the predictions are."""
    found = [row.prediction for row in rows_of(results, selection) if row.prediction]
    if not found:
        yield UNPREDICTED
        return
    yield from NOTES
    if selection.metric != "load":
        yield OF_LOAD_EVENT
    if any(experiment.cookies != "warm" for experiment in results.experiments):
        yield NOT_ALL_COOKIES
    if any(experiment.settings.get("middlebox") or experiment.settings.get("balancer", 1) > 1
           for experiment in results.experiments):
        yield CLEAN_PATH
    yield from doubt_lines(results, selection, (NoteKind.LIVE_LEFT_OUT,))
    for prediction in found:
        if urls := doubtful_without_tfo(selection, prediction.page, prediction.rtt_ms):
            yield f"{prediction.page} at {selection.rtt_name(prediction.rtt_ms)} ms:{doubtful_words(urls)} What is " \
                  "predicted from it may not be the page's."
    yield from _accuracy(found)


def _accuracy(found: Sequence[Prediction]) -> Iterator[str]:
    """Say how far off the predictions are, and how far the simple rule (PLT - handshakes x RTT) would be."""
    replayed = _differences(found, "predicted_ms")
    simple = _differences(found, "simple_ms")
    if replayed:
        yield f"Off by {statistics.fmean(replayed):.1f}% on average, {max(replayed):.1f}% at most, over " \
              f"{len(replayed)} cells; PLT - handshakes x RTT would be off by {statistics.fmean(simple):.1f}% on " \
              f"average, {max(simple):.1f}% at most."


def _differences(predicted: Sequence[Prediction], name: str) -> list[float]:
    """Return by how many percent, either way, each prediction called `name` is off. Only what was measured counts."""
    differences = (prediction.difference_percent(getattr(prediction, name)) for prediction in predicted)
    return [abs(difference) for difference in differences if difference is not None]
