"""How much TFO saves at which RTT: the table's improvement with its confidence interval, as a chart and as a table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from harness.intervals import ENOUGH_PAIRS, Interval, improvement_interval, pairs
from harness.report.section import Section
from harness.report.tables import UNKNOWN, Table, columns, number
from harness.results import Results
from harness.selection import Cell, Selection
from harness.stats import improvement_percent, median_confidence

INKS = 6
"""How many colours report.css has for pages; symbols tell apart what shares one."""
LONGEST_NAME = 44
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "star", "x")


@dataclass(frozen=True)
class Improvement:
    """One page at one RTT; None where it cannot be known. `pairs` is how many runs count without and with TFO."""

    page: str
    rtt_ms: float
    off_ms: float | None
    on_ms: float | None
    percent: float | None
    pairs: int
    interval: Interval | None


def find_improvements(results: Results, selection: Selection) -> list[Improvement]:
    """Return the improvement of every page at every RTT, in the table's order."""
    return [_improvement(selection, page, rtt_ms) for page in results.urls for rtt_ms in results.rtts_ms]


def improvement_section(results: Results, selection: Selection) -> Section:
    """Return the section that shows improvement against RTT."""
    found = find_improvements(results, selection)
    measured = [one for one in found if one.percent is not None]
    if not measured:
        return Section(["No page was measured both without and with TFO: there is no improvement to show."])
    table = Table("Improvement of PLT by TFO, with its 95% confidence interval",
                  columns("RTT (ms)", "No TFO (s)", "TFO (s)", "Improvement", "Pairs of runs", "From", "To",
                          words=["Without 0?"]),
                  [(url, [_row(one) for one in found if one.page == page]) for page, url in results.urls.items()])
    label = "Improvement of page load time in percent against RTT in ms. " + " ".join(_spans(results, measured))
    return Section(list(_words(measured)), _figure(results, measured), label, table)


def _improvement(selection: Selection, page: str, rtt_ms: float) -> Improvement:
    off, on = (selection.median_ms(Cell(page, rtt_ms, tfo)) for tfo in (0, 1))
    percent = None if off is None or on is None else improvement_percent(off, on)
    of_pairs = pairs(selection, page, rtt_ms)
    return Improvement(page, rtt_ms, off, on, percent, len(of_pairs[0]), improvement_interval(*of_pairs))


def _row(one: Improvement) -> Sequence[str]:
    seconds = [number(None if ms is None else ms / 1000, "{:.3f}") for ms in (one.off_ms, one.on_ms)]
    low, high = (one.interval.low_percent, one.interval.high_percent) if one.interval else (None, None)
    without = UNKNOWN if one.interval is None else "yes" if one.interval.excludes_zero else "no"
    return [f"{one.rtt_ms:g}", *seconds, _percent(one.percent), str(one.pairs), _percent(low), _percent(high), without]


def _percent(value: float | None) -> str:
    return number(None if value is None else round(value, 2) + 0.0, "{:.2f}%")      # + 0.0: no "-0.00%"


def _words(measured: Sequence[Improvement]) -> Iterator[str]:
    yield "How much shorter the median PLT is with TFO than without, in percent of the PLT without; negative is a " \
          "slow-down."
    counted = [one.pairs for one in measured if one.interval]
    if not counted:
        yield "No interval: that takes two runs or more that count both without and with TFO."
        return
    yield "Bars: 95% confidence intervals, bootstrapped over pairs of runs (same run without and with TFO). One that " \
          "holds 0 leaves open whether there is an effect."
    if (fewest := min(counted)) < ENOUGH_PAIRS:
        yield f"From fewer than {ENOUGH_PAIRS} pairs the bootstrap promises too much: of n = {fewest} its interval " \
              f"holds the true improvement in about {median_confidence(fewest):.0%} of experiments, not in 95%."


def _spans(results: Results, measured: Sequence[Improvement]) -> Iterator[str]:
    for page, url in results.urls.items():
        own = [one for one in measured if one.page == page]
        if own:
            yield f"{url}: " + ", ".join(f"{_percent(one.percent)} at {one.rtt_ms:g} ms" for one in own) + "."


def _figure(results: Results, measured: Sequence[Improvement]) -> dict[str, Any]:
    rtts_ms = sorted({one.rtt_ms for one in measured})
    names = short_names(results.urls)
    pages = [page for page in results.urls if any(one.page == page for one in measured)]
    traces = [_trace(place, len(pages), names[page], [one for one in measured if one.page == page], rtts_ms)
              for place, page in enumerate(pages)]
    return {"data": traces, "layout": {
        "height": 460, "hovermode": "closest",
        "xaxis": {"title": {"text": "RTT (ms)"}, "tickvals": list(range(len(rtts_ms))), "zeroline": False,
                  "ticktext": [f"{rtt_ms:g}" for rtt_ms in rtts_ms], "range": [-0.5, len(rtts_ms) - 0.5]},
        "yaxis": {"title": {"text": "Improvement (%)"}, "zeroline": True, "zerolinewidth": 2, "rangemode": "tozero"}}}


def _trace(place: int, pages: int, name: str, points: Sequence[Improvement], rtts_ms: Sequence[float],
           ) -> dict[str, Any]:
    """Points of one page. RTTs stand evenly spaced, whatever they are; pages a little beside each other."""
    aside = 0.4 * ((place + 0.5) / pages - 0.5)
    limits = [(one.interval.low_percent, one.interval.high_percent) if one.interval else (one.percent, one.percent)
              for one in points]
    percents = [one.percent or 0.0 for one in points]
    return {
        "type": "scatter", "mode": "lines+markers", "name": escape(name, quote=False),
        "x": [round(rtts_ms.index(one.rtt_ms) + aside, 4) for one in points],
        "y": [round(percent, 3) for percent in percents],
        "error_y": {"type": "data", "symmetric": False, "thickness": 2, "width": 5,
                    "array": [round(max(0.0, (high or 0.0) - percent), 3)
                              for (_, high), percent in zip(limits, percents, strict=True)],
                    "arrayminus": [round(max(0.0, percent - (low or 0.0)), 3)
                                   for (low, _), percent in zip(limits, percents, strict=True)]},
        "hoverinfo": "text", "hovertext": [_hover(name, one) for one in points],
        "meta": {"ink": str(place % INKS)}, "line": {"width": 1.5, "dash": "dot"},
        "marker": {"size": 9, "symbol": SYMBOLS[place % len(SYMBOLS)]},
    }


def _hover(name: str, one: Improvement) -> str:
    between = f"<br>95% interval {_percent(one.interval.low_percent)} to {_percent(one.interval.high_percent)}" \
        if one.interval else "<br>no interval: too few pairs of runs"
    return f"<b>{escape(name, quote=False)}</b><br>RTT {one.rtt_ms:g} ms: {_percent(one.percent)}{between}"


def short_names(urls: dict[str, str]) -> dict[str, str]:
    """Return for each page what a legend calls it: its URL without the scheme, cut, unless two share that."""
    cut = {page: _cut(url.partition("://")[2] or url) for page, url in urls.items()}
    taken = list(cut.values())
    return {page: name if taken.count(name) == 1 else urls[page] for page, name in cut.items()}


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME - 1]}…"
