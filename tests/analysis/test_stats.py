"""Median, spread and improvement."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.stats import coefficient_of_variation, improvement_percent, median, median_confidence

times_ms = st.floats(1, 1e6)


def test_median() -> None:
    assert median([3, 1, 2]) == 2
    assert median([4, 1, 2, 3]) == 2.5


def test_spread_is_relative_and_needs_two_values() -> None:
    assert coefficient_of_variation([100]) is None
    assert coefficient_of_variation([0, 0]) is None
    assert coefficient_of_variation([99, 100, 101]) == pytest.approx(0.01)
    assert coefficient_of_variation([5, 5, 5]) == 0


def test_three_runs_hold_the_median_three_times_in_four() -> None:
    assert median_confidence(1) == 0
    assert median_confidence(3) == 0.75
    assert median_confidence(6) == pytest.approx(0.96875)


def test_improvement_has_a_sign() -> None:
    assert improvement_percent(1.709, 1.670) == pytest.approx(2.282, abs=0.001)
    assert improvement_percent(1000, 1250) == -25
    with pytest.raises(ValueError, match="takes time"):
        improvement_percent(0, 5)


@given(off=times_ms, on=times_ms, unit=st.floats(0.001, 1000))
def test_improvement_does_not_depend_on_the_unit(off: float, on: float, unit: float) -> None:
    assert improvement_percent(off * unit, on * unit) == pytest.approx(improvement_percent(off, on), rel=1e-6, abs=1e-6)
