"""How long transfers take that share a link."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.what_if import ends_ms

TIMES = st.floats(0, 1000)


@pytest.mark.parametrize(("transfers", "ends"), [
    ([], []),
    ([(5, 10)], [15]),
    ([(0, 10), (0, 10)], [20, 20]),
    ([(0, 10), (5, 10)], [15, 20]),         # 5 alone, 10 shared; then 5 alone
    ([(0, 10), (20, 10)], [10, 30]),
    ([(3, 10), (0, 2), (3, 0)], [13, 2, 3])])
def test_known_ones(transfers: list[tuple[float, float]], ends: list[float]) -> None:
    assert ends_ms(transfers) == pytest.approx(ends)


@given(st.lists(st.tuples(TIMES, TIMES), max_size=20))
def test_the_link_rests_only_when_there_is_nothing_to_send(transfers: list[tuple[float, float]]) -> None:
    ends = ends_ms(transfers)
    free = 0.0
    for begin, length in sorted(transfers):
        free = max(free, begin) + length
    assert max(ends, default=0.0) == pytest.approx(free, abs=1e-6)
    assert all(end >= begin + length - 1e-6 for (begin, length), end in zip(transfers, ends, strict=True))
