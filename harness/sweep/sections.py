"""The sections of a sweep's report: figures and tables of all sites, in the order in which they are read.

The two figures show how the improvement is distributed over sites, and how it compares with theory.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.analysis.selection import select
from harness.analysis.stats import ENOUGH_PAIRS
from harness.files.pages import CLIENT
from harness.files.results import read_results
from harness.show.columns import as_text
from harness.show.figures import STYLES, Point, draw_intervals, framed, grid, save_figure
from harness.show.labels import NOT_KNOWN
from harness.show.report import write_report
from harness.show.section import Chart, Section, Table, chart_of, plain_table
from harness.sweep.folder import SweepFolder
from harness.sweep.over_sites import Estimate, distribution, is_faster, median_improvement, share_faster, theory_slope
from harness.sweep.plan import IS_KNOWN
from harness.sweep.site_rows import SiteRow

SIZE = (8.0, 5.2)
ByRtt = Mapping[float, Sequence[SiteRow]]
"""All sites that have an improvement at each RTT (ms)."""
COLUMNS = {"PLT, no TFO (s),": "median_off_ms", "Improvement": "improvement_percent", "95% low": "low_percent",
           "95% high": "high_percent", "Handshakes x RTT / PLT": "theory_percent", "Predicted": "predicted_percent"}
"""Columns of the table of all sites, for each RTT, and what of a site's row stands in them."""
SHOWN = 10
"""Best and worst sites, whose waterfalls are made."""


def draw_ecdf(by_rtt: ByRtt, title: str) -> Figure:
    """Draw the share of sites whose improvement is at most x, for each RTT, with its 95% band."""
    figure, axes = _axes(title, "Improvement of page load time with TFO (%)", "Share of sites with at most that")
    for place, (rtt_ms, rows) in enumerate(by_rtt.items()):
        colour, _, line = STYLES[place % len(STYLES)]
        x, shares = zip(*distribution(rows), strict=True)
        axes.step([x[0], *x], [0.0, *(share.value for share in shares)], where="post", color=colour, linestyle=line,
                  label=f"RTT {rtt_ms:g} ms, {len(x)} sites")
        if shares[0].low is not None:
            axes.fill_between(x, [share.low for share in shares], [share.high for share in shares],
                              step="post", color=colour, alpha=0.15, linewidth=0)
    axes.axvline(0, color="#666666", linewidth=0.8)
    axes.set_ylim(0, 1.02)
    axes.legend(loc="lower right", fontsize=9)
    return figure


def draw_theory(by_rtt: ByRtt, title: str) -> Figure:
    """Draw each site's improvement against handshakes x RTT / PLT, which is what theory says, with theory's line."""
    figure, axes = _axes(title, "Handshakes on the critical path that TFO can save x RTT / PLT (%)",
                         "Improvement of page load time with TFO (%)")
    most = 1.0
    for place, (rtt_ms, rows) in enumerate(by_rtt.items()):
        colour, marker, _ = STYLES[place % len(STYLES)]
        points = [Point(row["theory_percent"], row["improvement_percent"], row["low_percent"], row["high_percent"])
                  for row in rows if row["theory_percent"] is not None]
        axes.plot([point.x for point in points], [point.y for point in points], linestyle="none", marker=marker,
                  color=colour, markersize=4.5, alpha=0.8, label=f"RTT {rtt_ms:g} ms")
        draw_intervals(axes, points, ecolor=colour, capsize=0)
        most = max([most, *(max(point.x, point.y) for point in points)])
    axes.plot([0, most], [0, most], color="#000000", linewidth=1, label="theory: slope 1")
    axes.axhline(0, color="#666666", linewidth=0.8)
    axes.legend(loc="upper left", fontsize=9)
    return figure


def _axes(title: str, x: str, y: str) -> tuple[Figure, Axes]:
    figure, [axes] = framed(SIZE, title, "")
    axes.set(xlabel=x, ylabel=y)
    grid(axes, "both")
    return figure, axes


def combination_sections(folder: SweepFolder, ending: str, options: Sequence[str], rows: Sequence[SiteRow],
                         ) -> list[Section]:
    """Return the sections of one combination of `options`, and write its figures and waterfalls.

    `ending` is in the names of its files where there are several combinations.
    """
    # Its own RTTs: --delayhome and --paper in a grid make others of the same delays.
    sites: dict[float, dict[str, SiteRow]] = defaultdict(dict)
    for row in rows:
        if row["improvement_percent"] is not None and row["status"] in IS_KNOWN:
            sites[row["rtt_ms"]][row["key"]] = row
    by_rtt = {rtt_ms: [*sites[rtt_ms].values()] for rtt_ms in sorted(sites)}
    what = f": {' '.join(options)}" if ending else ""

    def drawn(name: str, figure: Figure, label: str, table: Table) -> Chart:
        save_figure(figure, folder.path / f"{name}{ending}.png")
        return chart_of(figure, f"{name}{ending}", label, table)

    over, theory = f"Improvement over sites{what}", f"Improvement and handshakes{what}"
    slopes = [(rtt_ms, slope) for rtt_ms, found in by_rtt.items() if (slope := theory_slope(found))]
    return [
        Section(over, [_how_sure(rows)], [drawn(
            "ecdf", draw_ecdf(by_rtt, over), "The share of sites whose improvement is at most x, at each RTT. Shaded: "
            "its 95% interval at each x.", _summary_table(by_rtt))] if by_rtt else []),
        Section(theory, [
            "Each TCP handshake on a page's critical path costs one RTT, and TFO saves it where the request fits into "
            "the SYN. So theory expects an improvement of handshakes x RTT / PLT. A site lies below the line where "
            "another chain of requests becomes the longest one, or where a link was full."], [drawn(
                "theory", draw_theory(by_rtt, theory), "Each site's improvement with its own 95% interval, against "
                "what its handshakes come to.", plain_table(
                    "The slope of a line through the origin, with its 95% interval", [
                        "RTT (ms)", "Sites", "Slope"],
                    [[f"{rtt_ms:g}", str(slope.sites), _words(slope, ".2f")] for rtt_ms, slope in slopes])),
            ] if slopes else []),
        _all_sites(folder, what, by_rtt)]


def _summary_table(by_rtt: ByRtt) -> Table:
    body = []
    for rtt_ms, rows in by_rtt.items():
        middle, faster = median_improvement(rows), share_faster(rows)
        slower = sum(bool(row["significant"]) and not is_faster(row) for row in rows)
        body.append([f"{rtt_ms:g}", str(middle.sites), _words(middle, ".1f", "%"), *(
            [f"{_words(faster, '.1%')} of {faster.sites}", str(slower)] if faster else [NOT_KNOWN] * 2)])
    return plain_table("Over sites; 95% intervals from a bootstrap of sites, of the share Clopper and Pearson's; "
                       "the share is that of the sites with an interval of their own", [
        "RTT (ms)", "Sites", "Median improvement", "Sites faster with TFO (own interval above 0)",
        "Sites slower (own interval below 0)"], body)


def _how_sure(rows: Sequence[SiteRow]) -> str:
    """Say how reliable a site's own interval is."""
    fewest = min((row["pairs"] if row["low_percent"] is not None else 1
                  for row in rows if row["improvement_percent"] is not None), default=0)
    if fewest >= ENOUGH_PAIRS:
        return f"Each site's own interval comes from {fewest} pairs of loads or more."
    return (f"Some sites' own intervals come from as few as {fewest} pairs of loads: under {ENOUGH_PAIRS} such an "
            "interval is too narrow, and a single pair gives none. Medians over sites do without them.")


def _words(estimate: Estimate, form: str, unit: str = "") -> str:
    low, high = estimate.low, estimate.high
    interval = "" if low is None or high is None else f" ({low:{form}}{unit} to {high:{form}}{unit})"
    return f"{estimate.value:{form}}{unit}{interval}"


def _all_sites(folder: SweepFolder, what: str, by_rtt: ByRtt) -> Section:
    """Return the table of all sites, the best first, and make the waterfalls that its first and last rows lead to."""
    sites: dict[str, dict[float, SiteRow]] = defaultdict(dict)
    for rtt_ms, rows in reversed([*by_rtt.items()]):
        for row in sorted(rows, key=lambda row: -row["improvement_percent"]):
            sites[row["key"]][rtt_ms] = row
    body: list[list[str]] = []
    for place, (key, at) in enumerate(sites.items()):
        name = next(iter(at.values()))["url"]
        if min(place, len(sites) - 1 - place) < SHOWN:
            results = read_results(folder.results(key) / CLIENT)
            write_report(select(results, "load"), folder.path / "waterfalls" / f"{key}.html")
            name = Markup('<a href="waterfalls/{}.html">{}</a>').format(key, name)
        body.append([name, *(as_text(at.get(rtt_ms, {}).get(what), what)
                             for rtt_ms in by_rtt for what in COLUMNS.values())])
    heads = ["Site", *(f"{title} at {rtt_ms:g} ms" for rtt_ms in by_rtt for title in COLUMNS)]
    return Section(f"All sites{what}", [
        f"The best first, by the improvement at the largest RTT. The names of the first and the last {SHOWN} lead to "
        "their requests, one by one, without and with TFO."] if sites else [], [
            plain_table("Every site measured", heads, body)])


def failure_section(rows: Sequence[SiteRow]) -> Section:
    """Return the section of the sites that were not measured, or only in part, and why."""
    bad = dict.fromkeys((row["url"], row["options"] or NOT_KNOWN, row["status"],
                         row["machine"] or NOT_KNOWN, row["why"] or NOT_KNOWN)
                        for row in rows if row["status"] != "measured")
    return Section(
        "Not measured, or in part", [] if bad else ["None: every site of the list was measured."],
        [plain_table(f"Sites: {len({url for url, *_ in bad})}", [
            "Site", "Settings", "Status", "Machine", "Reason"], [*bad], "words")])
