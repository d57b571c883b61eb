"""Medians, spreads, improvements and their intervals: what goes in, what comes out, how often they hold the truth."""

from pathlib import Path

import numpy as np
import pytest

from harness.analysis.stats import (
    ENOUGH_PAIRS,
    Interval,
    coefficient_of_variation,
    improvement_interval,
    improvement_percent,
    median,
    median_confidence,
)
from tests.support.client_folder import NEWS, add_load, make_client, selected


@pytest.mark.parametrize(("found", "expected"), [
    (median([3, 1, 2]), 2), (median([4, 1, 2, 3]), 2.5),
    (coefficient_of_variation([100]), None), (coefficient_of_variation([0, 0]), None),
    (coefficient_of_variation([99, 100, 101]), 0.01), (coefficient_of_variation([5, 5, 5]), 0),
    (median_confidence(1), 0), (median_confidence(3), 0.75), (median_confidence(6), 0.96875),
    (improvement_percent(1.709, 1.670), 2.28204), (improvement_percent(1000, 1250), -25)])
def test_known_values(found: float | None, expected: float | None) -> None:
    assert found == (None if expected is None else pytest.approx(expected, rel=1e-5))


PAGE = "httpwww.news.example"


def test_an_interval_says_what_it_is() -> None:
    assert Interval(2, 6, 3).half_width_points == 2
    limits = ((2, 6), (-6, -2), (-1, 3), (0, 3))
    assert [Interval(low, high, 3).excludes_zero for low, high in limits] == [True, True, False, False]
    assert [Interval(1, 2, ENOUGH_PAIRS - pairs).enough for pairs in (1, 0)] == [False, True]


@pytest.mark.parametrize(("off", "on"), [([1, 2], [1]), ([1, 0], [1, 1]), ([1, 2], [1, -2])])
def test_what_is_no_pair_of_times_is_refused(off: list[float], on: list[float]) -> None:
    with pytest.raises(ValueError, match="not pairs of page load times"):
        improvement_interval(off, on)
    with pytest.raises(ValueError, match="a page load takes time"):
        improvement_percent(0, 5)


def test_what_slows_both_loads_of_a_pair_does_not_widen_it() -> None:
    """The reason for pairing: the machine was 10% slower for half of the runs, TFO always saved 20%."""
    slow = [1.0, 1.1] * 5
    found = improvement_interval([1000 * share for share in slow], [800 * share for share in slow])
    assert found is not None
    assert (found.low_percent, found.high_percent) == pytest.approx((20, 20))


def coverage(n: int, experiments: int = 400) -> float:
    """Return how often the interval of `n` pairs with 2% of noise holds the true improvement, which is 20%."""
    rng = np.random.default_rng(n)
    held = 0
    for _ in range(experiments):
        noise = rng.normal(1, 0.02, (2, n))
        found = improvement_interval(list(1000 * noise[0]), list(800 * noise[1]), resamples=499)
        held += found is not None and found.low_percent <= 20 <= found.high_percent
    return held / experiments


@pytest.mark.parametrize("n", [3, 5, 10, 20])
def test_coverage_is_what_the_documentation_says(n: int) -> None:
    """400 experiments know a share of 0.95 to 0.033 (3 standard errors) and one of 0.75 to 0.065."""
    if n < ENOUGH_PAIRS:
        assert coverage(n) == pytest.approx(median_confidence(n), abs=0.065)
    else:
        assert 0.95 - 0.033 - 0.02 <= coverage(n) <= 0.95 + 0.033


def test_pairs_are_runs_that_count_in_both(tmp_path: Path) -> None:
    client = make_client(tmp_path, delays_ms=[10], urls=[NEWS], runs=6)
    add_load(client, NEWS, 10, 2, 1, 31000, valid=False, why_not=["SYN retransmitted: 2"])
    add_load(client, NEWS, 10, 4, 0, None)
    assert selected(client).by_place[PAGE, 20].pairs == ([1061, 1063, 1065], [1041, 1043, 1045])
    assert selected(client, "last").by_place[PAGE, 20].pairs == (
        [1161, 1163, 1000, 1165], [1141, 1143, 1144, 1145])
