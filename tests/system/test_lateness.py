"""What a delay queue counts of its own lateness, as the process that counts and the one that reads see it."""


import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.system.lateness import (
    BUCKETS,
    FIRST_S,
    STEP,
    LatenessCounts,
    bucket_of,
    end_ms,
    latest_ms,
)
from harness.system.shared_counts import counting


@given(st.floats(FIRST_S, 60))
def test_a_bucket_ends_at_most_2_percent_above_what_it_holds(late_s: float) -> None:
    end_s = end_ms(bucket_of(late_s)) / 1000
    assert late_s * (1 - 1e-9) <= end_s <= late_s * STEP * (1 + 1e-9)


@pytest.mark.parametrize(("late_s", "bucket"), [(-1, 0), (0, 0), (9e-6, 0), (1.01e-5, 1), (1e6, BUCKETS - 1)])
def test_ends_of_the_scale(late_s: float, bucket: int) -> None:
    assert bucket_of(late_s) == bucket


@given(st.lists(st.floats(0, 30), max_size=30), st.lists(st.floats(0, 30), min_size=1, max_size=300))
def test_only_the_interval_counts(earlier: list[float], during: list[float]) -> None:
    with counting(LatenessCounts) as (_, counts):
        for late_s in earlier:
            counts.count(late_s)
        before = counts.read()
        for late_s in during:
            counts.count(late_s)
        late_ms = latest_ms(before, counts.read())
    assert late_ms == pytest.approx(max(*during, FIRST_S) * 1000, rel=STEP - 1)
