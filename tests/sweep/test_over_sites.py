"""Statistics over sites: against values that can be worked out by hand, and against theory."""

import pytest

from harness.sweep.over_sites import distribution, median_improvement, share_faster, theory_slope
from harness.sweep.site_rows import SiteRow


def at(percent: float, half: float | None = 1.0, theory: float | None = None) -> SiteRow:
    return {"improvement_percent": percent, "low_percent": half and percent - half,
            "significant": half and abs(percent) > half, "theory_percent": theory}


def sites(*percents: float) -> list[SiteRow]:
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
    assert [(percent, share.value) for percent, share in found] == [
        (1, 1 / 6), (2, 2 / 6), (3, 3 / 6), (4, 5 / 6), (4, 5 / 6), (5, 1)]
    assert all(share.low is not None and share.high and share.low < share.value <= share.high for _, share in found)
    assert [share.low for _, share in distribution(sites(1, 2))] == [None, None]


def test_sites_that_gain_what_their_handshakes_cost_have_slope_one() -> None:
    slope = theory_slope([at(10.0 * count, theory=10.0 * count) for count in (1, 2, 3, 4, 5)])
    assert slope
    assert (slope.value, slope.low, slope.high) == pytest.approx((1, 1, 1))
    half = theory_slope([at(5.0 * count, theory=10.0 * count) for count in (1, 2, 3)])
    assert half
    assert half.value == pytest.approx(0.5)
    assert theory_slope([at(3)]) is None
