"""How many loads are enough: pairs of TFO off and on are added until a page's improvement is known well enough.

Looking at the interval after every run, and stopping as soon as it is narrow, makes it a little too narrow: runs that
happen to agree end a cell early. harness.measure.goal.MINIMUM_PAIRS bounds that.
"""

from collections.abc import Iterator, Sequence

from harness.analysis.intervals import improvement_interval
from harness.files.pages import Page
from harness.measure.goal import Goal
from harness.measure.plan import Load, draw_flips, pages_of, plan_run
from harness.measure.series import Measured, valid_pairs_ms


def more_loads(judged: Sequence[Measured], goal: Goal, seed: int, pages: Sequence[Page]) -> list[Load]:
    """Return the next run of every page that needs one; [] when no page does. TFO off and on alternate as in the plan.

    `judged` are all loads so far, which began with `plan_loads` of the same seed and `pages`: in a run that was resumed
    the first load of each page that counts may be in another order than these. A failed load makes no pair, but its
    run counts towards `goal.max_runs`: so the loads of a page that always fails come to an end.
    """
    done = {measured.load.page for measured in judged}
    unfinished = [page for page in pages if page in done and _runs(judged, page) < goal.max_runs
                  and not is_precise(judged, page, goal)]
    if not unfinished:
        return []
    run = max(measured.load.run for measured in judged) + 1
    return plan_run(run, unfinished, (0, 1), draw_flips(pages, seed))


def is_precise(judged: Sequence[Measured], page: Page, goal: Goal) -> bool:
    """Tell whether the improvement of `page` is known well enough."""
    pairs, half_width = _precision(judged, page)
    return pairs >= goal.min_pairs and half_width is not None and half_width < goal.points


def most_left(judged: Sequence[Measured], goal: Goal, pages: Sequence[Page]) -> int:
    """Return how many more loads there may be at most of those `pages` whose improvement is not known well enough."""
    done = {measured.load for measured in judged}
    return sum(2 * (1 + goal.max_runs) - sum(load.page == page for load in done)
               for page in pages if not is_precise(judged, page, goal))


def outcome_lines(judged: Sequence[Measured], goal: Goal) -> Iterator[str]:
    """Say for each page how well its improvement is known now, in one line."""
    for page in pages_of([measured.load for measured in judged]):
        runs, (pairs, half_width) = _runs(judged, page), _precision(judged, page)
        known = "no interval of the improvement" if half_width is None else \
            f"improvement known to +-{half_width:.1f} points (95% interval of {pairs} pairs)"
        short = "" if is_precise(judged, page, goal) else \
            f": --max-runs reached before --until-ci {goal.points:g}"
        yield f"{page.url}: {known} after {runs} measured runs{short}"


def _runs(judged: Sequence[Measured], page: Page) -> int:
    return max(measured.load.run for measured in judged if measured.load.page == page)


def _precision(judged: Sequence[Measured], page: Page) -> tuple[int, float | None]:
    """Return the number of pairs and the half-width of the interval in percentage points, None when there is none."""
    off_ms, on_ms = valid_pairs_ms(judged, page)
    interval = improvement_interval(off_ms, on_ms)
    return len(off_ms), interval.half_width_points if interval else None
