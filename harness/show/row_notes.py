"""Notes on single rows of the table: loads that do not count, a wide spread, more saved than handshakes took."""

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import NamedTuple

from harness.analysis.doubts import waited_ms
from harness.analysis.row import IN_SENTENCES, Row
from harness.analysis.stats import ENOUGH_PAIRS, coefficient_of_variation, median_confidence
from harness.show.labels import NOT_KNOWN, seconds

WIDE_SPREAD = 0.05
"""Coefficient of variation from which a cell is named: faithful runs stay under 0.03 (the design's prototype)."""


class NoteKind(Enum):
    """What a note on a row says."""

    LEFT_OUT = "some of its loads do not count"
    COLD = "only the first load of 2013's tool, against a warm one that is no fair comparison"
    WIDE_SPREAD = "its loads differ by much"
    WAITED = "a load's page waited for a processor"
    ONLY_WAITED = "pages waited for a processor, which may be all of the improvement: it is not significant"
    NOT_SIGNIFICANT = "the improvement's interval contains 0"
    RACE = "the load event waited for more answers without TFO than with it, or for fewer: no improvement is given"
    UNEXPLAINED = "more was saved than handshakes explain"

    @property
    def on_console(self) -> bool:
        """Whether the console names the row: it need not be what it looks like. The report has all notes."""
        return self not in (NoteKind.LEFT_OUT, NoteKind.WIDE_SPREAD, NoteKind.WAITED)


DOUBTS = (NoteKind.RACE, NoteKind.ONLY_WAITED)
"""Rows with these are not what they look like."""


class Note(NamedTuple):
    """A note on one row, in words that go on after its page and RTT."""

    kind: NoteKind
    words: str


def doubt_lines(rows: Iterable[Row]) -> Iterator[str]:
    """Give a line for each row with a note of DOUBTS, for the foot of tables that have no other notes."""
    for row in rows:
        if found := [note.words for note in notes_on(row) if note.kind in DOUBTS]:
            yield f"{row.title}: {'; '.join(found)}"


def notes_on(row: Row) -> list[Note]:
    """Return what to know before one believes a row."""
    return [*map(Note._make, (*_of_loads(row), *_of_the_improvement(row)))]


def _of_loads(row: Row) -> Iterator[tuple[NoteKind, str]]:
    for cell in row.cells:
        words, counted = IN_SENTENCES[cell.transport], len(cell.loads)
        if counted and cell.left_out:
            yield NoteKind.LEFT_OUT, f"{counted} of {counted + len(cell.left_out)} loads {words} valid"
        if counted and cell.cold:
            yield NoteKind.COLD, f"cold: run 0 is all there is {words}"
        spread = coefficient_of_variation(cell.plts_ms)
        if spread is not None and spread > WIDE_SPREAD:
            yield NoteKind.WIDE_SPREAD, f"spread {spread:.2%} {words}"


def _of_the_improvement(row: Row) -> Iterator[tuple[NoteKind, str]]:
    if row.waited:
        worst = max(row.waited, key=lambda load: waited_ms(load) / (load.plt_ms or 1.0))
        which = f"{len(row.waited)} of its loads" if len(row.waited) > 1 else "one of its loads"
        kind, words = (NoteKind.ONLY_WAITED, "not significant: ") if row.explained_by_waits else (NoteKind.WAITED, "")
        yield (kind, f"{words}the page waited for a processor in {which} (run {worst.run} "
               f"{IN_SENTENCES[worst.tfo]}: {seconds(waited_ms(worst))} of {seconds(worst.plt_ms)} s), which other "
               "programs or the experiment's own servers had")
    if race := row.race:
        yield (NoteKind.RACE, f"no improvement is given ('{NOT_KNOWN}'): its load event waited for {race[0]:g} answers "
               f"without TFO and for {race[1]:g} with it, as a race in the page decides")
    if row.interval and not row.interval.excludes_zero:
        yield (NoteKind.NOT_SIGNIFICANT, "not significant: the improvement's 95% interval, "
               f"{row.interval.low_percent:.2f}% to {row.interval.high_percent:.2f}%, contains 0")
    if saving := row.unexplained_saving:
        yield (NoteKind.UNEXPLAINED, f"{seconds(saving[0])} s saved, of which handshakes explain "
               f"{seconds(saving[1])} s: the rest need not be TFO's; load the page more often (--until-ci 3)")


def too_few_runs(rows: Iterable[Row]) -> Iterator[str]:
    """Say how reliable the intervals are, if that is less than 95%; nothing otherwise."""
    few = sorted({row.interval.pairs for row in rows if row.interval and not row.interval.enough})
    if few:
        numbers, sure = " and ".join(map(str, few)), " and ".join(f"{median_confidence(n):.0%}" for n in few)
        yield f"Too few runs to be 95% sure of an improvement: its interval (--detail) from {numbers} pairs of loads " \
              f"holds the true one in {sure} of experiments. From {ENOUGH_PAIRS} pairs on it does in 93% and more: " \
              f"--testruns {ENOUGH_PAIRS + 1}."
