"""The console table, in the columns students know, and the lines under it that say what its numbers are."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from harness.analysis.row import rows_of
from harness.analysis.selection import METRICS, Selection
from harness.analysis.shown import file_problems
from harness.analysis.stats import coefficient_of_variation, median_confidence
from harness.files.results import LoadResult, Results
from harness.show.answers import answer_lines
from harness.show.cells import tabbed
from harness.show.labels import share_of
from harness.show.notes import is_wide, note_lines

COLUMNS = {"RTT(ms)": "rtt", "PLT: no TFO (s)": "off", "PLT: TFO (s)": "on", "Improv.": "percent, marked"}
HEADER = "\t".join(["Page", *COLUMNS])


def table_lines(results: Results, selection: Selection) -> Iterator[str]:
    """Give the table, tab-separated: PLT in seconds, a slow-down with a minus sign."""
    return tabbed(rows_of(results, selection), COLUMNS)


def footer_lines(results: Results, selection: Selection) -> Iterator[str]:
    """Say what the numbers are, which need a note, what was left out, what is missing."""
    yield f"PLT: {METRICS[selection.metric]}."
    if selection.metric != selection.asked_metric:
        yield f'These are logs of the 2013 tool, which hold no load event: metric "{selection.metric}" instead of ' \
              f'"{selection.asked_metric}".'
    yield from _runs(selection)
    yield from _spread(selection)
    yield from _busy(results)
    yield from _cold(selection)
    yield from note_lines(results, selection)
    yield from answer_lines(results, selection)
    yield from _left_out(selection)
    if results.again:
        yield f"It took {len(results.loads) + len(results.again)} page loads: {len(results.loads)}, and " \
              f"{len(results.again)} before them that were made again:"
        yield from (f"  {load.log}: {'; '.join(load.why_not)}" for load in results.again)
    yield from _list(f"Loads of another experiment, left out ({len(results.others)})",
                     _counted(results.others))
    yield from _list("Not measured", map(selection.cell_name, selection.missing(results.tfos)))
    yield from _list("Problems in files", [*results.problems, *file_problems(selection)])


def _runs(selection: Selection) -> Iterator[str]:
    counts = [len(loads) for loads in selection.cells.values() if loads]
    if not counts:
        return
    fewest, most = min(counts), max(counts)
    if most == 1:
        yield "Each number is one load (n = 1): no median, no spread. A load that something disturbed, unnoticed, " \
              "would be the result. Measure more runs before you believe it."
        return
    n = f"{fewest}" if fewest == most else f"{fewest} to {most}"
    yield f"Each number is the median of n = {n} loads; the smallest and largest of n = {fewest} hold the true " \
          f"median with {share_of(median_confidence(fewest))} confidence."


def _spread(selection: Selection) -> Iterator[str]:
    spreads = [(spread, cell) for cell in selection.cells
               if (spread := coefficient_of_variation(selection.plts_ms(cell))) is not None]
    if spreads:
        spread, cell = max(spreads, key=lambda found: found[0])
        where = "those over 5% are named below" if is_wide(spread) else selection.cell_name(cell)
        yield f"Spread between the loads of a cell (standard deviation / mean): at most {spread:.2%} ({where})."


def _busy(results: Results) -> Iterator[str]:
    """Warn of what kept the machine busy before the measurement; once for all delays with the same cause."""
    causes: dict[str, list[str]] = defaultdict(list)
    for experiment in results.experiments:
        if experiment.busy:
            causes[experiment.busy].append(experiment.rtt_name)
    for cause, rtts in causes.items():
        yield f"Careful: the machine was busy before the loads at {', '.join(rtts)} ms were measured ({cause}). Loads" \
              " in which something was late are left out, but measure on an idle machine if you can."


def _cold(selection: Selection) -> Iterator[str]:
    measured = [cell for cell, loads in selection.cells.items() if loads]
    cold = [cell for cell in selection.cold if cell in measured]
    if cold:
        yield f"Cold run 0 is compared in {len(cold)} of {len(measured)} cells, which have no other run, as the 2013 " \
              "tool did: against a warm run that is no fair comparison."


def _left_out(selection: Selection) -> Iterator[str]:
    count = len(selection.left_out)
    yield f"Loads left out: {count}{':' if count else '.'}"
    for load, reason in selection.left_out:
        yield f"  {load.log}: {reason}"


def _counted(loads: Iterable[LoadResult]) -> Iterator[str]:
    """Say for each delay how many of `loads` there are, why they do not count, and where one of them is."""
    groups: dict[tuple[float, tuple[str, ...]], list[LoadResult]] = defaultdict(list)
    for load in loads:
        groups[load.rtt_ms, load.why_not].append(load)
    for (rtt_ms, why_not), group in sorted(groups.items()):
        yield f"{rtt_ms:g} ms: {len(group)} {'; '.join(why_not)} (such as {group[0].log})"


def _list(title: str, lines: Iterable[str]) -> Iterator[str]:
    found = list(lines)
    if found:
        yield f"{title}:"
        yield from (f"  {line}" for line in found)
