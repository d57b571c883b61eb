"""Loads whose page had to wait for a processor, whoever had it: another program, or the experiment's own servers."""

from collections.abc import Iterator
from dataclasses import dataclass

from harness.analysis.selection import Cell, Selection
from harness.files.load_parts import Timekeeping
from harness.files.results import LoadResult

WAITED_RATIO = 0.05
"""Share of the page load time. A page of 642 modules whose servers run on the same two processors waited for 1.0 to
1.5 s of its 4.1 s, and took 5% longer with TFO, which should have saved as much."""


@dataclass(frozen=True)
class Waited:
    """A load that waited for a processor for `waited_ms` of its `plt_ms`."""

    load: LoadResult
    waited_ms: float
    plt_ms: float


def waited_ms(kept: Timekeeping) -> float | None:
    """Return how long a page waited for a processor, as far as that can have made its load longer; None: not known.

    Before the document's first byte a page has nothing to do but to wait for the network, while Chrome starts. Records
    of earlier versions do not tell that part from the rest.
    """
    return kept.page_waited_ms if kept.page_waited_since_head_ms is None else kept.page_waited_since_head_ms


def loads_that_waited(selection: Selection, page: str, rtt_ms: float) -> Iterator[Waited]:
    """Give the loads that count in a row whose page waited for more than WAITED_RATIO of its load time."""
    for tfo in (0, 1):
        for load in selection.cells.get(Cell(page, rtt_ms, tfo), ()):
            kept = load.record.timekeeping if load.record else None
            waited = waited_ms(kept) if kept else None
            if waited is not None and load.plt_ms and waited > WAITED_RATIO * load.plt_ms:
                yield Waited(load, waited, load.plt_ms)
