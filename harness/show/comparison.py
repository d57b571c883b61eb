"""The comparison of two result folders as text: what differs in the set-ups, and in each row of the table."""

from collections.abc import Iterable, Iterator

from harness.analysis.compare import IMPROVEMENT, SURE, Difference, Row, Side, compare
from harness.analysis.selection import METRICS
from harness.analysis.setups import differing_settings
from harness.errors import printable
from harness.show.labels import NOT_KNOWN
from harness.show.notes import doubt_lines

COLUMNS = ("Page", "RTT(ms)", "what", "n A", "n B", "A", "B", "B - A", "+-", "p", "differs")


def format_comparison(side_a: Side, side_b: Side) -> str:
    """Return the text of the comparison: the two folders, their set-ups, the table, and what its columns mean."""
    return "".join(f"{line}\n" for line in _lines(side_a, side_b))


def is_whole(side_a: Side, side_b: Side) -> bool:
    """Whether every row that one of the folders has could be compared with the other's."""
    return not (missing_rows(side_a, side_b) or missing_rows(side_b, side_a) or half_measured(compare(side_a, side_b)))


def missing_rows(there: Side, not_there: Side) -> list[Row]:
    """Return the rows that only the first has."""
    return [row for row in there.rows if row not in not_there.rows]


def half_measured(differences: Iterable[Difference]) -> list[tuple[Row, str]]:
    """Return what only one of the folders measured, of the rows that both have."""
    return [(difference.row, difference.what) for difference in differences
            if (difference.a is None) != (difference.b is None)]


def _lines(side_a: Side, side_b: Side) -> Iterator[str]:
    """Give the lines of the comparison: the set-ups, the table, what its columns mean, what is on one side only."""
    yield printable(f"A: {side_a.results.clientdir}")
    yield printable(f"B: {side_b.results.clientdir}")
    yield from _listed("The set-ups differ in", differing_settings(side_a.results, side_b.results),
                       otherwise="The set-ups do not differ in anything that was recorded.")
    yield ""
    differences = [difference for difference in compare(side_a, side_b)
                   if difference.a is not None or difference.b is not None]
    yield from _table(differences, side_a, side_b)
    yield ""
    yield f"no TFO, TFO: median PLT in s, {METRICS[side_a.selection.metric]}. Improv.: in percent, B - A in points."
    yield from _legend(differences)
    for name, side in (("A", side_a), ("B", side_b)):
        yield from _listed(f"Rows of {name} to be careful with",
                           (line.strip() for line in doubt_lines(side.results, side.selection)))
    for name, rows in (("A", missing_rows(side_a, side_b)), ("B", missing_rows(side_b, side_a))):
        yield from _listed(f"Only in {name}", (f"{page} at {_rtt_name(rtt_ms, side_a, side_b)} ms"
                                               for page, rtt_ms in rows))
    yield from _listed("Measured in one only", (f"{page} at {_rtt_name(rtt_ms, side_a, side_b)} ms, {what}"
                                                for (page, rtt_ms), what in half_measured(differences)))


def _table(differences: list[Difference], side_a: Side, side_b: Side) -> Iterator[str]:
    yield "\t".join(COLUMNS)
    page = None
    for difference in differences:
        if difference.row[0] != page:
            page = difference.row[0]
            yield printable(page)
        yield "\t".join(("", _rtt_name(difference.row[1], side_a, side_b), difference.what, str(difference.n_a),
                         str(difference.n_b), *_values(difference), *_verdict(difference)))


def _rtt_name(rtt_ms: float, side_a: Side, side_b: Side) -> str:
    """Return what an RTT is called, in ms; both names if the folders have different ones."""
    sides = [side for side in (side_a, side_b) if rtt_ms in side.results.rtts_ms]
    return " | ".join(dict.fromkeys(side.selection.rtt_name(rtt_ms) for side in sides))


def _values(difference: Difference) -> Iterator[str]:
    scale, digits, unit = (1, 2, "%") if difference.what == IMPROVEMENT else (1000, 3, "")
    for value in (difference.a, difference.b):
        yield NOT_KNOWN if value is None else f"{value / scale:.{digits}f}{unit}"
    yield NOT_KNOWN if difference.b_minus_a is None else f"{difference.b_minus_a / scale:+.{digits}f}"
    yield NOT_KNOWN if difference.half_width is None else f"{difference.half_width / scale:.{digits}f}"


def _verdict(difference: Difference) -> tuple[str, str]:
    if difference.p is None:
        return NOT_KNOWN, NOT_KNOWN
    return "<0.001" if difference.p < 0.001 else f"{difference.p:.3f}", "yes" if difference.is_sure else "no"


def _legend(differences: list[Difference]) -> Iterator[str]:
    runs = [n for difference in differences if difference.p is not None for n in (difference.n_a, difference.n_b)]
    if not runs:
        yield "Nothing was tested: a test needs two runs or more on both sides. Measure more runs."
        return
    n = f"{min(runs)}" if min(runs) == max(runs) else f"{min(runs)} to {max(runs)}"
    tests = sum(difference.p is not None for difference in differences)
    yield "+-: half of the 95% interval of the difference of the means. p: Welch's t-test on the runs (Improv.: on " \
          f"pairs of runs), adjusted for {tests} tests (Benjamini-Hochberg)."
    yield f"differs: p < {SURE:g}. It assumes that the runs of a cell, n = {n}, vary as a normal distribution does. " \
          'And "no" is not "equal": n runs cannot show what is smaller than +-.'


def _listed(title: str, lines: Iterable[str], otherwise: str = "") -> Iterator[str]:
    found = list(lines)
    if found:
        yield f"{title}:"
        yield from (f"  {printable(line)}" for line in found)
    elif otherwise:
        yield otherwise
