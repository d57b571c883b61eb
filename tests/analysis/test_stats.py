"""How often intervals hold the truth. What medians, spreads and intervals are: tests/corpus/made_rows.jsonl."""

import numpy as np
import pytest

from harness.analysis.stats import ENOUGH_PAIRS, improvement_interval, improvement_percent, median_confidence


def test_what_is_no_pair_of_times_is_refused() -> None:
    for off, on in (([1, 2], [1]), ([1, 0], [1, 1]), ([1, 2], [1, -2])):
        with pytest.raises(ValueError, match="not pairs"):
            improvement_interval(off, on)
    with pytest.raises(ValueError, match="takes time"):
        improvement_percent(0, 5)


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
