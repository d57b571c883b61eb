"""What else than TFO may make a row's loads with it shorter: answers that were not recorded, waits for a processor, and
races in the page.

Some pages hold a race: a script comes before or after the load event, which then waits for all that the script asks for
or for none of it. Loads that waited for different answers measure different pages.
"""

from collections.abc import Sequence

from harness.analysis.asked_for import DATA
from harness.analysis.stats import Interval, median
from harness.files.load_parts import ReceivedAnswer
from harness.files.results import LoadResult

NOT_AS_RECORDED = ("stand-in", "missing")
"""Kinds of answers that take another time than the page's own would."""
WAITED_RATIO = 0.05
"""Share of the page load time. A page of 642 modules whose servers run on the same two processors waited for 1.0 to
1.5 s of its 4.1 s, and took 5% longer with TFO, which should have saved as much."""
READ_BY_SCRIPTS = (DATA, "websocket")
"""What scripts fetch (harness.analysis.asked_for): no load event waits for it. Records of earlier versions have the
latter."""
AWAITED_RATIO = 0.1
"""The share by which the answers that the load event waits for may differ without TFO and with it. Two of 139 rows that
were looked at differ by 15% and 21%, both of a student's recording of chipublib.org: there a script comes before or
after the load event, which then waits for 41, 48, 50 or 63 answers. The others differ by 7% at most. (They are the
paper's pages, real and synthetic, also in its own network; recordings of students; pages from HARs.)"""


def received(load: LoadResult) -> Sequence[ReceivedAnswer]:
    """Return what each request of `load` got, nothing where that is not known."""
    return load.record.answers.each if load.record and load.record.answers else ()


def doubtful_urls(load: LoadResult) -> list[str]:
    """Return the URLs on the critical path of `load` whose answers were not recorded for them, each once.

    These are stand-ins, and answers that the recording does not have: 404, or 504 where nobody answered then either.
    """
    return list(dict.fromkeys(answer.url for answer in received(load) if answer.critical and not answer.late and (
        answer.kind in NOT_AS_RECORDED or (answer.expected and answer.status))))


def waited_ms(load: LoadResult) -> float:
    """Return how long a page waited for a processor that others than Chrome had; 0 where that is not known."""
    kept = load.record.timekeeping if load.record else None
    return (kept.page_waited_for_others_ms if kept else None) or 0.0


def waits_may_explain(off: Sequence[LoadResult], on: Sequence[LoadResult], interval: Interval | None,
                      off_ms: float) -> bool:
    """Say whether a row's improvement, or slow-down, may come of waits for a processor alone.

    A wait makes a load longer by as much as the page waited, at most; waits of processes that ran at once are added up,
    so no more than half of a load is one. So the side that was slower, by `interval`, gets its median wait taken off:
    an improvement that is still left is not one of waits. `off_ms`: the median without TFO that it is a share of.
    """
    if interval is None or not interval.excludes_zero:
        return False                    # which side is slower is not known, and the row says so
    slower = [load for load in (off if interval.low_percent > 0 else on) if load.plt_ms]
    wait_ms = median([min(waited_ms(load), (load.plt_ms or 0.0) / 2) for load in slower])
    least_percent = min(abs(interval.low_percent), abs(interval.high_percent))
    return wait_ms >= least_percent / 100 * off_ms


def awaited_answers(*sides: Sequence[LoadResult]) -> tuple[float, float] | None:
    """Return for how many answers the load event waited, without and with TFO, where that differs by AWAITED_RATIO.

    Both are medians over the loads that count. Then loads without and with TFO measured different parts of the page.
    """
    counts = [[_awaited(load) for load in loads if load.record and load.record.answers] for loads in sides]
    if not all(counts):
        return None
    off, on = map(median, counts)
    return (off, on) if abs(off - on) > max(1.0, AWAITED_RATIO * max(off, on)) else None


def _awaited(load: LoadResult) -> int:
    """Return for how many answers the load event waited, those of Chrome's cache among them."""
    each = received(load)
    of_scripts = {answer.identity for answer in each if answer.purpose in READ_BY_SCRIPTS}
    from_cache = load.record.answers.from_cache if load.record and load.record.answers else ()
    return sum(not answer.late and answer.purpose not in READ_BY_SCRIPTS for answer in each) \
        + sum(identity not in of_scripts for identity in from_cache)
