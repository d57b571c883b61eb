"""Notes on single rows of the table: loads that do not count, a wide spread, more saved than handshakes took."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from harness.analysis.improvement import Improvement, improvements
from harness.analysis.intervals import ENOUGH_PAIRS
from harness.analysis.plausible import awaited_answers, unexplained_saving
from harness.analysis.selection import Cell, Selection
from harness.analysis.stats import coefficient_of_variation, median_confidence
from harness.files.results import Results
from harness.show.labels import NOT_KNOWN, seconds, share_of

WIDE_SPREAD = 0.05
"""Coefficient of variation from which a cell is named: faithful runs stay under 0.03 (the design's prototype)."""
WORDS = {0: "without TFO", 1: "with TFO"}


class NoteKind(Enum):
    """What a note on a row says."""

    LEFT_OUT = "some of its loads do not count"
    SINGLE_LOAD = "one side has a single load, where others have more"
    WIDE_SPREAD = "its loads differ by much"
    TWO_KINDS = "its loads are of two kinds, so that no improvement is given"
    WAITED = "a load's page waited for a processor"
    ONLY_WAITED = "pages waited for a processor, which may be all of the improvement: it is not significant"
    NOT_SIGNIFICANT = "the improvement's interval contains 0"
    RACE = "the load event waited for more answers without TFO than with it, or for fewer"
    UNEXPLAINED = "more was saved than handshakes explain"
    LIVE_LEFT_OUT = "what live connections said after the load event is left out"

    @property
    def on_console(self) -> bool:
        """Whether the console names the row: it need not be what it looks like. The report has all notes."""
        return self not in (NoteKind.LEFT_OUT, NoteKind.SINGLE_LOAD, NoteKind.WIDE_SPREAD, NoteKind.WAITED)


DOUBTS = (NoteKind.LIVE_LEFT_OUT, NoteKind.TWO_KINDS, NoteKind.ONLY_WAITED)
"""Rows with these are not what they look like."""


@dataclass(frozen=True)
class Note:
    """A note on one row, in words that go on after its page and RTT."""

    kind: NoteKind
    words: str


def note_lines(results: Results, selection: Selection) -> Iterator[str]:
    """Give a line for each row of the table that needs a note, and a line on how reliable the intervals are."""
    rows = improvements(results, selection)
    notes = [(row, notes_on(results, selection, row)) for row in rows]
    if any(of_row for _, of_row in notes):
        yield "Rows to be careful with:"
        yield from (_line(row, of_row) for row, of_row in notes if of_row)
    yield from too_few_runs(rows)


def doubt_lines(results: Results, selection: Selection, kinds: Collection[NoteKind] = DOUBTS) -> Iterator[str]:
    """Give a line for each row with a note of these kinds, for the foot of tables that have no other notes."""
    for row in improvements(results, selection):
        if found := [note for note in notes_on(results, selection, row) if note.kind in kinds]:
            yield _line(row, found)


def _line(row: Improvement, notes: Iterable[Note]) -> str:
    return f"  {row.page} at {row.rtt_name} ms: {'; '.join(note.words for note in notes)}"


def is_wide(spread: float | None) -> bool:
    """Whether a coefficient of variation is so large that the cell gets a note."""
    return spread is not None and spread > WIDE_SPREAD


def notes_on(results: Results, selection: Selection, row: Improvement) -> list[Note]:
    """Return what to know before one believes a row."""
    return [Note(kind, words) for kind, words in (
        *_of_loads(selection, row), *_of_the_improvement(selection, row), *_of_the_recording(results, row))]


def _of_loads(selection: Selection, row: Improvement) -> Iterator[tuple[NoteKind, str]]:
    left_out = Counter(Cell(load.page, load.rtt_ms, load.transport) for load, _ in selection.left_out)
    for tfo, words in WORDS.items():
        cell = Cell(row.page, row.rtt_ms, tfo)
        counted = len(selection.cells[cell])
        if counted and left_out[cell]:
            yield NoteKind.LEFT_OUT, f"{counted} of {counted + left_out[cell]} loads {words} valid"
    counts = [len(loads) for loads in selection.cells.values()]
    for tfo, words in WORDS.items():
        if len(selection.cells[Cell(row.page, row.rtt_ms, tfo)]) == 1 < max(counts):
            yield (NoteKind.SINGLE_LOAD,
                   f"a single load {words} (n = 1): nothing tells whether something disturbed it")
    for tfo, words in WORDS.items():
        spread = coefficient_of_variation(selection.plts_ms(Cell(row.page, row.rtt_ms, tfo)))
        if is_wide(spread):
            yield NoteKind.WIDE_SPREAD, f"spread {spread:.2%} {words}"


def _of_the_improvement(selection: Selection, row: Improvement) -> Iterator[tuple[NoteKind, str]]:
    if row.waited:
        worst = max(row.waited, key=lambda waited: waited.waited_ms / waited.plt_ms)
        which = f"{len(row.waited)} of its loads" if len(row.waited) > 1 else "one of its loads"
        kind, words = (NoteKind.ONLY_WAITED, "not significant: ") if row.explained_by_waits else (NoteKind.WAITED, "")
        yield (kind, f"{words}the page waited for a processor in {which} (run {worst.load.run} "
               f"{WORDS[worst.load.tfo]}: {seconds(worst.waited_ms)} of {seconds(worst.plt_ms)} s), which other "
               "programs or the experiment's own servers had")
    if kinds := row.two_kinds:
        yield (NoteKind.TWO_KINDS, f"no improvement is given ('{NOT_KNOWN}'): its loads are of two kinds, "
               f"{kinds.few_tries} of which waited with their load event for {kinds.few:g} answers and "
               f"{kinds.many_tries} for {kinds.many:g}; a race in the page decides")
        return
    if row.interval and not row.interval.excludes_zero:
        yield (NoteKind.NOT_SIGNIFICANT, "not significant: the improvement's 95% interval, "
               f"{row.interval.low_percent:.2f}% to {row.interval.high_percent:.2f}%, contains 0")
    awaited = awaited_answers(selection, row)
    if awaited:
        yield (NoteKind.RACE, f"its load event waited for {awaited[0]:g} answers without TFO and for {awaited[1]:g} "
               "with it, a race in the page: the improvement need not be TFO's")
    saving = unexplained_saving(selection, row)
    if saving:
        yield (NoteKind.UNEXPLAINED, f"{seconds(saving[0])} s saved, of which handshakes explain "
               f"{seconds(saving[1])} s: the rest need not be TFO's; load the page more often (--until-ci 3)")


def _of_the_recording(results: Results, row: Improvement) -> Iterator[tuple[NoteKind, str]]:
    url = results.urls[row.page]
    for experiment in results.experiments:
        left_out = experiment.live_left_out.get(url)
        if left_out and experiment.rtt_ms == row.rtt_ms:
            yield (NoteKind.LIVE_LEFT_OUT, f"{share_of(left_out.late_bytes / left_out.bytes)} of what its live "
                   f"connections said when it was recorded came after the load event, as did {left_out.late_requests} "
                   f"of its {left_out.requests} requests: that is left out, so PLT is shorter than the page's, and "
                   "TFO's share of it larger")


def too_few_runs(rows: Iterable[Improvement]) -> Iterator[str]:
    """Say how reliable the intervals are, if that is less than 95%; nothing otherwise."""
    few = sorted({row.interval.pairs for row in rows if row.interval and not row.interval.enough})
    if few:
        numbers, sure = " and ".join(map(str, few)), " and ".join(f"{median_confidence(n):.0%}" for n in few)
        yield f"Too few runs to be 95% sure of an improvement: its interval (--detail) from {numbers} pairs of loads " \
              f"holds the true one in {sure} of experiments. From {ENOUGH_PAIRS} pairs on it does in 93% and more: " \
              f"--testruns {ENOUGH_PAIRS + 1}."
