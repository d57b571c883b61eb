"""Theory beside measurement: PLT with TFO, predicted from the loads without TFO, and measured."""

import statistics
from collections.abc import Iterator, Sequence

from harness.analysis.explanation import Prediction
from harness.analysis.selection import Selection
from harness.show.answers import doubtful_words
from harness.show.columns import table_of
from harness.show.labels import is_simulated
from harness.show.notes import NoteKind, doubt_lines
from harness.show.section import Section

COLUMNS = {"RTT(ms)": "rtt", "PLT: no TFO (s)": "explained_off_ms", "Handshakes": "handshakes",
           "Predicted (s)": "predicted_ms", "PLT: TFO (s)": "explained_on_ms", "Difference": "difference"}
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


def prediction_section(selection: Selection) -> Section:
    """Return the table predicted / measured / difference, and what its columns mean."""
    found = [row.prediction for row in selection.rows if row.prediction]
    if not found:
        return Section("Prediction", [UNPREDICTED])
    table = table_of("PLT with TFO, predicted from the loads without it and measured", selection.rows, COLUMNS)
    title = SIMULATED if is_simulated(selection.results) else "Prediction"
    return Section(title, [*_words(selection, found)], [table])


def _words(selection: Selection, found: Sequence[Prediction]) -> Iterator[str]:
    yield from NOTES
    if selection.metric != "load":
        yield OF_LOAD_EVENT
    if any(experiment.cookies != "warm" for experiment in selection.results.experiments):
        yield NOT_ALL_COOKIES
    if any(experiment.settings.get("middlebox") or experiment.settings.get("balancer", 1) != 1
           for experiment in selection.results.experiments):
        yield CLEAN_PATH
    yield from doubt_lines(selection.rows, (NoteKind.LIVE_LEFT_OUT,))
    for row in selection.rows:
        if row.prediction and row.doubtful[0]:
            yield f"{row.title}:{doubtful_words(row.doubtful[0])} What is predicted from it may not be the page's."
    replayed, simple = _off_percent(found, "predicted_ms"), _off_percent(found, "simple_ms")
    if replayed:
        yield f"Off by {statistics.fmean(replayed):.1f}% on average, {max(replayed):.1f}% at most, over " \
              f"{len(replayed)} cells; PLT - handshakes x RTT would be off by {statistics.fmean(simple):.1f}% on " \
              f"average, {max(simple):.1f}% at most."


def _off_percent(predicted: Sequence[Prediction], name: str) -> list[float]:
    """Return by how many percent, either way, each prediction called `name` is off. Only what was measured counts."""
    differences = (prediction.difference_percent(getattr(prediction, name)) for prediction in predicted)
    return [abs(difference) for difference in differences if difference is not None]
