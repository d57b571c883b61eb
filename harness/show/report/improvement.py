"""How much TFO saves at which RTT: the table's improvement with its confidence interval, as a chart and as a table."""

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from harness.analysis.improvement import Improvement, improvements
from harness.analysis.intervals import ENOUGH_PAIRS
from harness.analysis.row import rows_of
from harness.analysis.selection import Selection
from harness.analysis.stats import median_confidence
from harness.files.results import Results
from harness.show.inline_svg import inline_svg
from harness.show.labels import percent
from harness.show.report.tables import Section, table_of
from harness.show.sweep import draw_sweep, sweep_lines

COLUMNS = {"RTT (ms)": "rtt", "No TFO (s)": "off", "TFO (s)": "on", "Improvement": "percent", "Pairs of runs": "pairs",
           "From": "low", "To": "high", "Without 0?": "excludes 0"}


def improvement_section(results: Results, selection: Selection) -> Section:
    """Return the section that shows improvement against RTT."""
    found = improvements(results, selection)
    measured = [point for point in found if point.percent is not None]
    if not measured:
        return Section(["No page was measured both without and with TFO: there is no improvement to show."])
    table = table_of("Improvement of PLT by TFO, with its 95% confidence interval", rows_of(results, selection),
                     COLUMNS)
    label = "Improvement of page load time in percent against RTT in ms. " + " ".join(_spans(results, measured))
    svg = Markup(inline_svg(draw_sweep(results, selection), "improvement", label))
    return Section([*_words(measured), *sweep_lines(results, selection)], svg, table)


def _words(measured: Sequence[Improvement]) -> Iterator[str]:
    yield "How much shorter the median PLT is with TFO than without, in percent of the PLT without; negative is a " \
          "slow-down."
    counted = [point.pairs for point in measured if point.interval]
    if not counted:
        yield "No interval: that takes two runs or more that count both without and with TFO."
        return
    yield "Bars: 95% confidence intervals, bootstrapped over pairs of runs (same run without and with TFO). An " \
          "interval that holds 0 leaves open whether there is an effect."
    if (fewest := min(counted)) < ENOUGH_PAIRS:
        yield f"From fewer than {ENOUGH_PAIRS} pairs the bootstrap promises too much: of n = {fewest} its interval " \
              f"holds the true improvement in about {median_confidence(fewest):.0%} of experiments, not in 95%."


def _spans(results: Results, measured: Sequence[Improvement]) -> Iterator[str]:
    for page, url in results.urls.items():
        own = [point for point in measured if point.page == page]
        if own:
            yield f"{url}: " + ", ".join(f"{percent(point.percent)} at {point.rtt_name} ms" for point in own) + "."
