"""Medians, spreads, improvements and their intervals: what goes in, what comes out, how often they hold the truth."""

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


@pytest.mark.parametrize(("found", "expected"), [
    (median([3, 1, 2]), 2), (median([4, 1, 2, 3]), 2.5),
    (coefficient_of_variation([100]), None), (coefficient_of_variation([0, 0]), None),
    (coefficient_of_variation([99, 100, 101]), 0.01), (coefficient_of_variation([5, 5, 5]), 0),
    (median_confidence(1), 0), (median_confidence(3), 0.75), (median_confidence(6), 0.96875),
    (improvement_percent(1.709, 1.670), 2.28204), (improvement_percent(1000, 1250), -25)])
def test_known_values(found: float | None, expected: float | None) -> None:
    assert found == (None if expected is None else pytest.approx(expected, rel=1e-5))


def test_an_interval_says_what_it_is() -> None:
    assert Interval(2, 6, 3).half_width_points == 2
    limits = ((2, 6), (-6, -2), (-1, 3), (0, 3))
    assert [Interval(low, high, 3).excludes_zero for low, high in limits] == [True, True, False, False]
    assert [Interval(1, 2, ENOUGH_PAIRS - pairs).enough for pairs in (1, 0)] == [False, True]


def test_what_is_no_pair_of_times_is_refused() -> None:
    for off, on in (([1, 2], [1]), ([1, 0], [1, 1]), ([1, 2], [1, -2])):
        with pytest.raises(ValueError, match="not pairs"):
            improvement_interval(off, on)
    with pytest.raises(ValueError, match="takes time"):
        improvement_percent(0, 5)


def test_what_slows_both_loads_of_a_pair_does_not_widen_it() -> None:
    """The reason for pairing: the machine was 10% slower for half of the runs, TFO always saved 20%."""
    slow = [1.0, 1.1] * 5
    found = improvement_interval([1000 * share for share in slow], [800 * share for share in slow])
    assert found is not None
    assert (found.low_percent, found.high_percent) == pytest.approx((20, 20))


@pytest.mark.parametrize("n", [3, 5, 10, 20])
def test_coverage_is_what_the_documentation_says(n: int) -> None:
    """Of pairs with 2% of noise, where TFO improves 20%: how often the interval of `n` of them holds that.

    400 experiments know a share of 0.95 to 0.033 (3 standard errors) and one of 0.75 to 0.065.
    """
    noise = np.random.default_rng(n).normal(1, 0.02, (400, 2, n))
    found = [improvement_interval(list(1000 * off), list(800 * on), resamples=499) for off, on in noise]
    share = sum(each is not None and each.low_percent <= 20 <= each.high_percent for each in found) / len(found)
    if n < ENOUGH_PAIRS:
        assert share == pytest.approx(median_confidence(n), abs=0.065)
    else:
        assert 0.95 - 0.033 - 0.02 <= share <= 0.95 + 0.033
