"""The sections of a sweep's report: figures and tables of all sites, in the order in which they are read."""

import base64
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from markupsafe import Markup
from matplotlib.figure import Figure

from harness.analysis.intervals import ENOUGH_PAIRS
from harness.analysis.selection import select
from harness.files.result_names import CLIENT
from harness.files.results import read_results
from harness.show.figures import save_figure
from harness.show.labels import NOT_KNOWN, number, percent, seconds
from harness.show.report import write_report
from harness.show.section import Table, columns, plain_table
from harness.sweep.figures import draw_ecdf, draw_theory
from harness.sweep.folder import SweepFolder
from harness.sweep.outcome import UnitOutcome
from harness.sweep.over_sites import Estimate, distribution, median_improvement, share_faster, theory_slope
from harness.sweep.plan import in_words
from harness.sweep.site_rows import AtRtt, SiteRow

SHOWN = 10
"""Best and worst sites, whose waterfalls are made."""


@dataclass
class Drawing:
    """A figure in the report: a PNG in base64, and what it shows in a sentence."""

    data: str
    label: str


@dataclass
class ReportSection:
    """A section of the report."""

    title: str
    lines: list[str] = field(default_factory=list)
    figures: list[Drawing] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)


@dataclass
class ReportContext:
    """What the report is about: which sweep, and at which RTTs in ms.

    `written` are the files that were written for it, `linked` the keys of the units that have a waterfall to link to.
    """

    folder: SweepFolder
    rtts_ms: Sequence[float]
    written: list[Path]
    linked: set[str] = field(default_factory=set)


def result_parts(context: ReportContext, what: str, ending: str, rows: Sequence[SiteRow]) -> list[ReportSection]:
    """Return the sections of one combination of options, and write its figures and waterfalls.

    `what` names the combination in titles, `ending` in file names.
    """
    # Its own RTTs: --delayhome and --paper in a grid make others of the same delays.
    rtts_ms = [rtt_ms for rtt_ms in context.rtts_ms if any(row.at_rtt(rtt_ms) for row in rows)]
    context = replace(context, rtts_ms=rtts_ms)
    curves = {rtt_ms: curve for rtt_ms in rtts_ms if (curve := distribution(rows, rtt_ms))}
    points = {rtt_ms: [found for row in rows if (found := row.at_rtt(rtt_ms))] for rtt_ms in rtts_ms}
    slopes = {rtt_ms: slope for rtt_ms in rtts_ms if (slope := theory_slope(points[rtt_ms]))}
    over = ReportSection(f"Improvement over sites{what}", [_how_sure(rows)], tables=[_summary_table(rows, rtts_ms)])
    if curves:
        over.figures = [_drawn(context, f"ecdf{ending}", draw_ecdf(curves, f"Improvement over sites{what}"),
                               "The share of sites whose improvement is at most x, at each RTT. Shaded: 95% band, "
                               "pointwise, bootstrapped over sites (none for fewer than 5).")]
    theory = ReportSection(f"Improvement and handshakes{what}", [
        "Each TCP handshake on a page's critical path costs one RTT, and TFO saves it where the request fits into the "
        "SYN. So theory expects an improvement of handshakes x RTT / PLT. A site lies below the line where another "
        "chain of requests becomes the longest one, or where a link was full."])
    if any(option.startswith("--rtt=recorded") for row in rows for option in row.outcome.options):
        theory.lines.append("Here (--rtt recorded) each server has an RTT of its own, and the RTT in handshakes x RTT "
                            "/ PLT is the nominal one, their median: a site whose handshakes go to nearer or to "
                            "farther servers is off the line for that reason, too.")
    if slopes:
        figure = draw_theory(rows, slopes, f"Improvement and handshakes{what}")
        theory.figures = [_drawn(context, f"theory{ending}", figure, "Each site's improvement with its own 95% "
                                 "interval, against what its handshakes come to. In the legend: the slope of a line "
                                 "through the origin.")]
    table = ReportSection(f"All sites{what}", tables=[_site_table(context, rows)])
    return [over, theory, _extremes(context, rows, what), table]


def _drawn(context: ReportContext, name: str, figure: Figure, label: str) -> Drawing:
    path = context.folder.path / f"{name}.png"
    save_figure(figure, path)
    context.written.append(path)
    return Drawing(base64.b64encode(path.read_bytes()).decode(), label)


def _summary_table(rows: Sequence[SiteRow], rtts_ms: Sequence[float]) -> Table:
    body = []
    for rtt_ms in rtts_ms:
        middle, faster = median_improvement(rows, rtt_ms), share_faster(rows, rtt_ms)
        if middle:
            slower = sum(at.verdict == "slower" for row in rows if (at := row.at_rtt(rtt_ms)))
            body.append([f"{rtt_ms:g}", str(middle.sites), _percent(middle),
                         f"{_percent(faster, 100)} of {faster.sites}" if faster else NOT_KNOWN,
                         str(slower) if faster else NOT_KNOWN])
    return plain_table("Over sites; 95% intervals from a bootstrap of sites, of the share Clopper and Pearson's; "
                       "the share is that of the sites with an interval of their own", columns(
        "RTT (ms)", "Sites", "Median improvement", "Sites faster with TFO (own interval above 0)",
        "Sites slower (own interval below 0)"), body)


def _how_sure(rows: Sequence[SiteRow]) -> str:
    """Say how reliable a site's own interval is."""
    pairs = [at.pairs for row in rows for at in row.at]
    fewest = min(pairs, default=0)
    if fewest >= ENOUGH_PAIRS:
        return f"Each site's own interval comes from {fewest} pairs of loads or more."
    return (f"Some sites' own intervals come from as few as {fewest} pairs of loads: under {ENOUGH_PAIRS} such an "
            "interval is too narrow, and a single pair gives none. Medians over sites do without them.")


def _percent(estimate: Estimate, factor: float = 1) -> str:
    interval = "" if estimate.low is None or estimate.high is None else \
        f" ({estimate.low * factor:.1f} to {estimate.high * factor:.1f})"
    return f"{estimate.value * factor:.1f}%{interval}"


def _extremes(context: ReportContext, rows: Sequence[SiteRow], what: str) -> ReportSection:
    """Return the best and the worst sites at the largest RTT, and make their waterfalls."""
    part, rtts_ms = ReportSection(f"Best and worst sites{what}"), context.rtts_ms
    if not rtts_ms:
        return part
    rtt_ms = rtts_ms[-1]
    ranked = sorted((row for row in rows if row.at_rtt(rtt_ms)), key=lambda row: -_at(row, rtt_ms).percent)
    best, worst = ranked[:SHOWN], ranked[SHOWN:][-SHOWN:][::-1]
    for row in (*best, *worst):
        results = read_results(context.folder.results(row.outcome.key) / CLIENT)
        write_report(select(results, "load"), context.folder.path / "waterfalls" / f"{row.outcome.key}.html")
        context.linked.add(row.outcome.key)
    part.lines = [f"By the improvement at {rtt_ms:g} ms RTT. A site's name leads to its requests, one by one, without "
                  "and with TFO."]
    part.tables = [_site_table(context, best, "Best")] + ([_site_table(context, worst, "Worst")] if worst else [])
    return part


def _at(row: SiteRow, rtt_ms: float) -> AtRtt:
    found = row.at_rtt(rtt_ms)
    assert found is not None
    return found


def _name(context: ReportContext, outcome: UnitOutcome) -> str:
    """Return the site's URL for a table, as a link where this unit has a waterfall."""
    if outcome.key not in context.linked:
        return outcome.url
    return Markup('<a href="waterfalls/{}.html">{}</a>').format(outcome.key, outcome.url)


def _site_table(context: ReportContext, rows: Sequence[SiteRow], caption: str = "Every site measured") -> Table:
    rtts_ms = context.rtts_ms
    heads = columns("Site", "Requests", "Hosts", "Connections", "kB", *(f"{what} at {rtt_ms:g} ms" for rtt_ms in rtts_ms
                    for what in ("PLT, no TFO (s),", "Improvement", "95% interval", "Handshakes", "Predicted")))
    body = []
    for row in rows:
        if row.at:
            cells = [cell for rtt_ms in rtts_ms for cell in _cells(row.at_rtt(rtt_ms))]
            counts = (row.requests, row.hosts, row.connections, row.bytes and row.bytes / 1000)
            body.append([_name(context, row.outcome), *map(number, counts), *cells])
    return plain_table(caption, heads, body)


def _cells(at: AtRtt | None) -> list[str]:
    if at is None:
        return [NOT_KNOWN] * 5
    interval = NOT_KNOWN if at.low_percent is None else f"{at.low_percent:.1f} to {at.high_percent:.1f}"
    return [seconds(at.off_ms), percent(at.percent), interval, number(at.handshakes, "{:g}"),
            percent(at.predicted_percent)]


def failure_part(context: ReportContext, rows: Sequence[SiteRow]) -> ReportSection:
    """Return the section of the sites that were not measured, or only in part, and why."""
    bad = [row for row in rows if row.outcome.status in ("failed", "partly")]
    part = ReportSection("Not measured, or in part", [] if bad else ["None: every site of the list was measured."])
    part.tables = [plain_table(f"Sites: {len({row.outcome.url for row in bad})}", columns(
        "Site", words=("Settings", "Status", "Machine", "Reason")), [
            [_name(context, row.outcome), in_words(row.outcome.options) if row.outcome.key else NOT_KNOWN, row.status,
             row.outcome.machine.name or NOT_KNOWN, "; ".join(row.outcome.why) or NOT_KNOWN] for row in bad])]
    return part


def machine_part(rows: Sequence[SiteRow]) -> ReportSection:
    """Return the section of the machines that have measured."""
    counts = Counter({row.outcome.machine: 0 for row in rows if row.outcome.machine.name})
    counts.update(machine for machine, _ in {(row.outcome.machine, row.outcome.url) for row in rows if row.at})
    return ReportSection("Machines", tables=[plain_table("Who measured", columns(
        "Machine", "Sites measured", "CPUs", words=("Processor", "Kernel", "Browser")), [
            [machine.name, str(count), str(machine.cpus), machine.processor, machine.kernel, machine.browser]
            for machine, count in sorted(counts.items(), key=lambda pair: pair[0].name)])])
