"""Can it be TFO that makes a page's loads with it shorter? Two ways in which it cannot be all of it."""

from statistics import median

from harness.analysis.kinds_of_loads import awaited_answers_of
from harness.analysis.row import Row

AWAITED_RATIO = 0.1
"""The share by which the answers that the load event waits for may differ without TFO and with it. Two of 139 rows that
were looked at differ by 15% and 21%, both of a student's recording of chipublib.org: there a script comes before or
after the load event, which then waits for 41, 48, 50 or 63 answers. The others differ by 7% at most. (They are the
paper's pages, real and synthetic, also in its own network; recordings of students; pages from HARs.)"""
BEYOND_RATIO = 0.05
"""The share of the PLT that TFO may save beyond what explains it. In seven of the same rows it saved more. Four are of
the paper's network, where three loads are too few (1.8 s of 5.1 s saved, 0.4 s explained); one has the race above; in
one Chrome had a connection ready only with TFO; and one is a page of 0.7 s. In 131 of the others it was 2.9% at
most."""
BEYOND_LEAST_MS = 25.0
"""Pages of a third of a second vary by so much, whatever the reason."""


def awaited_answers(row: Row) -> tuple[float, float] | None:
    """Return for how many answers the load event waited, without and with TFO, where that differs by AWAITED_RATIO.

    Both are medians over the loads that count. Then loads without and with TFO measured different parts of the page.
    """
    off, on = ([count for load in cell.loads if (count := awaited_answers_of(load)) is not None] for cell in row.cells)
    if not off or not on:
        return None
    few, many = sorted((median(off), median(on)))
    return (median(off), median(on)) if many - few > max(1.0, AWAITED_RATIO * many) else None


def unexplained_saving(row: Row) -> tuple[float, float] | None:
    """Return what TFO saved and how much of it can be explained, in ms, where the rest is more than chance makes it.

    What a load without TFO explains is the longer of two: the handshakes on its critical path, and what is saved when
    its requests are played again without their handshakes. Of several loads the one counts that explains most.
    """
    if row.off.metric != "load" or row.saved_ms is None or row.off.median_ms is None:
        return None
    explained_ms = [max(found.breakdown_ms["connect"], load.plt_ms - found.predicted_plt_ms)
                    for load, found in row.explanations if load.plt_ms]
    if not explained_ms or row.saved_ms - max(explained_ms) <= max(BEYOND_LEAST_MS, BEYOND_RATIO * row.off.median_ms):
        return None
    return row.saved_ms, max(explained_ms)
