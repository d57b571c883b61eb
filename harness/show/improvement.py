"""What TFO improves at which RTT, measured, and predicted from the loads without it: a figure and tables."""

import statistics
from collections.abc import Iterator, Sequence

from matplotlib.figure import Figure

from harness.analysis.explanation import Prediction
from harness.analysis.row import Row, threshold
from harness.analysis.selection import Selection
from harness.analysis.stats import RESAMPLES
from harness.show.columns import table_of
from harness.show.figures import Point, draw_curves, framed
from harness.show.labels import doubtful_words, is_simulated, percent, short_names, synthetic_words
from harness.show.row_notes import too_few_runs
from harness.show.section import Section, chart_of

NAME = "improvement-vs-rtt"
LEAST_RTTS = 3
"""With fewer there is no curve to see."""
COLUMNS = {"RTT(ms)": "rtt", "n off": "n_off", "n on": "n_on", "off (s)": "median_off_ms", "on (s)": "median_on_ms",
           "MAD off": "deviation_off", "MAD on": "deviation_on", "Improv.": "improvement_percent",
           "95% low": "low_percent", "high": "high_percent", "pairs": "pairs of interval", "excludes 0": "excludes 0"}
"""Titles of under 8 characters each, as are the values, so that tabs align them."""
PREDICTED = {"RTT(ms)": "rtt", "PLT: no TFO (s)": "explained_off_ms", "Handshakes": "handshakes",
           "Predicted (s)": "predicted_ms", "PLT: TFO (s)": "explained_on_ms", "Difference": "difference"}
NOTES = (
    "Handshakes: TCP handshakes on the critical path of the loads without TFO (lowest to highest where they differ).",
    "Predicted: each load without TFO played again with every new connection one RTT shorter; the median of these. No "
    "load with TFO is used for it.",
    "Difference: (predicted - measured) / measured; positive when TFO saved more than predicted.",
)
OF_LOAD_EVENT = "PLT here: up to the load event, to which critical paths lead; the other tables have another metric."
CLEAN_PATH = "Predicted: for a path without the middlebox or the balancer, so the difference is what these cost."
SIMULATED = "Simulated, not measured (there are no loads with TFO): PLT with TFO as predicted from the loads without it"
UNPREDICTED = "No prediction: it needs loads without TFO, their HAR files, which logs of 2013 do not have, and " \
              "--cookies warm."


def improvement_section(selection: Selection) -> Section:
    """Return the section, with the figure where an improvement is known."""
    table = table_of("Improvement of PLT by TFO, with its 95% confidence interval", selection.rows, COLUMNS)
    known = [row for row in selection.rows if row.percent is not None]
    if not known:
        return Section("Improvement against RTT", [*_words(selection)], [table])
    label = "Improvement of page load time in percent against RTT in ms. " + " ".join(
        f"{row.url}: {percent(row.percent)} at {row.rtt_name} ms." for row in known)
    return Section("Improvement against RTT", [*_words(selection)], [
        chart_of(draw_improvement(selection), "improvement", label, table)])


def _words(selection: Selection) -> Iterator[str]:
    yield "off, on: median PLT without and with TFO; n loads each. MAD: median absolute deviation from it, in ms."
    yield f"95% low, high: limits of the improvement, bootstrapped over pairs of loads of the same run ({RESAMPLES} " \
          "resamples, percentiles, seed 1). Where pairs is less than n, those limits know less than the medians do."
    yield "excludes 0: whether 0, no improvement, lies outside those limits, and waits for a processor are not " \
          "all there is of it. Behind it: how sure that is, if not 95%."
    yield from too_few_runs(selection.rows)
    if worth_a_curve(selection):
        yield from threshold_lines(selection)


def worth_a_curve(selection: Selection) -> bool:
    """Tell whether there are enough RTTs for a curve, and a page of which an improvement is known."""
    return len(selection.results.rtts_ms) >= LEAST_RTTS and any(row.percent is not None for row in selection.rows)


def threshold_lines(selection: Selection) -> Iterator[str]:
    """Say for each page from which RTT on TFO matters, as far as the measured RTTs show it."""
    if not any(row.interval for row in selection.rows):
        return
    yield "From which RTT on does TFO matter? (95% interval of the improvement above 0 there and at all larger RTTs)"
    for page in selection.results.urls:
        rows = selection.of_page(page)
        if any(row.interval for row in rows):
            yield f"{rows[0].url}: {_answer(rows)}"
    yield "By chance one interval in 40 lies above 0 where there is nothing. Nothing is known between these RTTs."


def _answer(rows: Sequence[Row]) -> str:
    """Return from which RTT on TFO matters for a page, whose `rows` are in order of RTT."""
    first = threshold(rows)
    if first is None:
        return f"not {'even' if rows[-1].interval else 'known'} at {rows[-1].rtt_name} ms, the largest RTT measured"
    everywhere = "at all RTTs measured, " if first is rows[0] else ""
    return f"{everywhere}from {first.rtt_name} ms on"


def draw_improvement(selection: Selection) -> Figure:
    """Draw the improvement against the RTT: one line for each page, with the 95% intervals as error bars."""
    results = selection.results
    figure, [axes] = framed(
        (9, 5.4), "What TCP Fast Open saves of the page load time, against the round-trip time",
        "Improvement of the median; bars: 95% bootstrap interval over pairs of runs. "
        f"Where a bar crosses 0, there may be no effect.{synthetic_words(results, results.rtts_ms)}")
    axes.axhline(0, color="#555555", linewidth=1)
    names = short_names(results.urls)
    draw_curves(axes, {names[page]: [
        Point(row.rtt_ms, row.percent, *row.limits_percent) for row in selection.of_page(page)
        if row.percent is not None] for page in results.urls}, {row.rtt_ms: row.rtt_name for row in selection.rows})
    where = ", as recorded: at the median of the servers'" if results.rtt_names else ""
    axes.set_xlabel(f"Round-trip time (ms){where}")
    axes.set_ylabel("Improvement of the page load time (%)")
    return figure


def prediction_section(selection: Selection) -> Section:
    """Return the table predicted / measured / difference, and what its columns mean."""
    found = [row.prediction for row in selection.rows if row.prediction]
    if not found:
        return Section("Prediction", [UNPREDICTED])
    table = table_of("PLT with TFO, predicted from the loads without it and measured", selection.rows, PREDICTED)
    title = SIMULATED if is_simulated(selection.results) else "Prediction"
    return Section(title, [*_words_predicted(selection, found)], [table])


def _words_predicted(selection: Selection, found: Sequence[Prediction]) -> Iterator[str]:
    yield from NOTES
    if selection.metric != "load":
        yield OF_LOAD_EVENT
    if any(experiment.settings.get("middlebox") or experiment.settings.get("balancer", 1) != 1
           for experiment in selection.results.experiments):
        yield CLEAN_PATH
    for row in selection.rows:
        if row.prediction and row.doubtful[0]:
            yield f"{row.title}:{doubtful_words(row.doubtful[0])} What is predicted from it may not be the page's."
    replayed, simple = off_percent(found), off_percent(found, "simple_ms")
    if replayed:
        yield f"Off by {statistics.fmean(replayed):.1f}% on average, {max(replayed):.1f}% at most, over " \
              f"{len(replayed)} cells; PLT - handshakes x RTT would be off by {statistics.fmean(simple):.1f}% on " \
              f"average, {max(simple):.1f}% at most."


def off_percent(predicted: Sequence[Prediction], name: str = "predicted_ms") -> list[float]:
    """Return by how many percent, either way, each prediction called `name` is off. Only what was measured counts."""
    differences = (prediction.difference_percent(getattr(prediction, name)) for prediction in predicted)
    return [abs(difference) for difference in differences if difference is not None]
