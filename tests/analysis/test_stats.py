"""Median, spread and improvement."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.stats import coefficient_of_variation, improvement_percent, median, median_confidence

times_ms = st.floats(1, 1e6)


@pytest.mark.parametrize(("found", "expected"), [
    (median([3, 1, 2]), 2), (median([4, 1, 2, 3]), 2.5),
    (coefficient_of_variation([100]), None), (coefficient_of_variation([0, 0]), None),
    (coefficient_of_variation([99, 100, 101]), 0.01), (coefficient_of_variation([5, 5, 5]), 0),
    (median_confidence(1), 0), (median_confidence(3), 0.75), (median_confidence(6), 0.96875),
    (improvement_percent(1.709, 1.670), 2.28204), (improvement_percent(1000, 1250), -25)])
def test_known_values(found: float | None, expected: float | None) -> None:
    assert found == (None if expected is None else pytest.approx(expected, rel=1e-5))


def test_no_page_loads_in_no_time() -> None:
    with pytest.raises(ValueError):
        improvement_percent(0, 5)


@given(off=times_ms, on=times_ms, unit=st.floats(0.001, 1000))
def test_improvement_does_not_depend_on_the_unit(off: float, on: float, unit: float) -> None:
    assert improvement_percent(off * unit, on * unit) == pytest.approx(improvement_percent(off, on), rel=1e-6, abs=1e-6)
