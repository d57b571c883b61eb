"""Statistics over sites: against values that can be worked out by hand, and against theory."""

import pytest

from harness.sweep.over_sites import Estimate, distribution, median_improvement, share_faster, theory_slope
from harness.sweep.site_rows import SiteRow


def at(percent: float, half: float | None = 1.0, theory: float | None = None) -> SiteRow:
    return {"improvement_percent": percent, "low_percent": half and percent - half,
            "significant": half and abs(percent) > half, "theory_percent": theory}


def sites(*percents: float) -> list[SiteRow]:
    return [*map(at, percents)]


def test_each_site_counts_once() -> None:
    assert median_improvement(sites(1, 2, 30)) == Estimate(2, sites=3), "three sites give no interval"
    assert share_faster([*sites(5, 5, 5, 0.5), at(9, None)]) == Estimate(3 / 4, sites=4), "the last one has none"
    assert share_faster([at(9, None)]) is None


def test_a_distribution_rises_from_the_first_site_to_all() -> None:
    found = distribution(sites(5, 1, 3, 2, 4, 4))
    assert [(percent, share.value) for percent, share in found] == [
        (1, 1 / 6), (2, 2 / 6), (3, 3 / 6), (4, 5 / 6), (4, 5 / 6), (5, 1)]
    assert all(share.low is not None and share.high and share.low < share.value <= share.high for _, share in found)
    assert [share.low for _, share in distribution(sites(1, 2))] == [None, None]


def test_sites_that_gain_half_of_what_their_handshakes_cost_have_that_slope() -> None:
    found = theory_slope([at(theory / 2, theory=theory) for theory in (10.0, 20.0, 30.0, 40.0, 50.0)])
    assert found
    assert (found.value, found.low, found.high) == pytest.approx((0.5,) * 3)
    assert theory_slope([at(3)]) is None
