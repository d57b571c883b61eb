"""The console table, in the columns students know, and the lines under it that say what its numbers are."""

from collections.abc import Iterable, Iterator

from harness.notes import is_wide, note_lines
from harness.results import Results
from harness.selection import METRICS, Cell, Selection
from harness.stats import coefficient_of_variation, improvement_percent, median_confidence

HEADER = "Page\tRTT(ms)\tPLT: no TFO (s)\tPLT: TFO (s)\tImprov."
NOT_MEASURED = "-"
HTTP = {"1.0": "HTTP/1.0: every request opens a connection of its own.",
        "1.1": "HTTP/1.1: connections are kept alive and reused."}


def format_report(results: Results, selection: Selection) -> str:
    """Return table and footer as they are printed, ending in a line break."""
    return "\n".join([*table_lines(results, selection), "", *footer_lines(results, selection), ""])


def table_lines(results: Results, selection: Selection) -> Iterator[str]:
    """The table of design section 2: tab-separated, PLT in seconds, a slow-down with its minus sign."""
    yield HEADER
    for page in results.urls:
        yield page
        for rtt_ms in results.rtts_ms:
            off, on = (selection.median_ms(Cell(page, rtt_ms, tfo)) for tfo in (0, 1))
            yield f"\t{rtt_ms:g}\t{_seconds(off)}\t{_seconds(on)}\t{_improvement(off, on)}"


def footer_lines(results: Results, selection: Selection) -> Iterator[str]:
    """What the numbers are, what they were measured on, which need a word, what was left out, and what is missing."""
    yield f"PLT: {METRICS[selection.metric]}."
    if selection.metric != selection.asked_metric:
        yield f'These are logs of the 2013 tool, which hold no load event: metric "{selection.metric}" instead of ' \
              f'"{selection.asked_metric}".'
    yield from _runs(selection)
    yield from _spread(selection)
    if results.synthetic:
        yield "Pages: synthetic, made from figures of the 2013 pages."
    yield from sorted({HTTP.get(one.http, f"HTTP: {one.http}") for one in results.experiments if one.http})
    if any(url.startswith("https:") for url in results.urls.values()):
        yield "https pages: TLS 1.3, HTTP/1.1 or HTTP/2 as recorded (unless --http says otherwise)."
    if any(one.server == "2013" for one in results.experiments):
        yield "Server: the single-threaded one of 2013, whose outliers flatter TFO. For teaching, not for results."
    yield from _cold(selection)
    yield from note_lines(results, selection)
    yield from _left_out(selection)
    yield from _list("Not measured", (str(cell) for cell in selection.missing(results.tfos)))
    yield from _list("Problems in files", results.problems)


def _seconds(ms: float | None) -> str:
    return NOT_MEASURED if ms is None else f"{ms / 1000:.3f}"


def _improvement(off_ms: float | None, on_ms: float | None) -> str:
    if off_ms is None or on_ms is None:
        return NOT_MEASURED
    return f"{round(improvement_percent(off_ms, on_ms), 2) + 0.0:.2f}%"     # + 0.0: no "-0.00%"


def _runs(selection: Selection) -> Iterator[str]:
    counts = [len(loads) for loads in selection.cells.values() if loads]
    if not counts:
        return
    fewest, most = min(counts), max(counts)
    if most == 1:
        yield "Each number is one load (n = 1): no median, no spread. Measure more runs before you believe it."
        return
    n = f"{fewest}" if fewest == most else f"{fewest} to {most}"
    yield f"Each number is the median of n = {n} loads; the smallest and largest of n = {fewest} hold the true " \
          f"median with {median_confidence(fewest):.0%} confidence."


def _spread(selection: Selection) -> Iterator[str]:
    spreads = [(spread, cell) for cell in selection.cells
               if (spread := coefficient_of_variation(selection.plts_ms(cell))) is not None]
    if spreads:
        spread, cell = max(spreads, key=lambda one: one[0])
        where = "those over 5% are named below" if is_wide(spread) else cell
        yield f"Spread between the loads of a cell (standard deviation / mean): at most {spread:.2%} ({where})."


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


def _list(title: str, lines: Iterable[str]) -> Iterator[str]:
    found = list(lines)
    if found:
        yield f"{title}:"
        yield from (f"  {line}" for line in found)
