"""Statistics over sites: against values that can be worked out by hand, and against theory."""

import numpy as np
import pytest

from harness.analysis.stats import Interval
from harness.sweep import over_sites
from harness.sweep.over_sites import distribution, median_improvement, share_faster, theory_slope
from harness.sweep.site_rows import AtRtt


def at(percent: float, half: float | None = 1.0, theory: float | None = None) -> AtRtt:
    interval = None if half is None else Interval(percent - half, percent + half, 5)
    return AtRtt(1000.0, percent, interval, interval is not None and interval.excludes_zero, 5, None, theory)


def sites(*percents: float) -> list[AtRtt]:
    return [*map(at, percents)]


def test_each_site_counts_once() -> None:
    found = median_improvement(sites(1, 2, 30))
    assert (found.value, found.sites, found.low) == (2.0, 3, None), "three sites give no interval"
    share = share_faster([*sites(5, 5, 5, 0.5), at(9, None)])
    assert share
    assert share.value == pytest.approx(3 / 4), "the last one has no interval"
    assert share_faster([at(9, None)]) is None


def test_that_all_sites_are_faster_says_little_of_others_when_they_are_few() -> None:
    """A bootstrap said 100.0 to 100.0%. All of five are faster by chance, one time in 40, of sites 48% of which are."""
    share = share_faster(sites(5, 5, 5, 5, 5))
    assert share
    assert (share.value, share.high) == (1, 1)
    assert share.low == pytest.approx(0.025 ** (1 / 5))


def test_a_distribution_rises_from_the_first_site_to_all() -> None:
    found = distribution(sites(5, 1, 3, 2, 4, 4))
    assert list(found.x) == [1, 2, 3, 4, 4, 5]
    assert list(found.share) == pytest.approx([1 / 6, 2 / 6, 3 / 6, 5 / 6, 5 / 6, 1])
    assert np.all(found.low <= found.share)
    assert np.all(found.share <= found.high)
    assert found.low[-1] == found.high[-1] == 1.0, "no site lies above the largest of any draw"
    assert distribution(sites(1, 2)).low.size == 0


def test_the_interval_of_the_median_over_sites_holds_the_truth_as_often_as_it_says(monkeypatch: pytest.MonkeyPatch,
                                                                                     ) -> None:
    """200 lists of 25 sites each, of a population whose median is known: 95% +- 4 points of them hold it."""
    monkeypatch.setattr(over_sites, "RESAMPLES", 400)
    rng = np.random.default_rng(7)
    held = 0
    for _ in range(200):
        found = median_improvement(sites(*rng.gamma(2.0, 5.0, 25)))
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 8.3917 <= found.high     # the median of that gamma distribution
    assert 0.91 <= held / 200 <= 0.99


def test_sites_that_gain_what_their_handshakes_cost_have_slope_one() -> None:
    slope = theory_slope([at(10.0 * count, theory=10.0 * count) for count in (1, 2, 3, 4, 5)])
    assert slope
    assert (slope.value, slope.low, slope.high) == pytest.approx((1, 1, 1))
    half = theory_slope([at(5.0 * count, theory=10.0 * count) for count in (1, 2, 3)])
    assert half
    assert half.value == pytest.approx(0.5)
    assert theory_slope([at(3)]) is None
