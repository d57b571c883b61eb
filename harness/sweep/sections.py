"""The sections of a sweep's report: figures and tables of all sites, in the order in which they are read.

The two figures show how the improvement is distributed over sites, and how it compares with theory.
"""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from harness.analysis.selection import select
from harness.analysis.stats import ENOUGH_PAIRS
from harness.files.pages import CLIENT
from harness.files.results import read_results
from harness.show.figures import STYLES, save_figure
from harness.show.labels import NOT_KNOWN, number, percent, seconds
from harness.show.report import write_report
from harness.show.section import Table, columns, plain_table
from harness.sweep.folder import SweepFolder
from harness.sweep.over_sites import Estimate, distribution, median_improvement, share_faster, theory_slope
from harness.sweep.plan import in_words
from harness.sweep.site_rows import AtRtt, SiteRow

SIZE = (8.0, 5.2)
ByRtt = Mapping[float, Sequence[AtRtt]]
"""All sites that were measured at each RTT (ms)."""

SHOWN = 10
"""Best and worst sites, whose waterfalls are made."""


def draw_ecdf(sites: ByRtt, title: str) -> Figure:
    """Draw the share of sites whose improvement is at most x, for each RTT, with its 95% band."""
    figure, axes = _axes(title, "Improvement of page load time with TFO (%)", "Share of sites with at most that")
    for place, (rtt_ms, found) in enumerate(sites.items()):
        (colour, _, line), curve = STYLES[place % len(STYLES)], distribution(found)
        x = np.concatenate([curve.x[:1], curve.x])
        axes.step(x, np.concatenate([[0.0], curve.share]), where="post", color=colour, linestyle=line,
                  label=f"RTT {rtt_ms:g} ms, {curve.sites} sites")
        if curve.low.size:
            axes.fill_between(curve.x, curve.low, curve.high, step="post", color=colour, alpha=0.15, linewidth=0)
    axes.axvline(0, color="#666666", linewidth=0.8)
    axes.set_ylim(0, 1.02)
    axes.legend(loc="lower right", fontsize=9)
    return figure


def draw_theory(sites: ByRtt, title: str) -> Figure:
    """Draw each site's improvement against handshakes x RTT / PLT, which is what theory says, with theory's line."""
    figure, axes = _axes(title, "Handshakes on the critical path that TFO can save x RTT / PLT (%)",
                         "Improvement of page load time with TFO (%)")
    most = 1.0
    for place, (rtt_ms, found) in enumerate(sites.items()):
        (colour, marker, _), slope = STYLES[place % len(STYLES)], theory_slope(found)
        points = [(at.theory_percent, at) for at in found if at.theory_percent is not None]
        x, y = [theory for theory, _ in points], [at.percent for _, at in points]
        errors = np.clip(np.array([at.errors_percent for _, at in points]).reshape(-1, 2), 0, None)
        words = "" if slope is None else f", slope {slope.value:.2f}" + (
            f" ({slope.low:.2f} to {slope.high:.2f})" if slope.low is not None else "")
        axes.errorbar(x, y, yerr=errors.T, fmt=marker, color=colour, markersize=4.5, elinewidth=0.6, alpha=0.8,
                      label=f"RTT {rtt_ms:g} ms{words}")
        most = max([most, *x, *y])
    axes.plot([0, most], [0, most], color="#000000", linewidth=1, label="theory: slope 1")
    axes.axhline(0, color="#666666", linewidth=0.8)
    axes.legend(loc="upper left", fontsize=9)
    return figure


def _axes(title: str, x: str, y: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=SIZE, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set(title=title, xlabel=x, ylabel=y, axisbelow=True)
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


@dataclass(frozen=True)
class Drawing:
    """A figure in the report: its file's name, the PNG in base64, and what it shows in a sentence."""

    name: str
    data: str
    label: str


@dataclass(frozen=True)
class ReportSection:
    """A section of the report."""

    title: str
    lines: list[str] = field(default_factory=list)
    figures: list[Drawing] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)


def combination_sections(folder: SweepFolder, ending: str, options: Sequence[str], rows: Sequence[SiteRow],
                         ) -> list[ReportSection]:
    """Return the sections of one combination of `options`, and write its figures and waterfalls.

    `ending` is in the names of its files where there are several combinations.
    """
    # Its own RTTs: --delayhome and --paper in a grid make others of the same delays.
    by_rtt: ByRtt = {rtt_ms: [row.at[rtt_ms] for row in rows if rtt_ms in row.at]
                     for rtt_ms in sorted({rtt_ms for row in rows for rtt_ms in row.at})}
    what, draw = (f": {in_words(options)}" if ending else ""), partial(_drawn, folder, ending)
    over = ReportSection(f"Improvement over sites{what}", [_how_sure(by_rtt)], tables=[_summary_table(by_rtt)])
    theory = ReportSection(f"Improvement and handshakes{what}", [
        "Each TCP handshake on a page's critical path costs one RTT, and TFO saves it where the request fits into the "
        "SYN. So theory expects an improvement of handshakes x RTT / PLT. A site lies below the line where another "
        "chain of requests becomes the longest one, or where a link was full."])
    if by_rtt:
        over.figures.append(draw("ecdf", draw_ecdf(by_rtt, over.title), "The share of sites whose improvement is at "
                                 "most x, at each RTT. Shaded: 95% band, pointwise, bootstrapped over sites (none for "
                                 "fewer than 5)."))
    if any(at.theory_percent is not None for found in by_rtt.values() for at in found):
        theory.figures.append(draw("theory", draw_theory(by_rtt, theory.title), "Each site's improvement with its own "
                                   "95% interval, against what its handshakes come to. In the legend: the slope of a "
                                   "line through the origin."))
    return [over, theory, _all_sites(folder, what, rows, [*by_rtt])]


def _drawn(folder: SweepFolder, ending: str, name: str, figure: Figure, label: str) -> Drawing:
    path = folder.path / f"{name}{ending}.png"
    save_figure(figure, path)
    return Drawing(path.name, base64.b64encode(path.read_bytes()).decode(), label)


def _summary_table(by_rtt: ByRtt) -> Table:
    body = []
    for rtt_ms, found in by_rtt.items():
        middle, faster = median_improvement(found), share_faster(found)
        body.append([f"{rtt_ms:g}", str(middle.sites), _percent(middle),
                     f"{_percent(faster, 100)} of {faster.sites}" if faster else NOT_KNOWN,
                     str(sum(at.hurts for at in found)) if faster else NOT_KNOWN])
    return plain_table("Over sites; 95% intervals from a bootstrap of sites, of the share Clopper and Pearson's; "
                       "the share is that of the sites with an interval of their own", columns(
        "RTT (ms)", "Sites", "Median improvement", "Sites faster with TFO (own interval above 0)",
        "Sites slower (own interval below 0)"), body)


def _how_sure(by_rtt: ByRtt) -> str:
    """Say how reliable a site's own interval is."""
    fewest = min((at.pairs for found in by_rtt.values() for at in found), default=0)
    if fewest >= ENOUGH_PAIRS:
        return f"Each site's own interval comes from {fewest} pairs of loads or more."
    return (f"Some sites' own intervals come from as few as {fewest} pairs of loads: under {ENOUGH_PAIRS} such an "
            "interval is too narrow, and a single pair gives none. Medians over sites do without them.")


def _percent(estimate: Estimate, factor: float = 1) -> str:
    interval = "" if estimate.low is None or estimate.high is None else \
        f" ({estimate.low * factor:.1f} to {estimate.high * factor:.1f})"
    return f"{estimate.value * factor:.1f}%{interval}"


def _all_sites(folder: SweepFolder, what: str, rows: Sequence[SiteRow], rtts_ms: Sequence[float]) -> ReportSection:
    """Return the table of all sites, the best first, and make the waterfalls that its first and last rows lead to."""
    ranked = sorted((row for row in rows if row.at),
                    key=lambda row: -row.at[rtts_ms[-1]].percent if rtts_ms[-1] in row.at else float("inf"))
    body: list[list[str]] = []
    for place, row in enumerate(ranked):
        name = row.outcome.url
        if min(place, len(ranked) - 1 - place) < SHOWN:
            results = read_results(folder.results(row.outcome.key) / CLIENT)
            write_report(select(results, "load"), folder.path / "waterfalls" / f"{row.outcome.key}.html")
            name = Markup('<a href="waterfalls/{}.html">{}</a>').format(row.outcome.key, name)
        body.append([name, *(cell for rtt_ms in rtts_ms for cell in _cells(row.at.get(rtt_ms)))])
    heads = columns("Site", *(f"{title} at {rtt_ms:g} ms" for rtt_ms in rtts_ms for title in (
        "PLT, no TFO (s),", "Improvement", "95% interval", "Handshakes x RTT / PLT", "Predicted")))
    return ReportSection(f"All sites{what}", [
        f"The best first, by the improvement at the largest RTT. The names of the first and the last {SHOWN} lead to "
        "their requests, one by one, without and with TFO."] if ranked else [], tables=[
            plain_table("Every site measured", heads, body)])


def _cells(at: AtRtt | None) -> list[str]:
    if at is None:
        return [NOT_KNOWN] * 5
    interval = at.interval
    return [seconds(at.off_ms), percent(at.percent),
            f"{interval.low_percent:.1f} to {interval.high_percent:.1f}" if interval else NOT_KNOWN,
            number(at.theory_percent, "{:.1f}%"), percent(at.predicted_percent)]


def failure_section(rows: Sequence[SiteRow]) -> ReportSection:
    """Return the section of the sites that were not measured, or only in part, and why."""
    bad = [row for row in rows if row.outcome.status != "measured"]
    return ReportSection(
        "Not measured, or in part", [] if bad else ["None: every site of the list was measured."],
        tables=[plain_table(f"Sites: {len({row.outcome.url for row in bad})}", columns(
            "Site", words=("Settings", "Status", "Machine", "Reason")), [
                [row.outcome.url, in_words(row.outcome.options) if row.outcome.key else NOT_KNOWN, row.status,
                 row.outcome.machine or NOT_KNOWN, row.why or NOT_KNOWN] for row in bad])])
