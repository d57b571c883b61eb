"""The order of an experiment's page loads: TFO off and on interleaved, so that both meet the same conditions."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from harness.pages import Page


@dataclass(frozen=True)
class Load:
    """One page load: `run` 0 is the warm-up, `tfo` 0 or 1."""

    page: Page
    run: int
    tfo: int


def plan_loads(pages: Sequence[Page], testruns: int, tfos: Sequence[int], seed: int) -> list[Load]:
    """Return all loads in order: run by run, page by page, off and on side by side.

    Which of the two goes first alternates from run to run (off on, on off, ...), so that a machine that slowly warms up
    or tires favours neither; the seed decides each page's first.
    """
    coin = random.Random(seed)
    first = {page: coin.choice([0, 1]) for page in pages}
    loads = []
    for run in range(testruns):
        for page in pages:
            flipped = (first[page] + run) % 2
            pair = list(reversed(tfos)) if flipped else list(tfos)
            loads += [Load(page, run, tfo) for tfo in pair]
    return loads
