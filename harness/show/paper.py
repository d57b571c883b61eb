"""The paper's Table 1 beside ours, where the network was the paper's (tfo.py --paper).

Source: S. Radhakrishnan, Y. Cheng, J. Chu, A. Jain, B. Raghavan: TCP Fast Open, CoNEXT 2011, Table 1.
"""

from collections.abc import Iterator
from itertools import groupby
from urllib.parse import urlsplit

from harness.analysis.selection import Selection
from harness.analysis.stats import improvement_percent
from harness.errors import printable
from harness.files.hosts import site_of
from harness.show.columns import texts
from harness.show.labels import NOT_KNOWN, span

PATHS = {"wikipedia.org": "/wiki/Transmission_Control_Protocol"}
"""Which page of a site the paper measured; of the others the front page."""
TABLE_1: dict[str, dict[float, tuple[float, float]]] = {
    "amazon.com": {20: (1.54, 1.48), 100: (2.60, 2.34), 200: (4.10, 3.66)},
    "nytimes.com": {20: (3.70, 3.56), 100: (4.59, 4.30), 200: (6.73, 5.55)},
    "wsj.com": {20: (5.74, 5.48), 100: (7.08, 6.64), 200: (9.46, 8.47)},
    "wikipedia.org": {20: (2.10, 1.95), 100: (3.49, 2.92), 200: (5.15, 3.03)},
}
"""PLT in s without and with TFO, by the page's site and the RTT in ms."""
LOADS = 10
"""Loads of each page in the paper."""
COLUMNS = {"Ours: no TFO (s)": "median_off_ms", "TFO (s)": "median_on_ms", "Improv.": "improvement_percent"}
HEADER = "\t".join(["Page", "RTT(ms)", "Paper: no TFO (s)", "TFO (s)", "Improv.", *COLUMNS, "points more"])


def paper_lines(selection: Selection) -> Iterator[str]:
    """Give the comparison, row by row, if all experiments were made in the paper's network; else nothing."""
    results = selection.results
    rows = [(row, *found) for row in selection.rows if row.rtt_ms not in results.rtt_names
            and (found := TABLE_1.get(_site_in_paper(row.url), {}).get(row.rtt_ms))]
    if not rows or not results.experiments or not all(experiment.paper for experiment in results.experiments):
        return
    yield "Table 1 of the paper beside ours:"
    yield HEADER
    for page, of_page in groupby(rows, key=lambda found: found[0].page):
        yield printable(page)
        for row, off_s, on_s in of_page:
            theirs = improvement_percent(off_s, on_s)
            points = NOT_KNOWN if row.percent is None else f"{row.percent - theirs:+.1f}"
            yield "\t".join(["", row.rtt_name, f"{off_s:.2f}", f"{on_s:.2f}", f"{theirs:.0f}%", *texts(row, COLUMNS),
                             points])
    n = span(min(selection.counts, default=0), max(selection.counts, default=0))
    pages = "synthetic pages" if results.synthetic else "pages of another year"
    options = {option for experiment in results.experiments for option in experiment.unusual} - {"--paper"}
    differs = [pages, "another Chrome", *sorted(options)]
    if n != f"{LOADS}":
        differs.append(f"n = {n} loads, where the paper has {LOADS}")
    yield f"What differs still: {', '.join(differs[:-1])}, and {differs[-1]}."


def _site_in_paper(url: str) -> str:
    """Return the site of a page that the paper measured, "" for any other page, of these sites, too."""
    parts = urlsplit(url)
    site = site_of(parts.hostname or "")
    return site if (parts.path or "/") == PATHS.get(site, "/") and not parts.query else ""
