"""What plot.py prints: the table, and at most ten lines: what was measured, what is not sure, where the rest is.

Where the network was the paper's (tfo.py --paper), its Table 1 stands beside ours. Source: S. Radhakrishnan, Y. Cheng,
J. Chu, A. Jain, B. Raghavan: TCP Fast Open, CoNEXT 2011, Table 1.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from urllib.parse import urlsplit

from harness.analysis.row import METRICS
from harness.analysis.selection import Selection
from harness.analysis.shown import file_problems
from harness.analysis.stats import improvement_percent
from harness.errors import printable
from harness.files.experiment import ExperimentRecord
from harness.files.hosts import site_of
from harness.files.pages import CLIENT
from harness.files.results import Results
from harness.show.columns import MARK, texts
from harness.show.improvement import improvement_section, prediction_section
from harness.show.labels import NOT_KNOWN, is_of_loopback, is_simulated, span
from harness.show.row_notes import NoteKind, notes_on, too_few_runs
from harness.show.section import section_lines
from harness.show.transports import transports_section

COLUMNS = {"RTT(ms)": "rtt", "PLT: no TFO (s)": "median_off_ms", "PLT: TFO (s)": "median_on_ms",
           "Improv.": "improvement, marked"}
HEADER = "\t".join(["Page", *COLUMNS])
MOST_LINES = 10
NAMED = 3
"""So many rows or cells are named in a line; the report names all."""
REPORT = "report.html"
RUN_LOG = f"{CLIENT}/run.log"
PATHS = {"wikipedia.org": "/wiki/Transmission_Control_Protocol"}
"""Which page of a site the paper measured; of the others the front page."""
TABLE_1: dict[str, dict[float, tuple[float, float]]] = {
    "amazon.com": {20: (1.54, 1.48), 100: (2.60, 2.34), 200: (4.10, 3.66)},
    "nytimes.com": {20: (3.70, 3.56), 100: (4.59, 4.30), 200: (6.73, 5.55)},
    "wsj.com": {20: (5.74, 5.48), 100: (7.08, 6.64), 200: (9.46, 8.47)},
    "wikipedia.org": {20: (2.10, 1.95), 100: (3.49, 2.92), 200: (5.15, 3.03)},
}
"""PLT in s without and with TFO, by the page's site and the RTT in ms."""
PAPER_LOADS = 10
"""Loads of each page in the paper."""
BESIDE_PAPER = {"Ours: no TFO (s)": "median_off_ms", "TFO (s)": "median_on_ms", "Improv.": "improvement_percent"}
PAPER_HEADER = "\t".join(["Page", "RTT(ms)", "Paper: no TFO (s)", "TFO (s)", "Improv.", *BESIDE_PAPER, "points more"])
"""The paper's Table 1 beside ours, where the network was the paper's (tfo.py --paper)."""


def format_console(selection: Selection, *, detail: bool = False) -> str:
    """Return what is printed, ending in a line break: table and answer, parted by empty lines.

    With `detail` the sections of the report that explain them come after these. Where TFO could only be simulated, its
    prediction does in any case.
    """
    parts = [[*main_table(selection)], [*paper_lines(selection)], [*map(printable, summary_lines(selection))]]
    prediction = prediction_section(selection)
    if detail:
        parts.append([*section_lines(improvement_section(selection))])
    if is_simulated(selection.results):
        parts.append([prediction.title, *section_lines(prediction)])
    elif detail:
        parts.append([*section_lines(prediction)])
    return "\n\n".join("\n".join(lines) for lines in parts if lines) + "\n"


def main_table(selection: Selection) -> Iterator[str]:
    """Give the table as students know it, tab-separated: PLT in seconds, a slow-down with a minus sign.

    Of transports side by side it has a row for each, and what its columns mean under it.
    """
    if selection.compares_transports:
        yield from section_lines(transports_section(selection))
        return
    yield HEADER
    for page in selection.results.urls:
        yield printable(page)
        yield from ("\t" + "\t".join(texts(row, COLUMNS)) for row in selection.of_page(page))


def summary_lines(selection: Selection) -> Iterator[str]:
    """Give at most MOST_LINES lines: what the numbers are, what is not sure, what failed, where the rest is."""
    results = selection.results
    yield f"PLT: {METRICS[selection.metric]}.{_number_of_loads(selection)}"
    if words := _conditions(results):
        yield f"Measured: {words}."
    if results.old:
        yield f'These are logs of the 2013 tool, which know no load event: metric "{selection.metric}".'
    yield from _doubts(selection)
    yield from too_few_runs(selection.rows)
    if causes := {cause for experiment in results.experiments for cause in experiment.busy}:
        yield f"Careful: the machine was busy before the loads ({_first(sorted(causes))})."
    yield from _made_again(results)
    if missing := selection.missing:
        yield f"Not measured: {_first([cell.name for cell in missing])}."
    if left_out := [*_left_out(selection)]:
        yield f"Left out: {', '.join(left_out)}."
    yield f"The rest: {REPORT} beside the figures (all notes and reasons), {RUN_LOG} (each try), {CLIENT}/loads.csv."


def _number_of_loads(selection: Selection) -> str:
    counts = [len(cell.loads) for cell in selection.cells if cell.loads]
    if not counts:
        return ""
    if max(counts) == 1:
        return " Each number is one load (n = 1)."
    return f" Each number is the median of n = {span(min(counts), max(counts))} loads."


def _conditions(results: Results) -> str:
    """Say what the pages were loaded over, once for all RTTs at which it is the same."""
    rtts: dict[str, list[str]] = defaultdict(list)
    for experiment in results.experiments:
        rtts["; ".join(_conditions_of(experiment))].append(experiment.rtt_name)
    if len(rtts) == 1:
        return next(iter(rtts))
    return ". ".join(f"at {', '.join(names)} ms {words}" for words, names in rtts.items())


def _conditions_of(experiment: ExperimentRecord) -> Iterator[str]:
    """Give the circumstances that change what the numbers mean, by the options that choose them."""
    yield f"{'synthetic' if experiment.synthetic else 'recorded'} pages"
    if experiment.http:
        yield f"--http {experiment.http}"
    if is_of_loopback(experiment):
        yield "no network, servers on loopback"
    yield from experiment.unusual


def _doubts(selection: Selection) -> Iterator[str]:
    """Name the rows of which a kind of note says that they are not what they look like."""
    rows: dict[NoteKind, list[str]] = defaultdict(list)
    for row in selection.rows:
        for note in notes_on(row):
            if note.kind.on_console:
                rows[note.kind].append(row.title)
    words = [f"{_first(list(dict.fromkeys(names)))} ({kind.value})" for kind, names in rows.items()]
    if any(urls for row in selection.rows for urls in row.doubtful.values()):
        words.append(f"{MARK} an answer on the critical path is not the recorded one")
    if words:
        yield f"Not sure: {'; '.join(words)}."


def _made_again(results: Results) -> Iterator[str]:
    again = {(load.page, load.delaynet_ms, load.run, load.transport) for load in results.again}
    if again:
        late = any(load.record and load.record.timekeeping and load.record.timekeeping.late for load in results.again)
        busy = late or any(experiment.busy for experiment in results.experiments)
        yield f"{len(again)} of {len(results.loads)} loads {'was' if len(again) == 1 else 'were'} made again" \
              f"{' (the machine was busy)' if busy else ''}: {RUN_LOG}"


def _left_out(selection: Selection) -> Iterator[str]:
    results = selection.results
    problems = len([*results.problems, *file_problems(selection.cells)])
    for count, one, many in ((len(selection.left_out), "load that does not count", "loads that do not count"),
                             (len(results.others), "load of another experiment", "loads of another experiment"),
                             (problems, "problem in files", "problems in files")):
        if count:
            yield f"{count} {one if count == 1 else many}"


def _first(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"


def paper_lines(selection: Selection) -> Iterator[str]:
    """Give the comparison, row by row, if all experiments were made in the paper's network; else nothing."""
    results = selection.results
    rows = [(row, *found) for row in selection.rows if row.rtt_ms not in results.rtt_names
            and (found := TABLE_1.get(_site_in_paper(row.url), {}).get(row.rtt_ms))]
    if not rows or not results.experiments or not all(experiment.paper for experiment in results.experiments):
        return
    yield "Table 1 of the paper beside ours:"
    yield PAPER_HEADER
    for page, of_page in groupby(rows, key=lambda found: found[0].page):
        yield printable(page)
        for row, off_s, on_s in of_page:
            theirs = improvement_percent(off_s, on_s)
            points = NOT_KNOWN if row.percent is None else f"{row.percent - theirs:+.1f}"
            yield "\t".join(["", row.rtt_name, f"{off_s:.2f}", f"{on_s:.2f}", f"{theirs:.0f}%",
                             *texts(row, BESIDE_PAPER), points])
    pages = "synthetic pages" if results.synthetic else "pages of another year"
    yield f"What differs still: {pages}, another Chrome, and where n is not {PAPER_LOADS}, the number of loads."


def _site_in_paper(url: str) -> str:
    """Return the site of a page that the paper measured, "" for any other page, of these sites, too."""
    parts = urlsplit(url)
    site = site_of(parts.hostname or "")
    return site if (parts.path or "/") == PATHS.get(site, "/") and not parts.query else ""
