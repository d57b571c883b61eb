"""Improvement as a function of the RTT: one figure of all pages, and for each page from which RTT on TFO matters."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from harness.analysis.improvement import Improvement, curve, improvement, threshold_ms
from harness.analysis.intervals import ENOUGH_PAIRS
from harness.analysis.selection import Selection
from harness.errors import printable
from harness.files.results import Results
from harness.show.inline_svg import BAR
from harness.show.interval_bars import draw_intervals
from harness.show.labels import short_names, synthetic_words
from harness.show.notes import NoteKind, doubt_lines

SWEEP_NAME = "improvement-vs-rtt"
LEAST_RTTS = 3
"""With fewer there is no curve to see."""

STYLES = (("#0072b2", "o", "-"), ("#d55e00", "s", "--"), ("#009e73", "^", "-."), ("#cc79a7", "D", ":"),
          ("#000000", "v", "-"), ("#e69f00", "P", "--"), ("#56b4e9", "X", "-."))
"""Colour, marker and line of each page. Colours after Okabe and Ito, "Color universal design" (2008), for any kind of
colour blindness; markers and lines tell the pages apart in black and white."""


SHIFT = 1.03
"""From page to page points move right by this factor, so that no page's bars hide another's; by less where they are so
many that they would come near the next RTT."""


def worth_a_curve(results: Results, selection: Selection) -> bool:
    """Tell whether there are enough RTTs for a curve, and a page of which an improvement is known."""
    return len(results.rtts_ms) >= LEAST_RTTS and any(curve(selection, page, results.rtts_ms) for page in results.urls)


def sweep_lines(results: Results, selection: Selection) -> Iterator[str]:
    """Say for each page from which RTT on TFO matters, as far as the measured RTTs show it."""
    curves = {page: [improvement(selection, page, rtt_ms) for rtt_ms in results.rtts_ms] for page in results.urls}
    intervals = [point.interval for points in curves.values() for point in points if point.interval]
    if not intervals:
        return
    yield "From which RTT on does TFO matter? (95% interval of the improvement above 0 there and at all larger RTTs)"
    for page, points in curves.items():
        if any(point.interval for point in points):
            yield f"  {printable(results.urls[page])}: {in_words(points)}"
    fewest, most = (limit(interval.pairs for interval in intervals) for limit in (min, max))
    rough = "" if fewest >= ENOUGH_PAIRS else \
        f"; under {ENOUGH_PAIRS} they are too narrow: take it as a hint, and measure with --until-ci 3"
    yield f"  Intervals of {fewest if fewest == most else f'{fewest} to {most}'} pairs of runs{rough}. By chance one " \
          "interval in 40 lies above 0 where there is nothing. Nothing is known between the RTTs measured."
    yield from map(printable, doubt_lines(results, selection, (NoteKind.LIVE_LEFT_OUT,)))


def in_words(points: Sequence[Improvement]) -> str:
    """Return the answer for one page, whose `points` are in order of RTT, those that were not measured among them."""
    threshold = threshold_ms(points)
    if threshold is None:
        known = "even" if points[-1].interval else "known"
        answer = f"not {known} at {points[-1].rtt_name} ms, the largest RTT measured"
    elif threshold == points[0].rtt_ms:
        return f"at all RTTs measured, from {points[0].rtt_name} ms on{_example(points[0])}"
    else:
        answer = f"from {next(point.rtt_name for point in points if point.rtt_ms == threshold)} ms on"
    return "; ".join([answer, *_below([point for point in points if threshold is None or point.rtt_ms < threshold])])


def _below(points: Sequence[Improvement]) -> Iterator[str]:
    """Say what was seen at the RTTs below the threshold."""
    nothing = [point for point in points if point.interval and not point.significant]
    for found, what in ((nothing, "no effect can be told from noise"),
                        ([point for point in points if point.helps], "all of the interval is above 0, though,"),
                        ([point for point in points if point.hurts], "TFO made it slower"),
                        ([point for point in points if point.interval is None and point.percent is not None],
                         "no interval, under 2 pairs of runs,")):
        if found:
            yield f"{what} at {_list(found)}{_example(found[-1])}"
    if unknown := [point for point in points if point.percent is None]:
        yield f"not measured both without and with TFO at {_list(unknown)}"


def _example(point: Improvement) -> str:
    if point.interval is None:
        return f" ({point.rtt_name} ms: {point.percent:.1f}%)"
    low, high = point.interval.low_percent, point.interval.high_percent
    return f" ({point.rtt_name} ms: {point.percent:.1f}%, interval {low:.1f} to {high:.1f}%)"


def _list(points: Sequence[Improvement]) -> str:
    return ", ".join(point.rtt_name for point in points) + " ms"


def draw_sweep(results: Results, selection: Selection) -> Figure:
    """Draw the improvement against the RTT: one line for each page, with the 95% intervals as error bars."""
    figure = Figure(figsize=(9, 5.4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.axhline(0, color="#555555", linewidth=1)
    shift = _shift(len(results.urls), results.rtts_ms)
    for place, (page, name) in enumerate(short_names(results.urls).items()):
        points = curve(selection, page, results.rtts_ms)
        if points:
            moved = shift ** (place - (len(results.urls) - 1) / 2)
            _draw_curve(axes, points, name, place, moved)
            for point in points:        # what report.js can point at: a row of the table beside the figure
                axes.scatter([point.rtt_ms * moved], [point.percent or 0.0], s=81, alpha=0, edgecolors="none",
                             gid=f"{BAR}{place}-{results.rtts_ms.index(point.rtt_ms)}")
    _label_axes(axes, results.rtts_ms, selection)
    figure.suptitle("What TCP Fast Open saves of the page load time, against the round-trip time", fontsize=12)
    for text in axes.legend(loc="best", fontsize=8, frameon=False).get_texts():
        text.set_parse_math(False)      # a URL may hold dollar signs
    synthetic = synthetic_words(results, results.rtts_ms)
    figure.supxlabel("Improvement of the median; bars: 95% bootstrap interval over pairs of runs. "
                     f"Where a bar crosses 0, there may be no effect.{synthetic}", fontsize=7.5, color="#444444")
    return figure


def _shift(pages: int, rtts_ms: Sequence[float]) -> float:
    """Return by which factor points move right from page to page: all of an RTT's keep to half the way to the next."""
    nearest = min((right / left for left, right in pairwise(sorted(rtts_ms)) if left > 0), default=SHIFT)
    return float(min(SHIFT, nearest ** (0.5 / max(pages - 1, 1))))


def _draw_curve(axes: Axes, points: Sequence[Improvement], name: str, place: int, shift: float) -> None:
    color = STYLES[place % len(STYLES)][0]
    _, marker, line = STYLES[(place + place // len(STYLES)) % len(STYLES)]      # another pair for each of 49 pages
    places = [point.rtt_ms * shift for point in points]
    axes.plot(places, [point.percent or 0.0 for point in points], color=color, marker=marker, markersize=5,
              linestyle=line, linewidth=1.5, label=name)
    draw_intervals(axes, places, points, ecolor=color, capsize=4)


def _label_axes(axes: Axes, rtts_ms: Sequence[float], selection: Selection) -> None:
    """Label the axes. RTTs are on a logarithmic axis (2 to 10 ms take as much room as 20 to 100), unless one is 0."""
    if min(rtts_ms) > 0:
        axes.set_xscale("log")
    axes.set_xticks(list(rtts_ms), labels=[selection.rtt_name(rtt_ms).replace(" ", "\n") for rtt_ms in rtts_ms])
    axes.minorticks_off()
    where = ", as recorded: at the median of the servers'" if selection.rtt_names else ""
    axes.set_xlabel(f"Round-trip time (ms){where}")
    axes.set_ylabel("Improvement of the page load time (%)")
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
