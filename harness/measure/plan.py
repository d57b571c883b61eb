"""What is measured, and in which order: TFO off and on interleaved, so that both meet the same conditions."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.files.pages import Page
from harness.files.transport import Transport

MINIMUM_PAIRS = 6
"""No interval of fewer pairs ends a cell, unless --min-pairs says so. How often the "95%" interval that did so held
the true improvement, in 600 simulated experiments each (normal, long-tailed and outlier-ridden noise of 1 to 4.5% a
load, --until-ci 3, at most 20 runs; pytest tests/measure/test_adaptive.py -k coverage repeats it in small):

    minimum     3       5       6       8      10
    held     70-80%  91-95%  91-95%  92-96%  94-96%

Six is also the least of which the smallest and the largest hold the true median with 95% confidence
(harness.analysis.stats.median_confidence: 1 - 2 * (1/2)^6 = 97%)."""
MOST_RUNS = 20
"""Measured runs of a page at which --until-ci gives up by default: about 20 times 2 loads of 6 s for each page."""


@dataclass(frozen=True)
class Goal:
    """When to stop: the half-width of the 95% interval is under `points` percentage points, or `max_runs` are done.

    No page is done with fewer than `min_pairs` pairs, however narrow its interval is.
    """

    points: float
    max_runs: int = MOST_RUNS
    min_pairs: int = MINIMUM_PAIRS


@dataclass(frozen=True)
class Load:
    """One page load: `run` 0 is the warm-up, `transport` a harness.files.transport.Transport: 0, 1 for TFO off, on."""

    page: Page
    run: int
    transport: int

    @property
    def over(self) -> Transport:
        """How its connections begin."""
        return Transport(self.transport)

    @property
    def tfo(self) -> int:
        """Whether TFO is on (1) or off (0)."""
        return self.over.tfo


def plan_loads(pages: Sequence[Page], testruns: int, transports: Sequence[int], seed: int,
               warm_ups: Sequence[int] | None = None) -> list[Load]:
    """Return all loads in order: run by run, page by page, off and on side by side (see `plan_run`).

    Run 0 is over the transports `warm_ups`; None: over all.
    """
    flips, first = draw_flips(pages, seed), transports if warm_ups is None else warm_ups
    return [load for run in range(testruns) for load in plan_run(run, pages, transports if run else first, flips)]


def pages_of(plan: Sequence[Load]) -> list[Page]:
    """Return the pages of a plan in their order."""
    return list(dict.fromkeys(load.page for load in plan))


def draw_flips(pages: Sequence[Page], seed: int) -> dict[Page, int]:
    """Return for each page whether its run 0 begins with TFO on (1) or off (0), as the seed decides."""
    coin = random.Random(seed)
    return {page: coin.choice([0, 1]) for page in pages}


def plan_run(run: int, pages: Sequence[Page], transports: Sequence[int], flips: Mapping[Page, int]) -> list[Load]:
    """Return the loads of one run of `pages`.

    Which goes first alternates from run to run (off on, on off, ...): so a machine that slowly becomes
    faster or slower favours neither.
    """
    loads = []
    for page in pages:
        flipped = (flips[page] + run) % 2
        loads += [Load(page, run, each) for each in (reversed(transports) if flipped else transports)]
    return loads
