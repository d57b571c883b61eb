"""What plot.py prints: the table, and at most ten lines: what was measured, what is not sure, where the rest is."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from harness.analysis.row import METRICS
from harness.analysis.selection import Selection
from harness.analysis.shown import file_problems
from harness.errors import printable
from harness.files.experiment import ExperimentRecord
from harness.files.pages import CLIENT
from harness.files.results import Results
from harness.show.columns import MARK, texts
from harness.show.labels import is_of_loopback, span
from harness.show.paper import paper_lines
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


def format_console(selection: Selection) -> str:
    """Return table and answer as they are printed, ending in a line break."""
    beside = [*paper_lines(selection)]
    return "\n".join([*main_table(selection), "", *beside, *([""] if beside else []),
                      *map(printable, summary_lines(selection)), ""])


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
    yield f"PLT: {METRICS[selection.metric]}.{_number_of_loads(selection.counts)}"
    if words := _conditions(results):
        yield f"Measured: {words}."
    if selection.metric != selection.asked_metric:
        yield f'These are logs of the 2013 tool: metric "{selection.metric}", not "{selection.asked_metric}".'
    yield from _doubts(selection)
    yield from too_few_runs(selection.rows)
    if causes := {experiment.busy for experiment in results.experiments if experiment.busy}:
        yield f"Careful: the machine was busy before the loads ({_first(sorted(causes))})."
    yield from _made_again(results)
    if missing := selection.missing:
        yield f"Not measured: {_first([cell.name for cell in missing])}."
    if left_out := [*_left_out(selection)]:
        yield f"Left out: {', '.join(left_out)}."
    yield f"The rest: {REPORT} beside the figures (all notes and reasons), {RUN_LOG} (each try), {CLIENT}/loads.csv."


def _number_of_loads(counts: Sequence[int]) -> str:
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
