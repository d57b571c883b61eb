"""Statistics over sites: against values that can be worked out by hand, and against theory."""

import numpy as np
import pytest

from harness.sweep import over_sites
from harness.sweep.outcome import UnitOutcome
from harness.sweep.over_sites import (
    distribution,
    median_improvement,
    share_faster,
    theory_slope,
)
from harness.sweep.site_rows import AtRtt, SiteRow


def at(percent: float, half: float | None = 1.0, handshakes: float | None = None, off_ms: float = 1000.0) -> AtRtt:
    low, high = (None, None) if half is None else (percent - half, percent + half)
    return AtRtt(100.0, off_ms, off_ms * (1 - percent / 100), percent, low, high, 5, None, handshakes)


def row(url: str, *found: AtRtt) -> SiteRow:
    return SiteRow(UnitOutcome(url, url, "measured"), at=found)


def rows(*percents: float) -> list[SiteRow]:
    return [row(f"http://{number}.test/", at(percent)) for number, percent in enumerate(percents)]


def test_each_site_counts_once() -> None:
    found = median_improvement(rows(1, 2, 30), 100.0)
    assert found
    assert (found.value, found.sites, found.low) == (2.0, 3, None), "three sites give no interval"
    assert median_improvement(rows(1, 2), 20.0) is None
    share = share_faster([*rows(5, 5, 5), row("x", at(0.5)), row("y", at(9, None))], 100.0)
    assert share
    assert share.value == pytest.approx(3 / 4), "the last one has no interval"
    assert share_faster([row("y", at(9, None))], 100.0) is None


def test_that_all_sites_are_faster_says_little_of_others_when_they_are_few() -> None:
    """A bootstrap said 100.0 to 100.0%. All of five are faster by chance, one time in 40, of sites 48% of which are."""
    share = share_faster(rows(5, 5, 5, 5, 5), 100.0)
    assert share
    assert (share.value, share.high) == (1, 1)
    assert share.low == pytest.approx(0.025 ** (1 / 5))


def test_a_distribution_rises_from_the_first_site_to_all() -> None:
    found = distribution(rows(5, 1, 3, 2, 4, 4), 100.0)
    assert found
    assert list(found.x) == [1, 2, 3, 4, 4, 5]
    assert list(found.share) == pytest.approx([1 / 6, 2 / 6, 3 / 6, 5 / 6, 5 / 6, 1])
    assert np.all(found.low <= found.share)
    assert np.all(found.share <= found.high)
    assert found.low[-1] == found.high[-1] == 1.0, "no site lies above the largest of any draw"
    few = distribution(rows(1, 2), 100.0)
    assert few
    assert few.low.size == 0


def test_the_interval_of_the_median_over_sites_holds_the_truth_as_often_as_it_says(monkeypatch: pytest.MonkeyPatch,
                                                                                     ) -> None:
    """200 lists of 25 sites each, of a population whose median is known: 95% +- 4 points of them hold it."""
    monkeypatch.setattr(over_sites, "RESAMPLES", 400)
    rng = np.random.default_rng(7)
    held = 0
    for _ in range(200):
        found = median_improvement(rows(*rng.gamma(2.0, 5.0, 25)), 100.0)
        assert found
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 8.3917 <= found.high     # the median of that gamma distribution
    assert 0.91 <= held / 200 <= 0.99


def test_sites_that_gain_what_their_handshakes_cost_have_slope_one() -> None:
    """Five handshakes of 100 ms of 1000 ms are 50%: theory_percent; a site that gains 50% lies on the line."""
    exact = [at(10.0 * count, handshakes=count) for count in (1, 2, 3, 4, 5)]
    assert [point.theory_percent for point in exact] == [10, 20, 30, 40, 50]
    slope = theory_slope(exact)
    assert slope
    assert (slope.value, slope.low, slope.high) == pytest.approx((1, 1, 1))
    half = theory_slope([at(5.0 * count, handshakes=count) for count in (1, 2, 3)])
    assert half
    assert half.value == pytest.approx(0.5)
    assert theory_slope([at(3)]) is None
